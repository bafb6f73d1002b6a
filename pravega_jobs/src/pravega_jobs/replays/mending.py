"""Errors decoded again: the rows of the events that can be decoded now, and the errors that are left."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import ConfigurationError, LandingError
from aiopravega.names import SegmentId, StreamName
from aiopravega.read.pointer import EventPointer
from aiopravega.schema.arrow.arrays import positions
from aiopravega.wire import EVENT_HEADER
from pravega_jobs.decoding.options import OnError
from pravega_jobs.error_rows import ERROR_TYPE, TABLE_COLUMNS, Sieve
from pravega_jobs.frames.decoding import Decoding, decoding_of
from pravega_jobs.frames.options import FrameOptions
from pravega_jobs.landing import IntervalErrors, read_errors
from pravega_jobs.refusals import Refusals
from pravega_jobs.spark.options import ERROR
from pravega_jobs.tables import batches_of, check_table

_ON_ERROR: Final = "on_error"
# The column of pointers of rows that no function changes.
_POINTER: Final = "_event_pointer"
Change = Callable[[pa.Table], Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """Makes rows of the target from decoded events.

    Args:
        change: a function of the job; None: they are rows of the target.
        event_pointer: the column that has the pointer of each row's event; None: `change` keeps none.
    """

    change: Change | None = None
    event_pointer: str | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """The errors of one landing or one write after a replay.

    Args:
        consumer: the consumer of the interval.
        interval: the interval of the landing or the write.
        generation: the generation that the table holds now; as before, if no event could be decoded. Of a stream, the
            generation of the write that has the mended rows, and 0 if there is none.
        errors: the errors that counted before.
        left: the errors that count now.
        rows: the rows of the interval in the table now; of a stream, the rows that were added.
        reason: why the first event that is left is an error; None: none is left.
    """

    consumer: str
    interval: str
    generation: int
    errors: int
    left: int
    rows: int
    reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The result as values of JSON."""
        return asdict(self)


def decoding_options(options: Mapping[str, Any]) -> FrameOptions:
    """The options by which a replay decodes errors.

    Raises:
        ConfigurationError: an option is not known, or nothing that a replay can follow.
    """
    given = {name.lower(): value for name, value in options.items() if value is not None}
    rule = given.setdefault(_ON_ERROR, OnError.DEAD)
    if str(rule).lower() != OnError.DEAD:
        raise ConfigurationError(
            f"option {_ON_ERROR!r} is {rule!r}, but a replay keeps the events that it cannot decode: leave it out"
        )
    parsed = FrameOptions.parse(given)
    if parsed.decode.format.is_changes:
        raise ConfigurationError(
            f"decode={parsed.decode.format} is for change events, whose rows depend on the events before them, and a "
            "replay decodes each error alone. Land the interval again, as its next generation"
        )
    return parsed


@dataclass(frozen=True, slots=True)
class Mended:
    """The errors of a landing or a write, decoded again.

    Args:
        rows: the rows of the events that can be decoded now.
        pointers: the pointer of the event of each row.
        undecoded: the errors of the events that still cannot be decoded.
        before: all errors, as their table or stream has them.
    """

    rows: pa.Table
    pointers: pa.StringArray
    undecoded: pa.StructArray
    before: pa.Table

    @property
    def is_empty(self) -> bool:
        """True if no event can be decoded now."""
        return self.mends_nothing(self.undecoded)

    def mends_nothing(self, left: pa.StructArray) -> bool:
        """True if these errors are all errors."""
        return len(left) == len(self.before)

    def changed(self, rule: Rule) -> tuple[pa.Table, Refusals | None]:
        """The rows of the target, and what takes those out that it refuses; None: one fails the replay.

        Raises:
            ConfigurationError: the function gives no table.
        """
        if rule.change is None:
            if rule.event_pointer is not None:
                return self.rows, self._refusals(rule.event_pointer)
            return self.rows.append_column(_POINTER, self.pointers), self._refusals(_POINTER)
        changed = rule.change(self.rows)
        check_table(changed)
        rows = batches_of(changed).read_all()
        return rows, None if rule.event_pointer is None else self._refusals(rule.event_pointer)

    def left(self, refusals: Refusals | None) -> pa.StructArray:
        """The errors that are left, with the routing keys that a job has given them before."""
        found = self.undecoded
        if refusals is not None:
            found = pa.concat_arrays([found, refusals.sieve.errors()])
        return _with_keys(found, self.before)

    def _refusals(self, column: str) -> Refusals:
        events = self.before["event"]
        pointers = map(EventPointer.from_text, self.before["pointer"].to_pylist())
        known = {pointer: row for row, pointer in enumerate(pointers)}
        return Refusals(lambda wanted: events.take([known[each] for each in wanted]).to_pylist(), Sieve(), column)


