"""Rules of a landing, without I/O: the holdings of a table, and the action for rows that arrive.

A table holds an interval once: the rows of one range, of one generation. The same range again adds nothing. A newer
generation replaces the rows of its own interval. All other landings are refused: a table cannot know which of two
ranges is the right one.

A note of a holding can outlive the rows. It counts only if its commit is in the history of the table that stands there;
if it does not count, the interval is landed as if it was new, and replaces what is left of it. Rows that somebody took
out of a table that has the commit are missed: the landing is refused.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Literal, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict

from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError, LandingError
from aiopravega.ledger import Interval
from aiopravega.ledger.stored_json import StoredStream, StoredTime, read_value, with_checksum
from pravega_jobs.landing.cut_order import shares_events
from pravega_jobs.landing.partition_by import PartitionBy

VERSION: Final = 1
# The columns that every landed row has.
CONSUMER_COLUMN: Final = "_consumer"
INTERVAL_COLUMN: Final = "_interval"
OWN_COLUMNS: Final = (CONSUMER_COLUMN, INTERVAL_COLUMN)
# The property of a table that changes are merged into, which says how.
MERGED: Final = "pravega.merge"
# The property of such a table by which its owner accepts changes by others: a version of Delta, a snapshot of Iceberg.
ACCEPTED: Final = "pravega.merge.accepted"
Choice = TypeVar("Choice", bound=StrEnum)


class Evolution(StrEnum):
    """The treatment of columns that the table lacks."""

    FAIL = "fail"
    IGNORE = "ignore"
    ADD = "add"


def choice(given: str, choices: type[Choice], name: str) -> Choice:
    """The value of an argument that has a few texts as its choices.

    Raises:
        ConfigurationError: the text is none of them.
    """
    try:
        return choices(given)
    except ValueError:
        raise ConfigurationError(f"{name} is {', '.join(choices)}, not {given!r}") from None


class Action(StrEnum):
    """The effect of a landing on a table."""

    APPEND = "append"
    REPLACE = "replace"
    MERGE = "merge"
    NOTHING = "nothing"


class HeldErrors(BaseModel):
    """The errors of a landing: their table, the interval under which it has them, and their number.

    `interval` is None if there are none. Others in that table of the same landing do not count.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: str
    rows: int
    interval: str | None = None


@dataclass(frozen=True, slots=True)
class Landing:
    """The rows of one interval, on their way into a table: the interval, its range, and its generation.

    `of_times`: the interval is one of event times, whose ranges overlap on purpose. Other intervals of a consumer have
    no event in common. `new_columns`: the treatment of columns that the table lacks. `partition_by`: of a new table.
    `errors`: the errors of its range that an errors table has.

    Raises:
        ConfigurationError: the generation is not 1 or more, or the range is of another stream, or has an open end.
    """

    interval: Interval
    cuts: StreamCutRange
    generation: int = 1
    of_times: bool = False
    new_columns: Evolution = Evolution.FAIL
    partition_by: tuple[PartitionBy, ...] = ()
    errors: HeldErrors | None = None

    def __post_init__(self) -> None:
        if self.generation < 1:
            raise ConfigurationError(f"{self}: generations are counted from 1")
        if self.cuts.stream != self.interval.stream or self.cuts.start.is_unbounded or self.cuts.end.is_unbounded:
            raise ConfigurationError(
                f"{self}: its range must start and end at cuts of {self.interval.stream}, but is {self.cuts}"
            )

    def __str__(self) -> str:
        return f"generation {self.generation} of {self.interval}"


class Holding(BaseModel):
    """A table's stored record that it has an interval: the range as two texts of cuts, generation, rows, and time.

    `errors` is None if the landing had no errors table.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    consumer: str
    stream: StoredStream
    interval: str
    start: str
    end: str
    generation: int
    rows: int
    landed_at: StoredTime
    errors: HeldErrors | None = None

    @classmethod
    def of(cls, landing: Landing, rows: int) -> Self:
        """The holding of a landing that is done now."""
        return cls(
            consumer=landing.interval.consumer,
            stream=landing.interval.stream,
            interval=landing.interval.name,
            start=landing.cuts.start.to_text(),
            end=landing.cuts.end.to_text(),
            generation=landing.generation,
            rows=rows,
            landed_at=datetime.now(UTC),
            errors=landing.errors,
        )

    @classmethod
    def from_json(cls, value: bytes) -> Self:
        """Read what `to_json` wrote.

        Raises:
            LedgerError: the value is damaged, or of another release.
        """
        return read_value(cls, value, VERSION, "a holding of a table")

    def to_json(self) -> bytes:
        """The holding as one JSON object, with a checksum."""
        return with_checksum(self.plain_json())

    def plain_json(self) -> str:
        """The holding as one JSON object. What it has not is left out, so that older notes keep their texts."""
        return self.model_dump_json(exclude_none=True)

    @property
    def identity(self) -> Interval:
        """The interval."""
        return Interval(self.consumer, self.stream, self.interval)

    @property
    def range(self) -> StreamCutRange:
        """The range of the stream that the rows are from."""
        return StreamCutRange.from_json({"start": self.start, "end": self.end})


@dataclass(frozen=True, slots=True)
class Landed:
    """The result of a landing: its action, and the table's holding of the interval now."""

    action: Action
    holding: Holding


