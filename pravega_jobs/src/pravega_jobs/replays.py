"""Errors of landings decoded again: events that can be decoded now become rows of their interval.

An interval keeps the rows that its table has, and gets the rows of its mended errors: both are landed together as its
next generation, with the errors that are left. So the decision is that of any landing, and the stream is not read:
retention may have removed the range.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
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
from pravega_jobs.error_rows import ERROR_TYPE, TABLE_COLUMNS
from pravega_jobs.frames.decoding import Decoding, decoding_of
from pravega_jobs.frames.options import FrameOptions
from pravega_jobs.landing import ErrorsState, IntervalErrors, LandingTable, land, list_errors, read_errors, table_of
from pravega_jobs.landing.error_sinks import ErrorsSink
from pravega_jobs.landing.errors import ErrorsBeside
from pravega_jobs.landing.growth import TableColumns, growth
from pravega_jobs.landing.local_rows import LocalRows, arrow_columns, with_columns
from pravega_jobs.landing.rules import Evolution, Holding, Landing, choice
from pravega_jobs.spark.options import ERROR
from pravega_jobs.tables import batches_of, check_table

_ON_ERROR: Final = "on_error"
_ROWS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Replayed:
    """The errors of one landing after a replay.

    Args:
        consumer: the consumer of the interval.
        interval: the interval of the landing.
        generation: the generation that the table holds now; as before, if no event could be decoded.
        errors: the errors that counted before.
        left: the errors that count now.
        rows: the rows of the interval now.
        reason: why the first event that is left cannot be decoded; None: none is left.
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


def replay_errors(
    table: LandingTable | str,
    options: Mapping[str, Any],
    *,
    errors: LandingTable | ErrorsSink | str | None = None,
    consumer: str | None = None,
    interval: str | None = None,
    registry: SchemaRegistry | None = None,
    new_columns: Evolution | str = Evolution.FAIL,
    change: Callable[[pa.Table], Any] | None = None,
) -> list[Replayed]:
    """Decode the errors of landings again, and put what can be decoded now into the table exactly once.

    The rows of an interval and its errors are replaced together, by its next generation: the rows that the table has,
    and the rows of mended errors. Where no event can be decoded, nothing is changed.

    Args:
        table: the table whose rows were landed, or its text.
        options: the options of decoding, as of `read_arrow`, such as `decode`, `columns`, `metadata_columns`. Change
            events are refused.
        errors: its errors table or errors stream, or its text; None: those that the notes of the table name.
        consumer: only errors of this consumer; None: of all.
        interval: only errors of this interval; None: of all.
        registry: a client of the Schema Registry, as of `read_arrow`.
        new_columns: the treatment of columns that the table lacks, as of `land`.
        change: makes rows of the table from the rows of the mended errors, as the job does that lands; None: they are
            rows of the table. It gets a table of Arrow, and gives one, or another frame that `land` takes.

    Returns:
        A result for each landing that had errors, in the order of the landings.

    Raises:
        ConfigurationError: an option is not known, no schema is known, or a text names no table.
        LandingError: errors or rows are missing, an error has no pointer to its event, or the rows do not fit the
            table. The landings before this one are mended.
        PravegaError: the registry or a table cannot be asked.
    """
    target = table_of(table) if isinstance(table, str) else table
    rule = choice(new_columns, Evolution, "new_columns")
    parsed = _options(options)
    target.repair()
    found = [each for each in list_errors(target, errors) if each.is_of(consumer, interval)]
    counted = [each for each in found if each.counts]
    for each in counted:
        each.check()
    decodings: dict[StreamName, Decoding] = {}
    done = []
    for each in counted:
        held = _held(target, each)
        if held.stream not in decodings:
            decodings[held.stream] = _decoding(parsed, held.stream, registry)
        done.append(_Replay(target, each, held, decodings[held.stream], rule, change).run())
    # Errors of runs that were killed before they took them out.
    for held in target.holdings():
        for each in found:
            if each.state is ErrorsState.NOT_COUNTED and (each.consumer, each.interval) == (
                held.consumer,
                held.interval,
            ):
                ErrorsBeside(each.sink, target).take_out_others(held)
    return done


def _options(options: Mapping[str, Any]) -> FrameOptions:
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


def _decoding(options: FrameOptions, stream: StreamName, registry: SchemaRegistry | None) -> Decoding:
    decoding = decoding_of(options, stream, registry)
    if decoding.plan is None:
        raise ConfigurationError(
            f"the registry has no group for {stream}, and no option says how its events are decoded: give 'decode', "
            "such as json, and 'columns' or a schema"
        )
    return decoding


def _held(target: LandingTable, errors: IntervalErrors) -> Holding:
    """The holding whose errors these are.

    Raises:
        LandingError: the table does not hold it any more.
    """
    for each in target.holdings():
        if (each.consumer, each.interval, each.generation) == (errors.consumer, errors.interval, errors.generation):
            return each
    raise LandingError(
        f"generation {errors.generation} of interval {errors.interval!r} of {errors.consumer!r}: another run has "
        f"replaced it in {target.location()} meanwhile. Run it again. Nothing was changed"
    )


