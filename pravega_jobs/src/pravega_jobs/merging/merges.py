"""One merge without I/O: its range, its results, and the decision whether a table takes it.

A range is merged once. Changes that are merged cannot be taken out again, so another range under the name of an
interval is refused. A deleted row leaves nothing behind with `Deletes.HARD`, so ranges must come in order; with
`Deletes.SOFT` each row keeps the position of its last change, and ranges may come in any order, unless the changes can
lack values (`_unchanged`): then the value of a range that comes late looks like an older one. The ranges
of a table with a history must come in order: it keeps all versions of a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from aiopravega.errors import LandingError
from pravega_jobs.landing.cut_order import at_or_after
from pravega_jobs.landing.rules import Action, Holding, Landing, Standing
from pravega_jobs.merging.rules import MergeRules, TableRules


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


def decide(table: Standing, merge: Merge, found: TableRules | None, *, in_order: bool) -> Holding | None:
    """The holding of the merge's interval; None: the changes are to be merged.

    Args:
        table: the table as it stands.
        merge: the merge.
        found: the rules that the table has.
        in_order: True if the range must lie after all ranges that the table holds.

    Raises:
        LandingError: the table is merged by other rules, or from another stream, holds another range of the
            interval, or holds a range that does not lie before this one; others have taken rows out; or it was taken
            back to before a merge of a range that does not lie after this one.
    """
    landing, end = merge.landing, "Nothing was changed"
    table.note(landing)  # fails, if it is gone
    held, undone = list[Holding](), list[Holding]()
    for note in table.notes():
        (held if table.counts(note) else undone).append(note)
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
    taken = table.taken_rows() if held else None
    if taken is not None:
        raise LandingError(
            f"{merge}: others have taken rows out of the table, or changed them: {taken}. Later changes would bring "
            f"back some of these rows, and not others. Take the table back to before that, or merge all ranges into a "
            f"new table. {end}"
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
    _check_undone(undone, merge)
    if in_order:
        _check_order(held, merge)
    return None


def _check_undone(undone: Sequence[Holding], merge: Merge) -> None:
    """Check that no range before this one was merged once and is not in the table any more."""
    landing = merge.landing
    before = [
        each
        for each in undone
        if each.identity != landing.interval and not at_or_after(each.range.start, landing.cuts.end)
    ]
    if before:
        names = ", ".join(repr(each.interval) for each in sorted(before, key=lambda each: each.landed_at))
        raise LandingError(
            f"{merge}: the table was restored, rolled back or made again, and lacks the changes of {names}, which were "
            "merged before. Merge these again first, in their order (`pravega cuts reopen`, and run them); or bring "
            "the table back to its newest state; or merge all ranges into a new table. Nothing was changed"
        )


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
            "ranges in their order; if they cannot, use a table with deletes='soft', ghosts='keep' and no history, and "
            "changes without _unchanged, or plain rows that order_by orders: it takes them in any order. Nothing was "
            "changed"
        )
