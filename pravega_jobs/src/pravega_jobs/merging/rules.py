"""Rules of a merge, without I/O: the ranges that a table takes, and the treatment of their changes.

A range is merged once. Changes that are merged cannot be taken out again, so another range under the name of an
interval is refused. A deleted row leaves nothing behind with `Deletes.HARD`, so ranges must come in order; with
`Deletes.SOFT` each row keeps the position of its last change, and ranges may come in any order, unless the changes can
lack values (`_unchanged`): then the value of a range that comes late looks like an older one. The ranges
of a table with a history must come in order: it keeps all versions of a row.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Self, TypeVar

from aiopravega.cuts import END_OF_SEGMENT, StreamCut
from aiopravega.errors import ConfigurationError, LandingError, LedgerError
from pravega_jobs.landing.rules import MERGED, Action, Holding, Landing

# The columns of a merged table beside the source's: the position of a row's last change; with soft deletes, the mark
# of a delete.
SEQUENCE_COLUMN: Final = "_sequence"
DELETED_COLUMN: Final = "_deleted"
# The columns that a table with a history has, beside `_sequence`: the times between which a version was the row, the
# mark of the current version, and the position of the change that closed it.
FROM_COLUMN: Final = "_valid_from"
TO_COLUMN: Final = "_valid_to"
CURRENT_COLUMN: Final = "_current"
END_COLUMN: Final = "_end_sequence"
HISTORY_COLUMNS: Final = (FROM_COLUMN, TO_COLUMN, CURRENT_COLUMN, END_COLUMN)
# The column of changes that is needed to know when a version began, and its type.
TIME_COLUMNS: Final = {"_source_ts": "timestamp"}
# The columns of changes that are needed to find ghosts, beside `_sequence`, and their types.
GHOST_COLUMNS: Final = {"_op": "string", "_snapshot": "string", "_ingested_at": "timestamp"}


Choice = TypeVar("Choice", bound=StrEnum)


class Deletes(StrEnum):
    """The effect of a delete on a row."""

    HARD = "hard"
    SOFT = "soft"


class Evolution(StrEnum):
    """The treatment of columns of the changes that the table lacks."""

    FAIL = "fail"
    IGNORE = "ignore"
    ADD = "add"


class Unsent(StrEnum):
    """The treatment of an update that lacks values (TOAST), of a row that the table lacks."""

    FAIL = "fail"
    NULL = "null"


class Ghosts(StrEnum):
    """The treatment of ghosts: rows that a snapshot of the database lacks, although no delete of them is known."""

    KEEP = "keep"
    REMOVE = "remove"


class RowHistory(StrEnum):
    """The history of a row that changes: none, or every version (a slowly changing dimension, type 2)."""

    NONE = "none"
    SCD2 = "scd2"


def choice(given: str, choices: type[Choice], name: str) -> Choice:
    """The value of an argument that has a few texts as its choices.

    Raises:
        ConfigurationError: the text is none of them.
    """
    try:
        return choices(given)
    except ValueError:
        raise ConfigurationError(f"{name} is {', '.join(choices)}, not {given!r}") from None


@dataclass(frozen=True, slots=True)
class TableRules:
    """Rules that are the same for all merges into one table; the table has them as a property."""

    key: tuple[str, ...]
    deletes: Deletes
    history: RowHistory = RowHistory.NONE

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read what `to_text` wrote.

        Raises:
            LedgerError: the text is damaged, or of another release.
        """
        try:
            found = json.loads(text)
            # Tables that were made before there was a history do not name it.
            return cls(
                tuple(found["key"]), Deletes(found["deletes"]), RowHistory(found.get("history", RowHistory.NONE))
            )
        except (ValueError, KeyError, TypeError) as error:
            raise LedgerError(f"the table's property {MERGED} is not of this release: {text!r}") from error

    def to_text(self) -> str:
        """The rules as one JSON object."""
        return json.dumps({"key": self.key, "deletes": self.deletes.value, "history": self.history.value})

    def __str__(self) -> str:
        return f"key {', '.join(self.key)}, {self.deletes} deletes, history {self.history}"