@dataclass(frozen=True, slots=True)
class _Replay:
    """The replay of the errors of one landing that a table holds."""

    target: LandingTable
    errors: IntervalErrors
    held: Holding
    decoding: Decoding
    rule: Evolution
    change: Callable[[pa.Table], Any] | None

    def run(self) -> Replayed:
        """Land the interval again, if an event can be decoded now."""
        found = pa.Table.from_batches(read_errors(self.errors), TABLE_COLUMNS)
        decoded = pa.Table.from_batches(self._decoded(found), self.decoding.schema)
        still = decoded[ERROR].combine_chunks().drop_null()
        reason = still[0]["reason"].as_py() if len(still) else None
        if len(still) == found.num_rows:
            return self._result(self.held, len(still), reason)
        is_mended = decoded[ERROR].is_null()
        columns, mended = self._fitted(decoded.filter(is_mended).drop_columns(ERROR))
        rows = pa.RecordBatchReader.from_batches(
            columns.append(pa.field(ERROR, ERROR_TYPE)), self._rows(columns, mended, _with_keys(still, found))
        )
        landed = land(
            rows,
            self.target,
            self.held.range,
            consumer=self.held.consumer,
            interval=self.held.interval,
            generation=self.held.generation + 1,
            new_columns=self.rule,
            errors=self.errors.sink,
        )
        now = landed.holding
        return self._result(now, 0 if now.errors is None else now.errors.rows, reason)

    def _result(self, held: Holding, left: int, reason: str | None) -> Replayed:
        return Replayed(
            held.consumer, held.interval, held.generation, self.errors.landed, left, held.rows, reason if left else None
        )

    def _decoded(self, errors: pa.Table) -> Iterator[pa.RecordBatch]:
        """The rows of events that were errors, by segment and offset; those that still are have an error."""
        by_segment: dict[SegmentId, list[tuple[int, int]]] = {}
        events = errors["event"].combine_chunks()
        for row, (text, event) in enumerate(zip(errors["pointer"].to_pylist(), events.to_pylist(), strict=True)):
            pointer = self._pointer(text, event)
            by_segment.setdefault(pointer.segment, []).append((pointer.offset, row))
        for segment, found in sorted(by_segment.items(), key=lambda each: each[0].to_int()):
            at = np.array(sorted(found), np.int64)
            yield self.decoding.batch(events.take(positions(at[:, 1])), at[:, 0].copy(), segment)
            self.decoding.finish(segment)

    def _pointer(self, text: str | None, event: bytes | None) -> EventPointer:
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
                if (pointer.segment.stream, pointer.length) == (self.held.stream, len(event) + EVENT_HEADER):
                    return pointer
                why = f"an event of {len(event)} bytes with the pointer {text}"
        raise LandingError(
            f"generation {self.held.generation} of {self.held.identity}: {self.errors.sink.location()} has {why}, as "
            "no read with on_error=dead makes it. Land the interval again, as its next generation. Nothing was changed"
        )

    def _fitted(self, mended: pa.Table) -> tuple[pa.Schema, pa.Table]:
        """The columns that the table has for old and new rows, and the new rows.

        Raises:
            LandingError: the columns differ, and the rule or the kind of table does not allow it.
        """
        if self.change is not None:
            changed = self.change(mended)
            check_table(changed)
            mended = batches_of(changed).read_all()
        landing = Landing(self.held.identity, self.held.range, self.held.generation + 1, new_columns=self.rule)
        known = self.target.columns()
        if known is None:
            raise LandingError(f"{landing}: {self.target.location()} is gone. Nothing was changed")
        # A database would fill in what rows lack, but the rows are landed with the older ones.
        known = replace(known, takes_values=False)
        own = LocalRows(mended)
        grown = growth(landing, known, own.types())
        try:
            return arrow_columns({**known.types, **grown.widened, **grown.added}, own.arrow_schema()), mended
        except ConfigurationError as error:
            raise LandingError(
                f"{landing}: the table has a column of a type that rows of a replay cannot have: {error}. Land the "
                "interval again from its range. Nothing was changed"
            ) from None

    def _rows(self, columns: pa.Schema, mended: pa.Table, still: pa.StructArray) -> Iterator[pa.RecordBatch]:
        """The rows that the table has, the rows of mended errors, and the errors that are left."""
        wanted = columns.append(pa.field(ERROR, ERROR_TYPE))
        known: TableColumns | None = self.target.columns()
        older = pa.schema([each for each in columns if known is not None and each.name in known.types])
        count = 0
        for batch in self.target.read(self.held, older):
            count += batch.num_rows
            yield with_columns(batch, wanted)
        if count != self.held.rows:
            raise LandingError(
                f"generation {self.held.generation} of {self.held.identity}: {self.held.rows} rows of it were landed, "
                f"and {count} are in {self.target.location()}: somebody has deleted, added or restored rows. Land the "
                "interval again from its range, as its next generation. Nothing was changed"
            )
        for batch in mended.to_batches(_ROWS):
            yield with_columns(batch, wanted)
        yield with_columns(pa.RecordBatch.from_arrays([still], [ERROR]), wanted)


def _with_keys(still: pa.StructArray, before: pa.Table) -> pa.StructArray:
    """Errors with the routing keys that a job has given them before."""
    keys = dict(zip(before["pointer"].to_pylist(), before["routing_key"].to_pylist(), strict=True))
    values = dict(zip((each.name for each in ERROR_TYPE), still.flatten(), strict=True))
    values["routing_key"] = pa.array([keys[pointer] for pointer in values["pointer"].to_pylist()], pa.string())
    return pa.StructArray.from_arrays(list(values.values()), fields=list(ERROR_TYPE))
