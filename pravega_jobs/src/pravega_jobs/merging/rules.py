"""What a merge may do to a table: the rules, without I/O.

A range is merged once. Changes that are merged cannot be taken out again, so another range under the name of an
interval is refused. A deleted row leaves nothing behind with `Deletes.HARD`, so ranges must come in order; with
`Deletes.SOFT` each row keeps the position of its last change, and ranges may come in any order, unless the changes can
lack values (`_unchanged`): then the value of a range that comes late looks like an older one. A table with a history
keeps all versions of a row, so its ranges must come in order, too.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Self

from aiopravega.cuts import END_OF_SEGMENT, StreamCut
from aiopravega.errors import ConfigurationError, LandingError, LedgerError
from pravega_jobs.landing.rules import MERGED, Action, Holding, Landing

# The columns of a merged table beside those of the source: the position of a row's last change; with soft deletes,
# whether that was a delete.
SEQUENCE_COLUMN: Final = "_sequence"
DELETED_COLUMN: Final = "_deleted"
# The columns that a table with a history has, beside `_sequence`: from when to when a version was the row, whether it
# still is, and the position of the change that closed it.
FROM_COLUMN: Final = "_valid_from"
TO_COLUMN: Final = "_valid_to"
CURRENT_COLUMN: Final = "_current"
END_COLUMN: Final = "_end_sequence"
HISTORY_COLUMNS: Final = (FROM_COLUMN, TO_COLUMN, CURRENT_COLUMN, END_COLUMN)
# The column of changes that is needed to know when a version began, and its type.
TIME_COLUMNS: Final = {"_source_ts": "timestamp"}
# The columns of changes that are needed to find ghosts, beside `_sequence`, and their types.
GHOST_COLUMNS: Final = {"_op": "string", "_snapshot": "string", "_ingested_at": "timestamp"}


class Deletes(StrEnum):
    """What a delete does to a row."""

    HARD = "hard"
    SOFT = "soft"


class Evolution(StrEnum):
    """What is done with columns of the changes that the table does not have."""

    FAIL = "fail"
    IGNORE = "ignore"
    ADD = "add"


class Unsent(StrEnum):
    """What is done with an update that lacks values (TOAST), of a row that the table does not have."""

    FAIL = "fail"
    NULL = "null"


class Ghosts(StrEnum):
    """What is done with rows that a snapshot of the database does not have, although no delete of them is known."""

    KEEP = "keep"
    REMOVE = "remove"


class History(StrEnum):
    """What is kept of a row that changes: nothing, or every version of it (a slowly changing dimension, type 2)."""

    NONE = "none"
    SCD2 = "scd2"


def check_history(history: str, deletes: str, ghosts: str) -> None:
    """Check that what a merge keeps of rows fits together. What is none of the choices passes.

    Args:
        history: what is kept of a row that changes.
        deletes: what a delete does to a row.
        ghosts: what is done with rows that a snapshot does not have.

    Raises:
        ConfigurationError: a history has soft deletes, or is to be without ghosts.
    """
    if history != History.SCD2:
        return
    if deletes == Deletes.SOFT:
        raise ConfigurationError(
            "history='scd2' keeps the last version of a deleted row, closed: leave out deletes='soft'"
        )
    if ghosts == Ghosts.REMOVE:
        raise ConfigurationError(
            "history='scd2' cannot remove ghosts, since no event says when they were deleted: leave out "
            "ghosts='remove', and close what pyspark_pravega.cdc.ghosts names yourself"
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """What all merges into one table must agree on; the table has it as a property."""

    key: tuple[str, ...]
    deletes: Deletes
    history: History = History.NONE

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read what `to_text` wrote.

        Raises:
            LedgerError: it is damaged, or of another release.
        """
        try:
            found = json.loads(text)
            # Tables that were made before there was a history do not name it.
            return cls(tuple(found["key"]), Deletes(found["deletes"]), History(found.get("history", History.NONE)))
        except (ValueError, KeyError, TypeError) as error:
            raise LedgerError(f"the table's property {MERGED} is not of this release: {text!r}") from error

    def to_text(self) -> str:
        """One JSON object."""
        return json.dumps({"key": self.key, "deletes": self.deletes.value, "history": self.history.value})

    def __str__(self) -> str:
        return f"key {', '.join(self.key)}, {self.deletes} deletes, history {self.history}"