@dataclass(frozen=True, slots=True)
class Mender:
    """Decodes errors again.

    Args:
        options: of decoding.
        registry: a client of the Schema Registry, as of `read_arrow`.
    """

    options: FrameOptions
    registry: SchemaRegistry | None
    _decodings: dict[StreamName, Decoding] = field(default_factory=dict)

    def mend(self, errors: IntervalErrors, stream: StreamName | None = None) -> Mended:
        """Decode the errors of a landing or a write.

        Args:
            errors: the errors.
            stream: the stream of the events; None: of any one stream.

        Raises:
            ConfigurationError: no schema is known, or the events are of streams with other columns.
            LandingError: errors are missing, or one has no pointer to its event.
        """
        found = pa.Table.from_batches(read_errors(errors), TABLE_COLUMNS)
        pointers: list[str] = []
        batches = list(self._decoded(found, errors, stream, pointers))
        others = [each.schema for each in batches if not each.schema.equals(batches[0].schema)]
        if others:
            raise ConfigurationError(
                f"the errors of interval {errors.interval!r} are events of several streams, which have other columns: "
                f"{others[0].names} and {batches[0].schema.names}. Give 'columns' or a schema for all"
            )
        decoded = pa.Table.from_batches(batches)
        left = decoded[ERROR].combine_chunks().drop_null()
        is_good = decoded[ERROR].combine_chunks().is_null()
        rows = decoded.filter(is_good).drop_columns(ERROR)
        return Mended(rows, pa.array(pointers, pa.string()).filter(is_good), left, found)

    def _decoding(self, stream: StreamName) -> Decoding:
        if stream not in self._decodings:
            decoding = decoding_of(self.options, stream, self.registry)
            if decoding.plan is None:
                raise ConfigurationError(
                    f"the registry has no group for {stream}, and no option says how its events are decoded: give "
                    "'decode', such as json, and 'columns' or a schema"
                )
            self._decodings[stream] = decoding
        return self._decodings[stream]

    def _decoded(
        self, found: pa.Table, errors: IntervalErrors, stream: StreamName | None, pointers: list[str]
    ) -> Iterator[pa.RecordBatch]:
        """The rows of events that were errors, by segment and offset; those that still are have an error.

        `pointers` get the pointer of each row's event.
        """
        texts = found["pointer"].to_pylist()
        by_segment: dict[SegmentId, list[tuple[int, int]]] = {}
        events = found["event"].combine_chunks()
        for row, (text, event) in enumerate(zip(texts, events.to_pylist(), strict=True)):
            pointer = _pointer(text, event, errors, stream)
            by_segment.setdefault(pointer.segment, []).append((pointer.offset, row))
        for segment, events_of in sorted(by_segment.items(), key=lambda each: (str(each[0].stream), each[0].to_int())):
            at = np.array(sorted(events_of), np.int64)
            pointers.extend(texts[row] for row in at[:, 1])
            decoding = self._decoding(segment.stream)
            yield decoding.batch(events.take(positions(at[:, 1])), at[:, 0].copy(), segment)
            decoding.finish(segment)


def _pointer(text: str | None, event: bytes | None, errors: IntervalErrors, stream: StreamName | None) -> EventPointer:
    """The pointer to an event, which has the position that its row may need.

    Raises:
        LandingError: there is none, or it does not fit the event.
    """
    why = "an error without its event or its pointer"
    if text is not None and event is not None:
        try:
            pointer = EventPointer.from_text(text)
        except ConfigurationError as error:
            why = str(error)
        else:
            if stream in (None, pointer.segment.stream) and pointer.length == len(event) + EVENT_HEADER:
                return pointer
            why = f"an event of {len(event)} bytes with the pointer {text}"
    raise LandingError(
        f"generation {errors.generation} of interval {errors.interval!r} of {errors.consumer!r}: "
        f"{errors.sink.location()} has {why}, as no read with on_error=dead makes it. Land or write the interval "
        "again, as its next generation. Nothing was changed"
    )


def _with_keys(left: pa.StructArray, before: pa.Table) -> pa.StructArray:
    """Errors with the routing keys that a job has given them before."""
    keys = dict(zip(before["pointer"].to_pylist(), before["routing_key"].to_pylist(), strict=True))
    values = dict(zip((each.name for each in ERROR_TYPE), left.flatten(), strict=True))
    values["routing_key"] = pa.array([keys[pointer] for pointer in values["pointer"].to_pylist()], pa.string())
    return pa.StructArray.from_arrays(list(values.values()), fields=list(ERROR_TYPE))


def reason_of(left: pa.StructArray) -> str | None:
    """The reason of the first error that is left."""
    return left[0]["reason"].as_py() if len(left) else None
