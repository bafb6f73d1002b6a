"""`spark.readStream.format("pravega")`: the reader of micro-batches as Spark calls it.

Spark keeps one reader in a separate process for as long as the query runs. It asks the reader for the end of each next
batch, and for its partitions; tasks get copies. Comments tell where code relies on the order of Spark's calls.
"""

import time
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
from aiopravega.read.calls import find_cut
from pyspark_pravega.connections import cluster
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.read.offsets import Cuts, Offset
from pyspark_pravega.read.packing import ReadPartition, pack
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
# The part of the time without events for which an answer waits.
_SHARE: Final = 0.1
_LONGEST: Final = 1.0
# Spark asks after 10 ms; a trigger with events takes longer than this.
_AT_ONCE: Final = 0.05


class IdlePace:
    """Slows down the requests of one query for new events, while there are none.

    Spark asks again 10 ms after each answer without new events, which keeps a sixth of a core busy. Here the answer
    waits a tenth of the time for which no event arrived, and at most a second. So a stream with events every few
    milliseconds is asked as often as before, and the first event after a silence is found after a tenth of that
    silence, at most.

    Only a request that follows an answer at once waits. If a query has other busy sources, or a trigger with a pause,
    more time lies between requests, and this source does not wait.

    Args:
        clock: seconds of a monotonic clock.
        sleep: waits for some seconds.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._nothing_since: float | None = None
        self._answered = 0.0

    def wait(self) -> None:
        """Wait before a request is answered, if Spark asks again because the answer before had no new events."""
        now = self._clock()
        if self._nothing_since is not None and now - self._answered <= _AT_ONCE:
            self._sleep(min(_LONGEST, (now - self._nothing_since) * _SHARE))

    def answered(self, *, anything: bool) -> None:
        """Record that a request was answered, and whether there were new events."""
        self._answered = self._clock()
        if anything:
            self._nothing_since = None
        elif self._nothing_since is None:
            self._nothing_since = self._answered


def _explained(
    method: "Callable[Concatenate[PravegaStreamReader, P], R]",
) -> "Callable[Concatenate[PravegaStreamReader, P], R]":
    """Add the remedy for a streaming query to errors, and leave out the traceback that Spark shows before them."""

    @wraps(method)
    def explaining(self: "PravegaStreamReader", /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except StreamTruncatedError as error:
            raise StreamTruncatedError(f"{error} {_GO_ON}.") from None
        except InvalidRangeError as error:
            raise InvalidRangeError(f"{error}. {_NEITHER}.") from None
        except PravegaError as error:
            raise error.with_traceback(None) from None

    return explaining


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
        # Spark asks for the begin more than once, and an AvailableNow query that begins at the tail must not end before
        # its begin: so the cut of every named position is found once.
        self._named: dict[tuple[StreamName, Position], StreamCut] = {}
        self._targets: Cuts | None = None
        self._began_at: Offset | None = None
        self._latest: Offset | None = None
        self._pace = IdlePace()
        self._subscription = subscription(self._options.streaming, self._streams[0].scope)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The most bytes of a batch, by option `max_bytes_per_trigger`."""
        most = self._options.streaming.max_bytes
        return ReadAllAvailable() if most is None else ReadMaxBytes(most)

    @_explained
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """The begin of a query without a checkpoint.

        Raises:
            PravegaError: a stream does not exist, or the cluster does not answer.
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

    @_explained
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix the end of a query that reads the events of now, and ends.

        Raises:
            PravegaError: a stream does not exist, or the cluster does not answer.
        """
        self._targets = {
            source.stream: self._look_up(source.stream, _end(source) or NamedCut.TAIL)
            for source in self._options.sources
        }

    @_explained
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """The end of the batch that begins at `start`; `start` itself if there are no more events.

        Raises:
            StreamNotFoundError: a stream was deleted.
            StreamTruncatedError: retention or a truncation removed events after `start`.
            ConfigurationError: the checkpoint is of other streams.
            PravegaError: another error that stops the query.
        """
        offset = Offset.from_json(start, self._streams)
        if self._targets is None:  # with AvailableNow, Spark asks a few times only
            self._pace.wait()
        client = self._client
        if self._subscription is not None:
            # Spark asks for the end of the next batch only when it has written the batch before into its log of
            # commits: in the course of a query; after a restart (it first repeats a batch that is not in the log,
            # without asking); and with AvailableNow also after the last batch. So events before `start` are never read
            # again. Spark calls `commit` only with a further batch.
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
        """The end of a batch without a limit: the tails, or the query's end, as `latestOffset` saw them last."""
        return None if self._latest is None else self._latest.to_json()

    @_explained
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The partitions of a batch, one for each task.

        Raises:
            StreamTruncatedError: retention or a truncation removed a part of the batch.
            PravegaError: the batch does not fit the streams, or the cluster does not answer.
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
        from pyspark_pravega.read.task import read_partition  # the process that plans does not need it

        if isinstance(partition, ReadPartition):  # without partitions, Spark makes one of its class
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
        """The cut up to which the query may read now."""
        if self._targets is not None:
            return self._targets[source.stream]
        end = _end(source)
        if end is None:
            return client.tail(source.stream)
        return self._look_up(source.stream, end)

    def _step(self, client: PravegaClient, cuts: Cuts, targets: Cuts, limit: ReadLimit) -> Cuts:
        """The end of the next batch. Streams share the limit; one that needs less leaves the rest to the others."""
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
    """The end of a query in a stream; None: it follows the stream."""
    return None if source.end == UNBOUNDED else source.end