@dataclass(frozen=True, slots=True)
class MergeRules:
    """Rules that a merge follows; `of` takes them as users write them.

    Args:
        key: the columns that identify a row.
        deletes: the effect of a delete on a row.
        new_columns: the treatment of columns that the table lacks.
        unsent: the treatment of an update that lacks values, of a row that the table lacks.
        ghosts: the treatment of rows that a later snapshot lacks.
        history: the versions of a row that stay.

    Raises:
        ConfigurationError: the key is empty or has a column twice, or `history` does not go with `deletes` or `ghosts`.
    """

    key: tuple[str, ...]
    deletes: Deletes = Deletes.HARD
    new_columns: Evolution = Evolution.FAIL
    unsent: Unsent = Unsent.FAIL
    ghosts: Ghosts = Ghosts.KEEP
    history: RowHistory = RowHistory.NONE

    def __post_init__(self) -> None:
        if not self.key or not all(self.key) or len(set(self.key)) < len(self.key):
            raise ConfigurationError(f"key must name the columns that identify a row, each once, not {self.key}")
        if self.keeps_history and self.keeps_deleted:
            raise ConfigurationError(
                "history='scd2' keeps the last version of a deleted row, closed: leave out deletes='soft'"
            )
        if self.keeps_history and self.removes_ghosts:
            raise ConfigurationError(
                "history='scd2' cannot remove ghosts, since no event says when they were deleted: leave out "
                "ghosts='remove', and close what pyspark_pravega.cdc.ghosts names yourself"
            )

    @classmethod
    def of(
        cls,
        key: Sequence[str] | str,
        *,
        deletes: str = Deletes.HARD,
        new_columns: str = Evolution.FAIL,
        unsent: str = Unsent.FAIL,
        ghosts: str = Ghosts.KEEP,
        history: str = RowHistory.NONE,
    ) -> Self:
        """The rules that texts name; a key of one column may be a text.

        Raises:
            ConfigurationError: a text is none of the choices of its rule, or the rules do not go together.
        """
        return cls(
            (key,) if isinstance(key, str) else tuple(key),
            choice(deletes, Deletes, "deletes"),
            choice(new_columns, Evolution, "new_columns"),
            choice(unsent, Unsent, "unsent"),
            choice(ghosts, Ghosts, "ghosts"),
            choice(history, RowHistory, "history"),
        )

    @property
    def of_table(self) -> TableRules:
        """The rules that are the same for all merges into one table."""
        return TableRules(self.key, self.deletes, self.history)

    @property
    def keeps_deleted(self) -> bool:
        """True if deleted rows stay, marked."""
        return self.deletes is Deletes.SOFT

    @property
    def keeps_history(self) -> bool:
        """True if every version of a row stays."""
        return self.history is RowHistory.SCD2

    @property
    def removes_ghosts(self) -> bool:
        """True if rows that a later snapshot lacks are removed."""
        return self.ghosts is Ghosts.REMOVE


@dataclass(frozen=True, slots=True)
class Merge:
    """The changes of one interval, on their way into a table, and the rules that they follow.

    `snapshot`: the position of the newest snapshot that ends in this range, if ghosts are removed: rows of the table
    that are older are gone, unless the changes have them.
    """

    landing: Landing
    rules: MergeRules
    snapshot: bytes | None = None

    def __str__(self) -> str:
        return f"the merge of {self.landing.interval}"


@dataclass(slots=True)
class Counts:
    """Counts of the changes of a range: each change is in one of these counts but the last two.

    One change for each key is counted; with a history, all changes. `older`: the table had this change of the row, or a
    newer one. `absent`: the delete of a row that the table did not have. `same`: in a history, the values of the
    version before. `ghosts`: rows of the table that were removed because a snapshot does not have them.
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
    """The result of a merge: its action, the table's holding of the interval now, and the counts of the changes."""

    action: Action
    holding: Holding
    counts: Counts = field(default_factory=Counts)


def decide(held: Sequence[Holding], merge: Merge, found: TableRules | None, *, in_order: bool) -> Holding | None:
    """The holding of the merge's interval; None: the changes are to be merged.

    Args:
        held: all holdings of the table.
        merge: the merge.
        found: the rules that the table has.
        in_order: True if the range must lie after all ranges that the table holds.

    Raises:
        LandingError: the table is merged by other rules, or from another stream, holds another range of the
            interval, or holds a range that does not lie before this one.
    """
    landing, end = merge.landing, "Nothing was changed"
    if found is not None and found != merge.rules.of_table:
        raise LandingError(
            f"{merge}: the table is merged with {found}, and this merge has {merge.rules.of_table}. Merge as the table "
            f"is, or all ranges of the stream into a new table, by a consumer of its own. {end}"
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
    """Check that a range lies after all ranges that the table holds."""
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
    """True if `start` surely lies after `end`, or equals it. No server is asked for the successors of segments.

    Segments that only one of the cuts has are compared by their epochs: newer ones came after older ones.
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