@dataclass(frozen=True, slots=True)
class Merge:
    """The changes of one interval, on their way into a table, and the rules that they follow.

    `snapshot`: the position of the newest snapshot that ends in this range, if ghosts are removed: rows of the table
    that are older are gone, unless the changes have them.

    Raises:
        ConfigurationError: there is no key, or a column is in it twice.
    """

    landing: Landing
    settings: Settings
    evolution: Evolution = Evolution.FAIL
    unsent: Unsent = Unsent.FAIL
    snapshot: bytes | None = None

    def __post_init__(self) -> None:
        if not self.settings.key or len(set(self.settings.key)) < len(self.settings.key):
            raise ConfigurationError(f"{self}: it needs the columns of the key, each once, not {self.settings.key}")

    def __str__(self) -> str:
        return f"the merge of {self.landing.interval}"

    @property
    def keeps_deleted(self) -> bool:
        """Whether deleted rows stay, marked."""
        return self.settings.deletes is Deletes.SOFT

    @property
    def keeps_history(self) -> bool:
        """Whether every version of a row stays."""
        return self.settings.history is History.SCD2


@dataclass(slots=True)
class Counts:
    """What happened to the changes of a range: each is in one of these counts but the last two.

    They are one for each key; all of them, if the table has a history. `older`: the table had this change of the row,
    or a newer one. `absent`: the delete of a row that it did not have. `same`: in a history, the values of the version
    before. `ghosts`: rows of the table that were removed because a snapshot does not have them.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    older: int = 0
    absent: int = 0
    same: int = 0
    ghosts: int = 0
    new_columns: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge did, what the table holds of the interval now, and what happened to the changes."""

    action: Action
    holding: Holding
    counts: Counts = field(default_factory=Counts)


def decide(held: Sequence[Holding], merge: Merge, found: Settings | None, *, in_order: bool) -> Holding | None:
    """What the table holds of the interval already; None: merge it.

    Args:
        held: all that the table holds.
        merge: the merge.
        found: the settings that the table has.
        in_order: whether the range must lie after all that the table holds.

    Raises:
        LandingError: the table is merged by other settings, or from another stream, holds another range of the
            interval, or holds a range that does not lie before this one.
    """
    landing, end = merge.landing, "Nothing was changed"
    if found is not None and found != merge.settings:
        raise LandingError(
            f"{merge}: the table is merged with {found}, and this merge has {merge.settings}. Merge as the table is, "
            f"or all ranges of the stream into a new table, by a consumer of its own. {end}"
        )
    streams = {each.stream for each in held} - {landing.interval.stream}
    if streams:
        raise LandingError(
            f"{merge}: the table holds changes of {', '.join(map(str, streams))}. Positions of changes of two streams "
            f"cannot be compared: merge them into two tables. {end}"
        )
    for each in held:
        if each.identity == landing.interval:
            if each.range == landing.cuts:
                return each
            raise LandingError(
                f"{merge}: the table holds this interval with another range, from {each.range.start} to "
                f"{each.range.end}, and this one is from {landing.cuts.start} to {landing.cuts.end}. Merged changes "
                "cannot be taken out again. If the new range has more events, merge those under a name of their own; "
                f"else merge all ranges into a new table. {end}"
            )
    if in_order:
        _check_order(held, merge)
    return None


def _check_order(held: Sequence[Holding], merge: Merge) -> None:
    """Check that a range lies after all that the table holds."""
    before, left = [merge.landing.cuts.start], list(held)
    while before and left:
        start = before.pop()
        reached = [each for each in left if at_or_after(start, each.range.end)]
        left = [each for each in left if each not in reached]
        before += [each.range.start for each in reached]
    if left:
        late = left[0]
        raise LandingError(
            f"{merge}: its range, from {merge.landing.cuts.start}, does not lie after {late.interval!r}, which the "
            f"table holds up to {late.range.end}. A deleted row, or a value that was not sent, could come back. Merge "
            "ranges in their order; if they cannot, use a table with deletes='soft', changes without _unchanged, "
            "ghosts='keep' and no history, which takes them in any order. Nothing was changed"
        )


def at_or_after(start: StreamCut, end: StreamCut) -> bool:
    """Whether one cut surely lies after another one, or where it is. It asks no server which segments follow which.

    Segments that only one of the cuts has are compared by their epochs: the newer ones came after the older ones.
    """
    if start == end:
        return True
    first, last = start.positions, end.positions
    if any(_offset(first[each]) < _offset(last[each]) for each in first.keys() & last.keys()):
        return False
    newer, older = first.keys() - last.keys(), last.keys() - first.keys()
    return min((each.epoch for each in newer), default=0) > max((each.epoch for each in older), default=-1)


def _offset(offset: int) -> float:
    return math.inf if offset == END_OF_SEGMENT else offset
