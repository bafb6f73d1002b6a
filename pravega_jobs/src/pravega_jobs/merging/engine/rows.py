"""The rows of one file of a table, and changes, as the rows that replace the file's: no I/O.

A row takes a change only if the change is newer, by `_sequence`. A row without `_sequence` is older than any change. A
change at the position of its row is one that Debezium repeats, or another one that the database's log has there: the
row takes it if it says something else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import LandingError
from pravega_jobs.merging.engine.chunks import Chunk, Mask
from pravega_jobs.merging.merges import Counts, Merge
from pravega_jobs.merging.rules import CURRENT_COLUMN, DELETED_COLUMN, END_COLUMN, SEQUENCE_COLUMN, Unsent

Numbers = npt.NDArray[np.int64]
_ROW: Final = "row of the file"
_CHANGE: Final = "number of the change"


@dataclass(frozen=True, slots=True)
class Matches:
    """Pairs of a row of a file and the change of its key, both as numbers.

    `newer` is a mask of the changes that are newer, `level` of those that are at the position of their row.
    """

    rows: Numbers
    changes: Numbers
    newer: Mask
    level: Mask

    def within(self, first: int, count: int) -> "Matches":
        """The pairs of some rows, whose first one becomes row 0."""
        at = np.flatnonzero((self.rows >= first) & (self.rows < first + count))
        return Matches(self.rows[at] - first, self.changes[at], self.newer[at], self.level[at])


def match(found: pa.Table, chunk: Chunk, merge: Merge) -> Matches:
    """Find the rows of a file that have the keys of changes.

    Args:
        found: the key and `_sequence` of all rows of the file.
        chunk: the changes.
        merge: the merge.

    Raises:
        LandingError: a key is in the file twice, or its positions are of another kind than the changes'.
    """
    key = list(merge.rules.key)
    changed = chunk.values.select(key).append_column(_CHANGE, pa.array(np.arange(len(chunk))))
    pairs = joined(found.select(key).append_column(_ROW, pa.array(np.arange(found.num_rows))), changed, merge)
    rows, changes = pairs[_ROW].to_numpy(), pairs[_CHANGE].to_numpy()
    times = np.bincount(changes, minlength=len(chunk))
    if (times > 1).any():
        raise twice(chunk, int(np.argmax(times > 1)), merge)
    old, new = found[SEQUENCE_COLUMN].take(rows), chunk.values[SEQUENCE_COLUMN].take(changes)
    check_kind(old, pc.binary_length(new), str(merge))
    newer = np.asarray(pc.fill_null(pc.greater(new, old), fill_value=True), bool)
    return Matches(rows, changes, newer, np.asarray(pc.fill_null(pc.equal(new, old), fill_value=False), bool))


def with_level(rows: pa.Table, chunk: Chunk, matches: Matches, merge: Merge) -> Matches:
    """The same pairs; changes at the position of their row are newer if they delete it or have another value.

    Args:
        rows: all rows of the file, with the table's columns.
        chunk: the changes.
        matches: the result of `match`.
        merge: the merge.
    """
    at = np.flatnonzero(matches.level)
    of_rows, changes = matches.rows[at], matches.changes[at]
    differs = chunk.deletes[changes] & ~deleted_of(rows, merge)[of_rows]
    for name in rows.column_names:
        if name not in (*merge.rules.key, SEQUENCE_COLUMN):
            new, old = chunk.values[name].take(pa.array(changes)), rows[name].take(pa.array(of_rows))
            differs |= chunk.has(name)[changes] & differ(new, old)
    newer = matches.newer.copy()
    newer[at] = differs
    return Matches(matches.rows, matches.changes, newer, matches.level)


def differ(new: pa.ChunkedArray, old: pa.ChunkedArray) -> Mask:
    """A mask of the values that differ; null and NaN are values."""
    try:
        equal = pc.fill_null(pc.equal(new, old), fill_value=False)
    except pa.ArrowNotImplementedError:  # structs, lists
        return np.array([one != other for one, other in zip(new.to_pylist(), old.to_pylist(), strict=True)], bool)
    equal = pc.or_(equal, pc.and_(pc.is_null(new), pc.is_null(old)))
    if pa.types.is_floating(new.type):
        both = pc.and_(pc.is_nan(new), pc.is_nan(old))
        equal = pc.or_(equal, pc.fill_null(both, fill_value=False))
    return ~np.asarray(equal, bool)


def joined(left: pa.Table, right: pa.Table, merge: Merge) -> pa.Table:
    """Pairs of rows of the same key. A hash table is made of the right rows: take the fewer.

    Raises:
        LandingError: rows cannot be found by columns of these types.
    """
    key = list(merge.rules.key)
    try:
        return left.join(right, key, join_type="inner")
    except pa.ArrowInvalid as error:
        raise LandingError(f"{merge}: rows cannot be found by the key {key}: {error}. Nothing was changed") from error


def check_kind(positions: pa.ChunkedArray, lengths: "pa.ChunkedArray | int", who: str) -> None:
    """Check that positions of the table can be compared with positions of changes, by their length.

    Raises:
        LandingError: the lengths differ.
    """
    if pc.any(pc.not_equal(pc.binary_length(positions), lengths)).as_py():
        raise two_kinds(who)


def two_kinds(who: str) -> LandingError:
    """The error of positions that cannot be compared."""
    return LandingError(
        f"{who}: positions ({SEQUENCE_COLUMN}) of the table and of the changes have different lengths, so they come "
        "from databases of two kinds and cannot be compared: merge into a new table. Nothing was changed"
    )


def twice(chunk: Chunk, change: int, merge: Merge) -> LandingError:
    """The error for a key that the table has twice."""
    return two_rows(chunk.values.select(list(merge.rules.key)).slice(change, 1).to_pylist()[0], merge)


def two_rows(key: Mapping[str, Any], merge: Merge) -> LandingError:
    """The error for a key that the table has twice."""
    return LandingError(f"{merge}: the table has two rows of the key {key}: remove one. Nothing was changed")


def replaced(rows: pa.Table, chunk: Chunk, matches: Matches, merge: Merge) -> pa.Table:
    """Rows of a file after the changes that are newer.

    Args:
        rows: the rows, with the table's columns.
        chunk: the changes.
        matches: the result of `match`, within these rows.
        merge: the merge.
    """
    numbers, changes = matches.rows[matches.newer], matches.changes[matches.newer]
    if not len(numbers):
        return rows
    columns = []
    for name in rows.column_names:
        takes = chunk.has(name)[changes]
        source = np.arange(rows.num_rows)
        source[numbers[takes]] = rows.num_rows + np.arange(np.count_nonzero(takes))
        new = chunk.values[name].take(pa.array(changes[takes]))
        both = pa.chunked_array([*rows[name].chunks, *new.chunks], type=rows.schema.field(name).type)
        columns.append(both.take(pa.array(source)))
    result = pa.table(columns, schema=rows.schema)
    if merge.rules.keeps_deleted:
        return result
    stay = np.ones(rows.num_rows, bool)
    stay[numbers[chunk.deletes[changes]]] = False
    return result.filter(pa.array(stay))


def inserted(chunk: Chunk, matched: Mask, merge: Merge) -> pa.Table:
    """The new rows: changes whose key the table does not have.

    Raises:
        LandingError: a value was not sent, and the table does not have it either.
    """
    new = ~matched if merge.rules.keeps_deleted else ~matched & ~chunk.deletes
    check_unsent({name: new & lacks & ~chunk.deletes for name, lacks in chunk.lacking.items()}, merge)
    return chunk.values.filter(pa.array(new))


def check_unsent(unsent: Mapping[str, Mask], merge: Merge) -> None:
    """Check that all values are known, unless null may be taken for unknown values.

    Args:
        unsent: by column, a mask of the changes that lack a value that the table does not have either.
        merge: the merge.

    Raises:
        LandingError: a value is not known.
    """
    names = sorted(name for name, rows in unsent.items() if rows.any())
    if not names or merge.rules.unsent is Unsent.NULL:
        return
    raise not_sent(names, int(np.logical_or.reduce([unsent[name] for name in names]).sum()), merge)


def not_sent(names: Sequence[str], count: int, merge: Merge) -> LandingError:
    """The error of updates that lack values of columns which the table does not have either."""
    return LandingError(
        f"{merge}: {count} updates do not have the value of {', '.join(names)}, since it did not change "
        "(TOAST), and the table does not have their rows. Merge the ranges from Debezium's snapshot on, set "
        "REPLICA IDENTITY FULL, or take null for it with unsent='null'. Nothing was changed"
    )


def count(chunk: Chunk, matched: Mask, newer: Mask, was_deleted: Mask, counts: Counts) -> None:
    """Count what happened to the changes of a chunk.

    Args:
        chunk: the changes.
        matched: a mask of the changes that found a row.
        newer: a mask of the changes that were newer than their row.
        was_deleted: a mask of the changes whose row was marked as deleted.
        counts: the counts to add to.
    """
    deletes = chunk.deletes
    counts.older += int((matched & ~newer).sum())
    counts.deleted += int((newer & deletes & ~was_deleted).sum())
    counts.absent += int(((~matched | (newer & was_deleted)) & deletes).sum())
    counts.inserted += int(((~matched | (newer & was_deleted)) & ~deletes).sum())
    counts.updated += int((newer & ~deletes & ~was_deleted).sum())


def deleted_of(rows: pa.Table, merge: Merge) -> Mask:
    """A mask of the rows of a file that are marked as deleted."""
    if not merge.rules.keeps_deleted:
        return np.zeros(rows.num_rows, bool)
    return np.asarray(pc.fill_null(rows[DELETED_COLUMN], fill_value=False), bool)


def older(found: pa.Table, position: bytes, who: str) -> Mask:
    """A mask of the rows of a file that are older than a position, and neither marked as deleted nor closed versions.

    Args:
        found: `_sequence` of all rows of the file, and `_deleted`, `_current` and `_end_sequence`, if the table has it.
        position: a position in the database's log.
        who: the beginning of the error's text.

    Raises:
        LandingError: the positions are of another kind.
    """
    positions = found[SEQUENCE_COLUMN]
    check_kind(positions, len(position), who)
    before: Mask = np.asarray(pc.fill_null(pc.less(positions, position), fill_value=True), bool)
    if END_COLUMN in found.column_names:
        before &= np.asarray(pc.fill_null(found[CURRENT_COLUMN], fill_value=True), bool)
    if DELETED_COLUMN not in found.column_names:
        return before
    before &= ~np.asarray(pc.fill_null(found[DELETED_COLUMN], fill_value=False), bool)
    return before


def without(rows: pa.Table, gone: Mask, merge: Merge) -> pa.Table:
    """Rows of a file without some of them; with soft deletes, those stay, marked."""
    if not merge.rules.keeps_deleted:
        return rows.filter(pa.array(~gone))
    marked = pc.or_(pc.fill_null(rows[DELETED_COLUMN], fill_value=False), pa.array(gone))
    return rows.set_column(rows.column_names.index(DELETED_COLUMN), rows.schema.field(DELETED_COLUMN), marked)
