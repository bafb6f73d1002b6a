"""Rows of a table that are older than a snapshot of the database, and not in it: no I/O."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.jobs.merging.chunks import Chunk, Rows
from aiopravega.jobs.merging.rows import check_kind
from aiopravega.jobs.merging.rules import DELETED_COLUMN, SEQUENCE_COLUMN, Merge

_ROW: Final = "row of the file"


def older_than_snapshot(chunk: Chunk, merge: Merge) -> pa.Table:
    """The keys of changes that came after the snapshot, although their positions are before it; few, if any."""
    keys = chunk.values.select(list(merge.settings.key))
    if merge.snapshot is None:
        return keys.slice(0, 0)
    return keys.filter(pc.less(chunk.values[SEQUENCE_COLUMN], merge.snapshot))


def find(found: pa.Table, late: pa.Table | None, merge: Merge) -> Rows:
    """Which rows of a file are ghosts.

    Args:
        found: key and `_sequence` of all rows of the file, as they are after the changes.
        late: keys that `older_than_snapshot` gave.
        merge: what is merged, with the position of a snapshot. Rows that were in it have this position, or a newer one.

    Raises:
        LandingError: the positions are of another kind than those of the changes.
    """
    assert merge.snapshot is not None
    gone = older(found, merge.snapshot, str(merge))
    if late is not None and late.num_rows and gone.any():
        key = list(merge.settings.key)
        rows = found.select(key).append_column(_ROW, pa.array(np.arange(found.num_rows)))
        gone[rows.join(late, key, join_type="left semi")[_ROW].to_numpy()] = False
    return gone


def older(found: pa.Table, position: bytes, who: str) -> Rows:
    """Which rows of a file are older than a position, and not marked as deleted.

    Args:
        found: `_sequence` of all rows of the file, and `_deleted`, if the table has it.
        position: in the database's log.
        who: for the error.

    Raises:
        LandingError: the positions are of another kind.
    """
    positions = found[SEQUENCE_COLUMN]
    check_kind(positions, len(position), who)
    before: Rows = np.asarray(pc.fill_null(pc.less(positions, position), fill_value=True), bool)
    if DELETED_COLUMN not in found.column_names:
        return before
    before &= ~np.asarray(pc.fill_null(found[DELETED_COLUMN], fill_value=False), bool)
    return before


def without(rows: pa.Table, gone: Rows, merge: Merge) -> pa.Table:
    """The rows of a file without some of them; with soft deletes, these stay as they are, marked."""
    if not merge.keeps_deleted:
        return rows.filter(pa.array(~gone))
    marked = pc.or_(pc.fill_null(rows[DELETED_COLUMN], fill_value=False), pa.array(gone))
    return rows.set_column(rows.column_names.index(DELETED_COLUMN), rows.schema.field(DELETED_COLUMN), marked)