class Standing(Protocol):
    """A table as it stands at one moment: the notes of its holdings, its history, and its rows."""

    __slots__ = ()

    def notes(self) -> Iterable[Holding]:
        """All notes of commits that succeeded, also those that do not count any more."""
        ...

    def note(self, landing: Landing) -> Holding | None:
        """The note of the interval of a landing, also if it does not count any more."""
        ...

    def counts(self, note: Holding) -> bool:
        """True if the commit of a note is in the history of the table that stands there."""
        ...

    def rows_of(self, landing: Landing) -> int:
        """The number of rows of the interval that are in the table."""
        ...

    def taken_rows(self) -> str | None:
        """The newest change by others, since the last landing or merge, that took rows out, and the way to accept it.

        None: none is known, or it was accepted. Only a table that changes are merged into is asked: its rows belong to
        no interval, and cannot be counted.
        """
        return None


def decide(table: Standing, landing: Landing) -> tuple[Action, Holding | None]:
    """The action for the rows of a landing, and the table's holding of the interval, if nothing is to be done.

    Raises:
        LandingError: the table holds a newer generation, another range of the same one, another stream's interval, or
            events of the range under another name; or somebody has changed the rows of the interval.
    """
    note = table.note(landing)
    if note is None or not table.counts(note):
        _check_events(table, landing)
        # Of an interval that was there once, some rows may be left.
        return (Action.APPEND if note is None else Action.REPLACE), None
    if note.stream != landing.interval.stream:
        raise LandingError(
            f"{landing}: the table holds an interval of this name and consumer from {note.stream}. Rows of two streams "
            "would look alike: name another consumer for one of them. Nothing was changed"
        )
    if note.generation > landing.generation:
        raise LandingError(
            f"{landing}: the table holds generation {note.generation}, landed at {note.landed_at.isoformat()}. An "
            "older one does not replace it. Nothing was changed"
        )
    # Cuts are compared, not their texts: equal cuts may have been written in another order of segments.
    is_same = note.range == landing.cuts
    if note.generation < landing.generation:
        if not is_same:
            _check_events(table, landing)
        return Action.REPLACE, None
    if is_same:
        found = table.rows_of(landing)
        if found != note.rows:
            raise LandingError(
                f"{landing}: {note.rows} rows of it were landed at {note.landed_at.isoformat()}, and {found} are in "
                "the table: somebody has deleted, emptied, added or restored rows. If that was meant, mark this run as "
                f"done. To land all of its rows again, land it as generation {note.generation + 1}, which replaces "
                "those that are left; or bring the rows back, and run it again. Nothing was changed"
            )
        return Action.NOTHING, note
    raise LandingError(
        f"{landing}: the table holds this generation with another range, from {note.range.start} to {note.range.end}, "
        f"and this one is from {landing.cuts.start} to {landing.cuts.end}. If this run is out of date, end it. If its "
        f"range is the right one now, land it as generation {note.generation + 1}, which replaces the rows of this "
        "interval. Nothing was changed"
    )


def _check_events(table: Standing, landing: Landing) -> None:
    """Check that the table has no event of the range under another name of the same consumer.

    So a run that was believed dead, whose range another run has taken over, does not land it a second time.
    """
    if landing.of_times:
        return
    mine = landing.interval
    for note in table.notes():
        if (note.consumer, note.stream) != (mine.consumer, mine.stream) or note.interval == mine.name or not note.rows:
            continue
        if shares_events(note.range, landing.cuts) and table.counts(note):
            raise LandingError(
                f"{landing}: the table holds events of its range under another name, {note.interval!r}, landed at "
                f"{note.landed_at.isoformat()}: they would be there twice. If another run has taken this range over, "
                f"end this one. If {note.interval!r} is the wrong one, land it without rows as generation "
                f"{note.generation + 1}, and run this again. If ranges of this consumer overlap on purpose, as those "
                "of event times do, give `since` and `until` with the range, or event_times=True. If the stream was "
                "deleted and made again, name another consumer. Nothing was changed"
            )


def taken_by(change: str, accepted: object) -> str:
    """The text of a change by others, and the way to accept it.

    Args:
        change: the change.
        accepted: the version or the snapshot that the table has now.
    """
    return f"{change} (if that was meant, set the table's property {ACCEPTED!r} to '{accepted}')"


def not_of_intervals(landing: Landing) -> LandingError:
    """The error of a landing of an interval whose changes are merged into the table."""
    return LandingError(
        f"{landing}: the changes of this interval are merged into the table, whose rows belong to no interval. Land it "
        "into another table. Nothing was changed"
    )
