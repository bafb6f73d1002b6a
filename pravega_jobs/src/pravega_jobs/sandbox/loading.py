"""Loads: recorded intervals of a cluster, and what they were written as, put into an emulator, where they are replayed.

All events of a range have one routing key there, so that they keep the order in which they are read. The emulator's
ledgers get the interval with its range there, and the write under its name.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from aiopravega.blocking import PravegaClient
from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError, LedgerError, SinksError, WriteIdReusedError
from aiopravega.ledger import CUT_TABLE, CommitRecord, Interval, Sink, ledger_name
from aiopravega.names import StreamName
from pravega_jobs.events.batches import EventBatch, write_to_streams
from pravega_jobs.frames import StreamRange
from pravega_jobs.frames.events import event_batches
from pravega_jobs.frames.options import FrameOptions
from pravega_jobs.frames.read import ReadableRange, plan_read
from pravega_jobs.sandbox.recorded import RecordedRange, recorded_ranges, write_named, write_of
from pravega_jobs.sandbox.replaying import replay
from pravega_jobs.sandbox.result import ReplayResult
from pravega_jobs.sandbox.rows import objects_of

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry

MOST_EVENTS: Final = 1_000_000
MOST_BYTES: Final = 256_000_000
_EVENT: Final = "event"
# The routing key of all events that are loaded.
_KEY: Final = "loaded"


@dataclass(frozen=True, slots=True)
class LoadedInterval:
    """An interval that was loaded: its events, the streams that it was written into, the write id, and their events."""

    interval: str
    events: int
    outputs: list[str]
    written_as: str
    output_events: int

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Source:
    """A range to load, and how its events are read: with `columns`, as JSON objects of these columns only."""

    range: ReadableRange
    columns: Sequence[str]
    options: Mapping[str, Any]
    registry: "SchemaRegistry | None"

    def batches(self) -> Iterator[EventBatch]:
        for batch in self._chosen() if self.columns else self._whole():
            yield EventBatch(batch, [_KEY] * len(batch))

    def _whole(self) -> Iterator[Sequence[bytes]]:
        for batch in plan_read(self.range, None, None, {"decode": "raw"}).scan.batches([_EVENT]):
            yield batch.column(0).to_pylist()

    def _chosen(self) -> Iterator[Sequence[bytes]]:
        planned = plan_read(self.range, None, self.registry, self.options)
        plan = planned.decoding.plan
        if plan is None:
            yield from self._fields()
            return
        if plan.kept is not None:
            raise ConfigurationError(
                "the option 'on_error' keeps events that cannot be decoded, and no column of them is loaded: leave it "
                "out, or say drop"
            )
        known = planned.decoding.schema.names
        missing = [name for name in self.columns if name not in known]
        if missing:
            raise ConfigurationError(f"{self.range.stream} has no column {missing[0]!r}; it has {', '.join(known)}")
        rows = planned.scan.batches(self.columns)
        for made in event_batches(rows, FrameOptions(), self.range.stream, None):
            yield made.events

    def _fields(self) -> Iterator[Sequence[bytes]]:
        seen: set[str] = set()
        count = 0
        for events in self._whole():
            count += len(events)
            chosen = []
            for found in objects_of(
                events, f"the events of {self.range.stream}", "say by options how they become columns"
            ):
                seen |= found.keys()
                chosen.append(json.dumps({name: found[name] for name in self.columns if name in found}).encode())
            yield chosen
        missing = [name for name in self.columns if name not in seen]
        if count and missing:
            raise ConfigurationError(
                f"no event of {self.range.stream} has a field {missing[0]!r}; they have {', '.join(sorted(seen))}"
            )


def load(
    source: PravegaClient,
    target: PravegaClient,
    stream: StreamName | str,
    *,
    consumer: str,
    intervals: Sequence[str] | str,
    compare_with: StreamName | str | None = None,
    write_id: str | None = None,
    commit_ledger: str | None = None,
    options: Mapping[str, Any] | None = None,
    output_options: Mapping[str, Any] | None = None,
    registry: "SchemaRegistry | None" = None,
    columns: Sequence[str] = (),
    output_columns: Sequence[str] = (),
    most_events: int = MOST_EVENTS,
    most_bytes: int = MOST_BYTES,
) -> list[LoadedInterval]:
    """Copy recorded intervals, and what they were written as, to another cluster, such that `replay` works there.

    Streams, consumer, intervals and write ids have the same names there. Nothing is written to `source`. To repeat it
    adds nothing, and a load that was killed is completed by the next one: an interval is done there when all of it is
    loaded.

    Args:
        source: a connected client of the cluster that has the intervals.
        target: a connected client of the emulator.
        stream: the stream of the intervals, as `scope/stream` or a name.
        consumer: the consumer that took them.
        intervals: their names, or one name; each must be done.
        compare_with: the stream that the intervals were written into; None: the one that the ledger names.
        write_id: the name of the writes, in which `{interval}` stands for the interval; None: the ledger names them.
        commit_ledger: `scope/table` of the ledger of the writes; None: what the cut ledger names, or the default one.
        options: of the read of the intervals, as of `read_arrow`, for `columns`.
        output_options: of the read of what was written, for `output_columns`.
        registry: the Schema Registry, for both.
        columns: the only columns of the intervals that are loaded. Their events are JSON objects then; without options,
            they must be JSON objects already. Empty: the events as they are.
        output_columns: the same of what was written.
        most_events: the most events that are loaded, of all intervals and writes together.
        most_bytes: the most bytes of their ranges, event headers (8 bytes each) included.

    Raises:
        ConfigurationError: both clients have one cluster, there is more than may be loaded, or an argument cannot work.
        LedgerError: an interval has no range or is not done, or its write is not done; or the emulator has the interval
            already, with other events.
        MixedRangeError: others wrote to the output at the same time as an interval.
        StreamTruncatedError: a part of a range, or of what was written, is gone.
        StreamMadeAgainError: a stream was deleted and made again.
        PravegaError: a cluster cannot be reached, or a range cannot be read.
    """
    if source.config.controller_uri == target.config.controller_uri:
        raise ConfigurationError(
            f"the intervals are to be loaded from {source.config.controller_uri} into the same cluster: name the "
            "cluster that has them, by PRAVEGA_CONTROLLER_URI and its credentials"
        )
    if isinstance(compare_with, str) and ":" in compare_with:
        raise ConfigurationError(
            f"{compare_with} is a table, whose rows belong to ranges of their own cluster: replay there, or name a "
            "stream by compare_with"
        )
    names = list(dict.fromkeys([intervals] if isinstance(intervals, str) else intervals))
    name = StreamName.of(stream)
    output = None if compare_with is None else StreamName.of(compare_with)
    loads = []
    for of in recorded_ranges(source, name, consumer, names):
        sink = write_named(of, output, write_id, commit_ledger)
        then = write_of(of, output, write_id, commit_ledger).record
        record = source.visible_write(then.sink, sink.id, ledger=sink.ledger, generation=then.generation)
        read = _Source(StreamRange(source, name, of.range), columns, options or {}, registry)
        writes = {
            each: _Source(
                StreamRange(source, each, source.range_of_write(record.of(each))),
                output_columns,
                output_options or {},
                registry,
            )
            for each in record.streams
        }
        loads.append(_Load(of, sink, record, read, writes))
    limit = _Limit(most_events)
    limit.check_bytes(loads, most_bytes)
    return [each.into(target, limit) for each in loads]


class _Limit:
    """Counts events, and refuses more than may be loaded; what is under way is not visible then."""

    def __init__(self, most: int) -> None:
        self._left = self._most = most

    @staticmethod
    def check_bytes(loads: Iterable["_Load"], most: int) -> None:
        sizes = {each.of.interval.name: each.size for each in loads}
        if sum(sizes.values()) > most:
            each = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
            raise ConfigurationError(
                f"the intervals and what they were written as have {sum(sizes.values()):,} bytes ({each}), and "
                f"most_bytes is {most:,}: load fewer intervals, or allow more"
            )

    def counted(self, batches: Iterable[EventBatch]) -> Iterator[EventBatch]:
        for batch in batches:
            self._left -= len(batch.events)
            if self._left < 0:
                raise ConfigurationError(
                    f"there are more events than most_events={self._most:,}: load fewer intervals, or allow more"
                )
            yield batch


@dataclass(frozen=True, slots=True)
class _Load:
    of: RecordedRange
    sink: Sink
    record: CommitRecord
    read: _Source
    writes: Mapping[StreamName, _Source]

    @property
    def size(self) -> int:
        """Bytes of the range and of the write."""
        parts = self.of.client.plan(self.of.range, self.of.stream)
        return sum(part.size for part in parts) + self.record.total_bytes

    def into(self, target: PravegaClient, limit: _Limit) -> LoadedInterval:
        """Write the events, and record the interval as done when all are there."""
        interval = self.of.interval
        own = f"{_KEY}/{interval.consumer}/{interval.name}"
        try:
            read = self._written(target, own, {self.of.stream: self.read}, None, limit)
            done = self._written(target, self.record.write_id, self.writes, self.sink.ledger, limit)
        except (WriteIdReusedError, SinksError) as error:
            raise _loaded_otherwise(interval) from error
        taken = target.range_of_write(read)
        ledger = target.cut_ledger(interval.stream.scope, CUT_TABLE)
        ledger.create()
        found = ledger.claim(interval, taken, times=self.of.times)
        if found.range != taken:
            raise _loaded_otherwise(interval)
        for part in self.of.record.parts:
            if part.sink is not None:
                ledger.declare(interval, part.name, part.sink)
        ledger.finish(interval, taken)
        return LoadedInterval(
            interval.name, read.total_events, [*map(str, self.writes)], done.write_id, done.total_events
        )

    @staticmethod
    def _written(
        target: PravegaClient, write_id: str, sources: Mapping[StreamName, _Source], ledger: str | None, limit: _Limit
    ) -> CommitRecord:
        streams = list(sources)
        for scope in {*(stream.scope for stream in streams), ledger_name(ledger, streams[0].scope)[0]}:
            target.create_scope(scope)
        for stream in streams:
            target.create_stream(stream)
        batches = ((stream, batch) for stream, source in sources.items() for batch in limit.counted(source.batches()))
        return write_to_streams(target, streams, write_id, batches, ledger, retain=None).record


def _loaded_otherwise(interval: Interval) -> LedgerError:
    return LedgerError(
        f"{interval} is in the emulator already, with other events: of other columns, or from before it was processed "
        "again. Start the emulator again, or load into another one"
    )


def replay_loaded(target: PravegaConfig, stream: StreamName | str, **arguments: Any) -> ReplayResult:
    """Load recorded intervals of the cluster that the environment names into an emulator, and replay them there.

    Args:
        target: the emulator.
        stream: the stream of the intervals.
        arguments: of `replay`, and `most_events` and `most_bytes` of `load`.

    Raises:
        PravegaError: as of `load` and `replay`.
    """
    limits = {name: arguments.pop(name) for name in ("most_events", "most_bytes") if name in arguments}
    of_both = ("consumer", "intervals", "compare_with", "write_id", "commit_ledger", "registry")
    given = {name: arguments[name] for name in of_both if name in arguments}
    with PravegaClient() as source, PravegaClient(target) as emulator:
        load(source, emulator, stream, **given, **limits)
        return replay(emulator, stream, **arguments)
