"""The rows of one file of a table, and changes, as the rows that replace the file's: no I/O.

A row takes a change only if the change is newer, by `_sequence`. A row without `_sequence` is older than any change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import LandingError
from pravega_jobs.merging.engine.chunks import Chunk, Rows
from pravega_jobs.merging.rules import DELETED_COLUMN, SEQUENCE_COLUMN, Counts, Merge, Unsent

Numbers = npt.NDArray[np.int64]
_ROW: Final = "row of the file"
_CHANGE: Final = "number of the change"


@dataclass(frozen=True, slots=True)
class Matches:
    """Pairs of a row of a file and the change of its key: both as numbers, and whether the change is newer."""

    rows: Numbers
    changes: Numbers
    newer: Rows


def match(found: pa.Table, chunk: Chunk, merge: Merge) -> Matches:
    """Find the rows of a file that changes are of.

    Args:
        found: key and `_sequence` of all rows of the file.
        chunk: the changes.
        merge: what is merged.

    Raises:
        LandingError: a key is in the file twice, or the positions are of another kind than those of the changes.
    """
    key = list(merge.settings.key)
    left = chunk.values.select(key).append_column(_CHANGE, pa.array(np.arange(len(chunk))))
    pairs = joined(left, found.select(key).append_column(_ROW, pa.array(np.arange(found.num_rows))), merge)
    rows, changes = pairs[_ROW].to_numpy(), pairs[_CHANGE].to_numpy()
    if len(np.unique(changes)) < len(changes):
        numbers, times = np.unique(changes, return_counts=True)
        raise twice(chunk, int(numbers[times > 1][0]), merge)
    old, new = found[SEQUENCE_COLUMN].take(rows), chunk.values[SEQUENCE_COLUMN].take(changes)
    check_kind(old, pc.binary_length(new), str(merge))
    return Matches(rows, changes, np.asarray(pc.fill_null(pc.greater(new, old), fill_value=True), bool))


def joined(left: pa.Table, right: pa.Table, merge: Merge) -> pa.Table:
    """Pairs of rows of the same key.

    Raises:
        LandingError: rows cannot be found by columns of these types.
    """
    key = list(merge.settings.key)
    try:
        return left.join(right, key, join_type="inner")
    except pa.ArrowInvalid as error:
        raise LandingError(f"{merge}: rows cannot be found by the key {key}: {error}. Nothing was changed") from error


def check_kind(positions: pa.ChunkedArray, lengths: "pa.ChunkedArray | int", who: str) -> None:
    """Check that positions of the table can be compared with those of changes, by their length.

    Raises:
        LandingError: they cannot.
    """
    if pc.any(pc.not_equal(pc.binary_length(positions), lengths)).as_py():
        raise LandingError(
            f"{who}: positions ({SEQUENCE_COLUMN}) of the table and of the changes have different lengths, so they "
            "come from databases of two kinds and cannot be compared: merge into a new table. Nothing was changed"
        )


def twice(chunk: Chunk, change: int, merge: Merge) -> LandingError:
    """The error for a key that the table has twice."""
    row = chunk.values.select(list(merge.settings.key)).slice(change, 1).to_pylist()[0]
    return LandingError(f"{merge}: the table has two rows of the key {row}: remove one. Nothing was changed")


def replaced(rows: pa.Table, chunk: Chunk, matches: Matches, merge: Merge) -> pa.Table:
    """The rows of a file after the changes that are newer.

    Args:
        rows: all rows of the file, with the table's columns.
        chunk: the changes.
        matches: what `match` found.
        merge: what is merged.
    """
    numbers, changes = matches.rows[matches.newer], matches.changes[matches.newer]
    columns = []
    for name in rows.column_names:
        source = np.arange(rows.num_rows)
        takes = chunk.has(name)[changes]
        source[numbers[takes]] = rows.num_rows + changes[takes]
        both = pa.chunked_array([*rows[name].chunks, *chunk.values[name].chunks], type=rows.schema.field(name).type)
        columns.append(both.take(pa.array(source)))
    result = pa.table(columns, names=rows.column_names)
    if merge.keeps_deleted:
        return result
    stay = np.ones(rows.num_rows, bool)
    stay[numbers[chunk.deletes[changes]]] = False
    return result.filter(pa.array(stay))


def inserted(chunk: Chunk, matched: Rows, merge: Merge) -> pa.Table:
    """The rows of changes whose key the table does not have.

    Raises:
        LandingError: a value was not sent, and the table does not have it either.
    """
    new = ~matched if merge.keeps_deleted else ~matched & ~chunk.deletes
    check_unsent({name: new & lacks & ~chunk.deletes for name, lacks in chunk.lacking.items()}, merge)
    return chunk.values.filter(pa.array(new))


def check_unsent(unsent: Mapping[str, Rows], merge: Merge) -> None:
    """Check that all values are known, unless null may be taken for those that are not.

    Args:
        unsent: by column, which changes lack a value that the table does not have either.
        merge: what is merged.

    Raises:
        LandingError: a value is not known.
    """
    names = sorted(name for name, rows in unsent.items() if rows.any())
    if not names or merge.unsent is Unsent.NULL:
        return
    count = int(np.logical_or.reduce([unsent[name] for name in names]).sum())
    raise LandingError(
        f"{merge}: {count} updates do not have the value of {', '.join(names)}, since it did not change "
        "(TOAST), and the table does not have their rows. Merge the ranges from Debezium's snapshot on, set "
        "REPLICA IDENTITY FULL, or take null for it with unsent='null'. Nothing was changed"
    )


def count(chunk: Chunk, matched: Rows, newer: Rows, was_deleted: Rows, counts: Counts) -> None:
    """Add what happened to the changes of a chunk.

    Args:
        chunk: the changes.
        matched: which of them found a row.
        newer: which of those were newer than the row.
        was_deleted: which of those found a row that was marked as deleted.
        counts: to be added to.
    """
    deletes = chunk.deletes
    counts.older += int((matched & ~newer).sum())
    counts.deleted += int((newer & deletes & ~was_deleted).sum())
    counts.absent += int(((~matched | (newer & was_deleted)) & deletes).sum())
    counts.inserted += int(((~matched | (newer & was_deleted)) & ~deletes).sum())
    counts.updated += int((newer & ~deletes & ~was_deleted).sum())


def deleted_of(rows: pa.Table, merge: Merge) -> Rows:
    """Which rows of a file are marked as deleted."""
    if not merge.keeps_deleted:
        return np.zeros(rows.num_rows, bool)
    return np.asarray(pc.fill_null(rows[DELETED_COLUMN], fill_value=False), bool)
