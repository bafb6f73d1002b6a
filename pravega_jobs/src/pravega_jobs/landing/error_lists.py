"""Errors tables beside the tables whose rows were landed: which errors count, which are missing, and their rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing.errors import NAME, digest
from pravega_jobs.landing.rules import Holding
from pravega_jobs.landing.table_kind import LandingTable
from pravega_jobs.landing.targets import kind_of, table_of

if TYPE_CHECKING:
    import pyarrow as pa


class ErrorsState(StrEnum):
    """The state of errors in an errors table: they count if the note of a landing names them."""

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
        state: `counted`; `missing` if the errors table has others than the number that was landed; `not counted` if
            the table does not hold the landing, such as that of a run that was killed and did not come again.
        landed: the errors that were landed.
        found: the errors that are in the errors table.
        holding: the errors table's own note of them; None: it has none.
        table: the errors table.
    """

    consumer: str
    interval: str
    generation: int
    state: ErrorsState
    landed: int
    found: int
    holding: Holding | None
    table: LandingTable

    def is_of(self, consumer: str | None, interval: str | None) -> bool:
        """True if the errors are of this consumer and this interval; None: of any."""
        return consumer in (None, self.consumer) and interval in (None, self.interval)

    def check(self) -> None:
        """Check that the errors table has what was landed.

        Raises:
            LandingError: it has others.
        """
        if self.holding is None or self.state is ErrorsState.MISSING:
            raise LandingError(
                f"generation {self.generation} of interval {self.interval!r} of {self.consumer!r}: {self.landed} "
                f"errors of it were landed, and {self.found} are in {self.table.location()}: somebody has changed that "
                "table, or it is the wrong one. Land the interval with a greater generation to have its errors again"
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
            "errors": self.table.location(),
        }


def list_errors(table: LandingTable | str, errors: LandingTable | str | None = None) -> list[IntervalErrors]:
    """The errors of all landings of a table, and errors of it that do not count, in the order of the landings.

    Args:
        table: the table, or its text.
        errors: its errors table, or its text; None: those that the notes of the table name.

    Raises:
        ConfigurationError: a text names no table, or an errors table is in a database, whose address no note has.
        LandingError: a table cannot be asked.
    """
    target = table_of(table) if isinstance(table, str) else table
    held = sorted(target.holdings(), key=lambda each: each.landed_at)
    names = dict.fromkeys(each.errors.table for each in held if each.errors is not None)
    if errors is not None:
        given = table_of(errors) if isinstance(errors, str) else errors
        tables = dict.fromkeys(names, given) or {given.location(): given}
    else:
        tables = {name: _named(name) for name in names}
    found: list[IntervalErrors] = []
    for one in {each.location(): each for each in tables.values()}.values():
        notes = [each for each in held if each.errors is not None and tables[each.errors.table] is one]
        found += _errors_in(one, target, notes)
    return found


def read_errors(of: IntervalErrors) -> "Iterator[pa.RecordBatch]":
    """The errors of one landing, batch by batch, with the columns of an errors table.

    Raises:
        LandingError: they are missing, or the errors table cannot be read.
    """
    from pravega_jobs.error_rows import TABLE_COLUMNS

    of.check()
    assert of.holding is not None
    yield from of.table.read(of.holding, TABLE_COLUMNS)


def _named(location: str) -> LandingTable:
    """The errors table of a note.

    Raises:
        ConfigurationError: it is in a database.
    """
    kind = kind_of(location)
    if kind is None or kind.has_address:
        raise ConfigurationError(
            f"the errors are in {location}, and a note has no address of a database: name the errors table as well"
        )
    return table_of(location)


def _errors_in(errors: LandingTable, target: LandingTable, notes: list[Holding]) -> Iterator[IntervalErrors]:
    there = {(each.consumer, each.interval): each for each in errors.holdings()}
    rows, mine = errors.rows() or {}, digest(target.location())
    for note in notes:
        if note.errors is None or note.errors.interval is None:
            continue
        key = note.consumer, note.errors.interval
        holding = there.pop(key, None)
        count = 0 if holding is None else rows.get(key, 0)
        state = ErrorsState.COUNTED if count == note.errors.rows else ErrorsState.MISSING
        yield IntervalErrors(
            note.consumer, note.interval, note.generation, state, note.errors.rows, count, holding, errors
        )
    for key, holding in there.items():
        name = NAME.fullmatch(holding.interval)
        if name is not None and name["table"] == mine and rows.get(key):
            yield IntervalErrors(
                *(holding.consumer, name["interval"], int(name["generation"]), ErrorsState.NOT_COUNTED),
                *(holding.rows, rows[key], holding, errors),
            )
