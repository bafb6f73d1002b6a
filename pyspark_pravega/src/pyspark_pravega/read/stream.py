"""`spark.readStream.format("pravega")`: the reader of micro-batches as Spark calls it.

Spark keeps one in a process of its own for as long as the query runs, and asks it again and again how far the next
batch goes, and for its partitions; tasks get copies. What follows from Spark's order of calls is said where it is used.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import UNBOUNDED, StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, InvalidRangeError, PravegaError, StreamTruncatedError
from aiopravega.names import StreamName
from aiopravega.positions import NamedCut, Position
from aiopravega.read.positions import find_cut
from pyspark_pravega.connections import cluster
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.read.idle_pace import IdlePace
from pyspark_pravega.read.offsets import Cuts, Offset
from pyspark_pravega.read.packing import PiecesPartition, pack
from pyspark_pravega.read.plan import SplitPolicy, plan
from pyspark_pravega.read.read_options import ReadOptions
from pyspark_pravega.read.sources import Source
from pyspark_pravega.read.subscription import subscription
from pyspark_pravega.read.time_columns import with_times

_GO_ON: Final = (
    "A streaming query continues where its checkpoint says, so it has missed these events. To continue without them, "
    "start it with a new checkpointLocation and start_stream_cut=earliest. So that retention waits, name a subscriber"
)
_NEITHER: Final = (
    "The streaming query continues from its checkpoint. If the stream was deleted and made again since, give the "
    "query a new checkpointLocation; if end_stream_cut lies before that position, there is nothing more to read"
)
R = TypeVar("R")
P = ParamSpec("P")


def _told(
    method: "Callable[Concatenate[PravegaStreamReader, P], R]",
) -> "Callable[Concatenate[PravegaStreamReader, P], R]":
    """Errors with what matters for a query that runs on, and without the traceback that Spark shows before them."""

    @wraps(method)
    def reporting(self: "PravegaStreamReader", /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except StreamTruncatedError as error:
            raise StreamTruncatedError(f"{error} {_GO_ON}.") from None
        except InvalidRangeError as error:
            raise InvalidRangeError(f"{error}. {_NEITHER}.") from None
        except PravegaError as error:
            raise error.with_traceback(None) from None

    return reporting


class PravegaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads some streams in micro-batches, each from one cut per stream to the next.

    By default a query reads from the latest event on, without an end.

    Raises:
        ConfigurationError: the options ask for an interval of event times.
    """

    def __init__(self, options: ReadOptions, columns: Columns) -> None:
        if options.interval is not None:
            raise ConfigurationError(
                "an interval of event times is for spark.read: a streaming query has no end to wait for"
            )
        self._options = options
        self._streams = tuple(source.stream for source in self._options.sources)
        self._columns = columns
        # Spark asks for the beginning more than once, and an AvailableNow query that begins at the tail must not end
        # before that: so every name is looked up once.
        self._named: dict[tuple[StreamName, Position], StreamCut] = {}
        self._targets: Cuts | None = None
        self._began_at: Offset | None = None
        self._latest: Offset | None = None
        self._pace = IdlePace()
        self._subscription = subscription(self._options.streaming, self._streams[0].scope)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """How much a batch reads, by option `max_bytes_per_trigger`."""
        most = self._options.streaming.max_bytes
        return ReadAllAvailable() if most is None else ReadMaxBytes(most)

    @_told
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a query without a checkpoint begins.

        Raises:
            PravegaError: a stream does not exist, or the cluster cannot be asked.
        """
        if self._began_at is None:
            starts = {source.stream: source.start or NamedCut.TAIL for source in self._options.sources}
            self._began_at = Offset(
                {
                    stream: self._look_up(stream, NamedCut.HEAD if start == UNBOUNDED else start)
                    for stream, start in starts.items()
                }
            )
        return self._began_at.to_json()

    @_told
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Take the end of a query that is to read what there is now.

        Raises:
            PravegaError: a stream does not exist, or the cluster cannot be asked.
        """
        self._targets = {
            source.stream: self._look_up(source.stream, _end(source) or NamedCut.TAIL)
            for source in self._options.sources
        }

    @_told
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """How far the batch that begins at `start` goes; `start` itself if there is nothing more.

        Raises:
            StreamNotFoundError: a stream was deleted.
            StreamTruncatedError: retention or a truncation removed what follows `start`.
            ConfigurationError: the checkpoint is of other streams.
            PravegaError: what else stops the query.
        """
        offset = Offset.from_json(start, self._streams)
        if self._targets is None:  # else it is asked a few times only
            self._pace.wait()
        client = self._client
        if self._subscription is not None:
            # Spark asks what follows a batch only when it has written that batch into its log of commits: in the
            # course of a query, after its restart (a batch that is not in the log is repeated first, without asking),
            # and under AvailableNow after the last batch too, to learn that it was the last. So what lies before
            # `start` will never be read again. `commit` would come only with a further batch.
            self._subscription.move(client, offset.cuts)
        targets = {source.stream: self._target(client, source) for source in self._options.sources}
        self._latest = Offset(targets)
        cuts = self._step(client, offset.cuts, targets, limit)
        began_at = self._began_at
        is_first = began_at is not None and offset == began_at
        anything = cuts != offset.cuts or is_first
        self._pace.answered(anything=anything)
        if not anything:
            return start
        return Offset(cuts, began_at.cuts if began_at is not None and is_first else None).to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """How far the query could go if it had no limit: the tails, or the end, as `latestOffset` saw them last."""
        return None if self._latest is None else self._latest.to_json()

    @_told
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """What the tasks of a batch read.

        Raises:
            StreamTruncatedError: retention or a truncation removed a part of the batch.
            PravegaError: the batch does not fit the streams, or the cluster cannot be asked.
        """
        last = Offset.from_json(end, self._streams)
        first = last.began_at or Offset.from_json(start, self._streams).cuts
        ranges = [StreamCutRange(first[stream], last.cuts[stream]) for stream in self._streams]
        ranges = [each for each in ranges if each.start != each.end]
        options, client = self._options, self._client
        split = SplitPolicy(options.split_bytes, options.min_partitions)
        pieces = plan(client, ranges, split)
        return [*pack(with_times(client, self._columns, options.event_time_unit, ranges, pieces), split)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The events of one partition; called in a task."""
        from pyspark_pravega.read.task import read_partition  # the process that plans needs no part of it

        if isinstance(partition, PiecesPartition):  # Spark makes another one when there are none: nothing to read
            yield from read_partition(self._options, self._columns, partition)

    @property
    def _client(self) -> PravegaClient:
        return cluster(self._options.config).client

    def _look_up(self, stream: StreamName, position: Position) -> StreamCut:
        if (stream, position) not in self._named:
            cut = self._client.run(find_cut(self._client.asynchronous, stream, position))
            self._named[stream, position] = cut
        return self._named[stream, position]

    def _target(self, client: PravegaClient, source: Source) -> StreamCut:
        """How far the query may go now."""
        if self._targets is not None:
            return self._targets[source.stream]
        end = _end(source)
        if end is None:
            return client.tail(source.stream)
        return self._look_up(source.stream, end)

    def _step(self, client: PravegaClient, cuts: Cuts, targets: Cuts, limit: ReadLimit) -> Cuts:
        """The cuts of the next batch's end. Streams share the limit; one with less than its share leaves the rest."""
        step = dict(cuts)
        waiting = [stream for stream in self._streams if cuts[stream] != targets[stream]]
        left = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
        for following, stream in zip(reversed(range(len(waiting))), waiting, strict=True):
            start, end = cuts[stream], targets[stream]
            if left is None:
                # Checked here, where Spark has not written it into the checkpoint yet.
                client.plan(StreamCutRange(start, end))
                step[stream] = end
                continue
            step[stream] = client.next_cut(start, max(left // (following + 1), 1), end)
            if following:
                left -= client.distance(start, step[stream])
        return step


def _end(source: Source) -> Position | None:
    """Where a query ends; None: it follows the stream."""
    return None if source.end == UNBOUNDED else source.end
