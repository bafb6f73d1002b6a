"""Errors tables and streams beside tables of rows: which errors count, which are missing, and the errors."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing.error_sinks import ErrorsSink, StoredErrors
from pravega_jobs.landing.errors import NAME, digest, errors_sink_of
from pravega_jobs.landing.rules import Holding
from pravega_jobs.landing.table_kind import LandingTable
from pravega_jobs.landing.targets import kind_of, table_of

if TYPE_CHECKING:
    import pyarrow as pa


class ErrorsState(StrEnum):
    """The state of errors in an errors table or stream: they count if the note of a landing names them."""

    COUNTED = "counted"
    MISSING = "missing"
    NOT_COUNTED = "not counted"


@dataclass(frozen=True, slots=True)
class IntervalErrors:
    """The errors of one landing.

    Args:
        consumer: the consumer of the interval.
        interval: the interval of the landing.
        generation: its generation.
        name: the name of the errors: `_interval` of their rows, or of their events in a stream.
        state: `counted`; `missing` if more or fewer are there than were landed; `not counted` if the table
            does not hold the landing, such as that of a run that was killed and did not come again, and in a stream
            that of an older generation.
        landed: the errors that were landed.
        found: the errors that are in the errors table or stream.
        stored: the errors there; None: there are none.
        sink: the errors table or stream.
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
                "that, a stream's retention has removed some, or it is the wrong one. Land the interval with a greater "
                "generation to have its errors again"
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
        }


def list_errors(
    table: LandingTable | str, errors: LandingTable | ErrorsSink | str | None = None
) -> list[IntervalErrors]:
    """The errors of all landings of a table, and errors of it that do not count, in the order of the landings.

    Args:
        table: the table, or its text.
        errors: its errors table or errors stream, or its text; None: those that the notes of the table name. An
            errors stream is read as a whole.

    Raises:
        ConfigurationError: a text names no table, or an errors table is in a database, whose address no note has.
        LandingError: a table cannot be asked.
        PravegaError: an errors stream cannot be read.
    """
    target = table_of(table) if isinstance(table, str) else table
    held = sorted(target.holdings(), key=lambda each: each.landed_at)
    names = dict.fromkeys(each.errors.table for each in held if each.errors is not None)
    if errors is not None:
        given = errors_sink_of(errors)
        sinks = dict.fromkeys(names, given) or {given.location(): given}
    else:
        sinks = {name: _named(name) for name in names}
    found: list[IntervalErrors] = []
    for one in {each.location(): each for each in sinks.values()}.values():
        notes = [each for each in held if each.errors is not None and sinks[each.errors.table] is one]
        found += _errors_in(one, target, notes)
    return found


def read_errors(of: IntervalErrors) -> "Iterator[pa.RecordBatch]":
    """The errors of one landing, batch by batch, with the columns of an errors table.

    Raises:
        LandingError: they are missing, or the errors table cannot be read.
        PravegaError: the errors stream cannot be read.
    """
    of.check()
    assert of.stored is not None
    yield from of.sink.read(of.stored)


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


def _errors_in(errors: ErrorsSink, target: LandingTable, notes: list[Holding]) -> Iterator[IntervalErrors]:
    there = {(each.consumer, each.name): each for each in errors.all()}
    mine = digest(target.location())
    for note in notes:
        if note.errors is None or note.errors.interval is None:
            continue
        stored = there.pop((note.consumer, note.errors.interval), None)
        count = 0 if stored is None else stored.found
        state = ErrorsState.COUNTED if count == note.errors.rows else ErrorsState.MISSING
        yield IntervalErrors(
            *(note.consumer, note.interval, note.generation, note.errors.interval, state),
            *(note.errors.rows, count, stored, errors),
        )
    for stored in there.values():
        name = NAME.fullmatch(stored.name)
        if name is not None and name["table"] == mine and stored.found:
            yield IntervalErrors(
                *(stored.consumer, name["interval"], int(name["generation"]), stored.name, ErrorsState.NOT_COUNTED),
                *(stored.rows, stored.found, stored, errors),
            )
