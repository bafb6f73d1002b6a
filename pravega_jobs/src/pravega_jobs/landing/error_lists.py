"""Errors in errors tables and streams: which of them count for the rows of a table or a stream, which are missing."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing.error_sinks import NAME, ErrorsSink, StoredErrors
from pravega_jobs.landing.error_streams import ErrorsStream
from pravega_jobs.landing.errors import digest, errors_sink_of
from pravega_jobs.landing.rules import Holding
from pravega_jobs.landing.table_kind import LandingTable
from pravega_jobs.landing.targets import kind_of, table_of
from pravega_jobs.landing.written_streams import NotedErrors, WrittenStream

if TYPE_CHECKING:
    import pyarrow as pa


class ErrorsState(StrEnum):
    """The state of errors in an errors table or stream: they count if the note of a landing or a write names them."""

    COUNTED = "counted"
    MISSING = "missing"
    NOT_COUNTED = "not counted"
    REPLAYED = "replayed"


@dataclass(frozen=True, slots=True)
class IntervalErrors:
    """The errors of one landing or one write.

    Args:
        consumer: the consumer of the interval.
        interval: the interval of the landing.
        generation: its generation.
        name: the name of the errors: `_interval` of their rows, or of their events in a stream.
        state: `counted`; `missing` if others are there than were landed; `not counted` if the table does not hold the
            landing, such as that of a run that was killed and did not come again, and in a stream that of an older
            generation; `replayed` if a replay has written those that it could mend into the stream of the rows. Then
            those that are left have an entry of their own.
        landed: the errors that were landed, or written.
        found: the errors that are in the errors table or stream.
        stored: the errors there; None: there are none.
        sink: the errors table or stream.
        write: the note in the record of a write; None: they are of a landing, or do not count.
    """

    consumer: str
    interval: str
    generation: int
    name: str
    state: ErrorsState
    landed: int
    found: int
    stored: StoredErrors | None
    sink: ErrorsSink
    write: NotedErrors | None = None

    @property
    def counts(self) -> bool:
        """True if they count, also if some of them are missing."""
        return self.state in (ErrorsState.COUNTED, ErrorsState.MISSING)

    def is_of(self, consumer: str | None, interval: str | None) -> bool:
        """True if the errors are of this consumer and this interval; None: of any."""
        return consumer in (None, self.consumer) and interval in (None, self.interval)

    def check(self) -> None:
        """Check that the errors are there that were landed.

        Raises:
            LandingError: more or fewer are there.
        """
        if self.stored is None or self.state is ErrorsState.MISSING:
            raise LandingError(
                f"generation {self.generation} of interval {self.interval!r} of {self.consumer!r}: {self.landed} "
                f"errors of it were landed, and {self.found} are in {self.sink.location()}: somebody has changed "
                "that, a stream's retention has removed some, or it is the wrong one. Land or write the interval with "
                "a greater generation to have its errors again"
            )

    def to_json(self) -> dict[str, Any]:
        """The errors as values of JSON."""
        return {
            "consumer": self.consumer,
            "interval": self.interval,
            "generation": self.generation,
            "state": self.state.value,
            "landed": self.landed,
            "found": self.found,
            "errors": self.sink.location(),
            "name": self.name,
        } | ({} if self.write is None else {"write_id": self.write.record.write_id})


def list_errors(
    table: LandingTable | WrittenStream | str, errors: LandingTable | ErrorsSink | str | None = None
) -> list[IntervalErrors]:
    """The errors of all landings of a table, or writes to a stream, and errors of it that do not count, in their order.

    Args:
        table: the table, or its text; or the stream of rows, or its text `stream:scope/name`.
        errors: its errors table or errors stream, or its text; None: those that the notes of the table name. An
            errors stream is not read, unless retention has removed some of its errors: its ledger knows their numbers.

    Raises:
        ConfigurationError: a text names no table, or an errors table is in a database, whose address no note has.
        LandingError: a table cannot be asked.
        PravegaError: an errors stream, or the ledger of a stream of rows, cannot be read.
    """
    target = rows_target(table)
    if isinstance(target, WrittenStream):
        given_sink = None if errors is None else errors_sink_of(errors)
        return _errors_of_writes(target, given_sink if isinstance(given_sink, ErrorsStream) else None)
    held = sorted(target.holdings(), key=lambda each: each.landed_at)
    names = dict.fromkeys(each.errors.table for each in held if each.errors is not None)
    if errors is not None:
        given = errors_sink_of(errors)
        sinks = dict.fromkeys(names, given) or {given.location(): given}
    else:
        sinks = {name: _named(name) for name in names}
    found: list[IntervalErrors] = []
    for one in {each.location(): each for each in sinks.values()}.values():
        notes = [_Note.of_landing(each) for each in held if each.errors is not None and sinks[each.errors.table] is one]
        found += _errors_in(one, target.location(), [each for each in notes if each is not None])
    return found


def rows_target(given: LandingTable | WrittenStream | str) -> LandingTable | WrittenStream:
    """The table or the stream of rows that a text names, as `parquet:/folder` or `stream:scope/name`.

    Raises:
        ConfigurationError: the text names neither.
    """
    return WrittenStream.of_text(given) or table_of(given) if isinstance(given, str) else given


def read_errors(of: IntervalErrors) -> "Iterator[pa.RecordBatch]":
    """The errors of one landing, batch by batch, with the columns of an errors table.

    Raises:
        LandingError: they are missing, or the errors table cannot be read.
        PravegaError: the errors stream cannot be read.
    """
    of.check()
    assert of.stored is not None
    yield from of.sink.read(of.stored)


@dataclass(frozen=True, slots=True)
class ErrorsCount:
    """The errors of a table or a stream that count.

    Args:
        counted: the errors of each landing or write that count, also if some of them are missing.
    """

    counted: Sequence[IntervalErrors]

    @property
    def errors(self) -> int:
        """The number of events that are errors."""
        return sum(each.landed for each in self.counted)

    @property
    def missing(self) -> list[IntervalErrors]:
        """The landings or writes that miss some errors."""
        return [each for each in self.counted if each.state is ErrorsState.MISSING]

    @property
    def state(self) -> str:
        """A digest of the errors that count: the same until some are added or mended, or the first one is lost."""
        return digest(*sorted(f"{each.consumer}\0{each.name}\0{each.landed}\0{each.state}" for each in self.counted))

    def most(self, number: int) -> list[dict[str, Any]]:
        """The landings or writes with the most errors, as values of JSON: consumer, interval, generation and others."""
        shown = sorted(self.counted, key=lambda each: -each.landed)[:number]
        return [each.to_json() | {"errors": each.landed} for each in shown]

    def sample(self, number: int) -> list[dict[str, Any]]:
        """Some errors of the newest landings or writes: `interval`, `pointer`, `reason`; few of their events are read.

        Raises:
            PravegaError: they cannot be read.
        """
        found: list[dict[str, Any]] = []
        for each in reversed(self.counted):
            if each.state is ErrorsState.COUNTED:
                rows = (row for batch in read_errors(each) for row in batch.to_pylist())
                found += (
                    {"interval": each.interval, "pointer": row["pointer"], "reason": row["reason"]}
                    for row in islice(rows, number - len(found))
                )
            if len(found) >= number:
                break
        return found


def count_errors(
    table: LandingTable | WrittenStream | str,
    errors: LandingTable | ErrorsSink | str | None = None,
    *,
    consumer: str | None = None,
    interval: str | None = None,
) -> ErrorsCount:
    """Count the errors of all landings of a table, or writes to a stream, without those that a replay has mended.

    Args:
        table: as of `list_errors`.
        errors: as of `list_errors`.
        consumer: only errors of this consumer; None: of all.
        interval: only errors of this interval; None: of all.

    Raises:
        ConfigurationError: as `list_errors`.
        LandingError: as `list_errors`.
        PravegaError: as `list_errors`.
    """
    found = list_errors(table, errors)
    return ErrorsCount([each for each in found if each.counts and each.is_of(consumer, interval)])


def _named(location: str) -> ErrorsSink:
    """The errors table or stream of a note.

    Raises:
        ConfigurationError: it is in a database.
    """
    kind = kind_of(location)
    if kind is not None and kind.has_address:
        raise ConfigurationError(
            f"the errors are in {location}, and a note has no address of a database: name the errors table as well"
        )
    return errors_sink_of(location)


def _errors_of_writes(target: WrittenStream, given: ErrorsStream | None) -> list[IntervalErrors]:
    noted = target.notes()
    found: list[IntervalErrors] = []
    for text, sink in target.sinks(noted, given).items():
        notes = [_Note.of_write(each) for each in noted if each.errors.sink == text]
        found += _errors_in(sink, target.location(), notes)
    return found


@dataclass(frozen=True, slots=True)
class _Note:
    """The errors of a landing or a write, by its note or its record."""

    consumer: str
    interval: str
    generation: int
    name: str
    rows: int
    write: NotedErrors | None = None

    @classmethod
    def of_landing(cls, note: Holding) -> Self | None:
        if note.errors is None or note.errors.interval is None:
            return None
        return cls(note.consumer, note.interval, note.generation, note.errors.interval, note.errors.rows)

    @classmethod
    def of_write(cls, note: NotedErrors) -> Self:
        errors = note.errors
        assert errors.name is not None
        return cls(errors.consumer, errors.interval, note.record.generation, errors.name, errors.rows, note)

    def state(self, found: int) -> ErrorsState:
        if self.write is not None and self.write.is_replayed:
            return ErrorsState.REPLAYED
        return ErrorsState.COUNTED if found == self.rows else ErrorsState.MISSING


def _errors_in(errors: ErrorsSink, target: str, notes: Iterable[_Note]) -> Iterator[IntervalErrors]:
    """The errors of some notes in a sink, and others of the same target there."""
    there = {(each.consumer, each.name): each for each in errors.all()}
    mine = digest(target)
    for note in notes:
        stored = there.pop((note.consumer, note.name), None)
        count = 0 if stored is None else stored.found
        yield IntervalErrors(
            *(note.consumer, note.interval, note.generation, note.name, note.state(count)),
            *(note.rows, count, stored, errors, note.write),
        )
    for stored in there.values():
        name = NAME.fullmatch(stored.name)
        if name is not None and name["table"] == mine and stored.found:
            yield IntervalErrors(
                *(stored.consumer, name["interval"], int(name["generation"]), stored.name, ErrorsState.NOT_COUNTED),
                *(stored.rows, stored.found, stored, errors),
            )
