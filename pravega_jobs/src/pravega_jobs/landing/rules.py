"""Rules of a landing, without I/O: the holdings of a table, and the action for rows that arrive.

A table holds an interval once: the rows of one range, of one generation. The same range again adds nothing. A newer
generation replaces the rows of its own interval. All other landings are refused: a table cannot know which of two
ranges is the right one.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict

from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError, LandingError
from aiopravega.ledger import Interval
from aiopravega.ledger.stored_json import StoredStream, StoredTime, read_value, with_checksum

VERSION: Final = 1
# The columns that every landed row has.
CONSUMER_COLUMN: Final = "_consumer"
INTERVAL_COLUMN: Final = "_interval"
OWN_COLUMNS: Final = (CONSUMER_COLUMN, INTERVAL_COLUMN)
# The property of a table that changes are merged into, which says how.
MERGED: Final = "pravega.merge"


class Action(StrEnum):
    """The effect of a landing on a table."""

    APPEND = "append"
    REPLACE = "replace"
    MERGE = "merge"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Landing:
    """The rows of one interval, on their way into a table: the interval, its range, and its generation.

    Raises:
        ConfigurationError: the generation is not 1 or more, or the range is of another stream, or has an open end.
    """

    interval: Interval
    cuts: StreamCutRange
    generation: int = 1

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
    """A table's stored record that it has an interval: the range as two texts of cuts, generation, rows, and time."""

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
        return with_checksum(self.model_dump_json())

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


def decide(held: Holding | None, landing: Landing) -> Action:
    """The action for the rows of a landing, given the table's holding of the consumer's interval of this name.

    Raises:
        LandingError: the table holds a newer generation, another range of the same one, or another stream's interval.
    """
    if held is None:
        return Action.APPEND
    if held.stream != landing.interval.stream:
        raise LandingError(
            f"{landing}: the table holds an interval of this name and consumer from {held.stream}. Rows of two streams "
            "would look alike: name another consumer for one of them. Nothing was changed"
        )
    if held.generation > landing.generation:
        raise LandingError(
            f"{landing}: the table holds generation {held.generation}, landed at {held.landed_at.isoformat()}. An "
            "older one does not replace it. Nothing was changed"
        )
    if held.generation < landing.generation:
        return Action.REPLACE
    # Cuts are compared, not their texts: equal cuts may have been written in another order of segments.
    if held.range == landing.cuts:
        return Action.NOTHING
    raise LandingError(
        f"{landing}: the table holds this generation with another range, from {held.range.start} to {held.range.end}, "
        f"and this one is from {landing.cuts.start} to {landing.cuts.end}. If this run is out of date, end it. If its "
        f"range is the right one now, land it as generation {held.generation + 1}, which replaces the rows of this "
        "interval. Nothing was changed"
    )


def check_columns(names: list[str]) -> None:
    """Check that the rows leave room for the columns of a landing.

    Raises:
        LandingError: they have columns of these names, or two of one name.
    """
    lower = [name.lower() for name in names]
    taken = [name for name in OWN_COLUMNS if name in lower]
    if taken:
        raise LandingError(f"the rows have a column {', '.join(taken)}, which every landed row gets: rename or drop it")
    twice = sorted({name for name in names if lower.count(name.lower()) > 1})
    if twice:
        raise LandingError(f"the rows have {', '.join(twice)} twice: a table has each column once")
