"""Rows of a table that are older than a snapshot of the database, and not in it: no I/O."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pravega_jobs.merging.engine.chunks import Rows
from pravega_jobs.merging.engine.rows import check_kind
from pravega_jobs.merging.rules import CURRENT_COLUMN, DELETED_COLUMN, END_COLUMN, SEQUENCE_COLUMN, Merge


def older(found: pa.Table, position: bytes, who: str) -> Rows:
    """Which rows of a file are older than a position, and neither marked as deleted nor closed versions.

    Args:
        found: `_sequence` of all rows of the file, and `_deleted`, `_current` and `_end_sequence`, if the table has it.
        position: in the database's log.
        who: for the error.

    Raises:
        LandingError: the positions are of another kind.
    """
    positions = found[SEQUENCE_COLUMN]
    check_kind(positions, len(position), who)
    before: Rows = np.asarray(pc.fill_null(pc.less(positions, position), fill_value=True), bool)
    if END_COLUMN in found.column_names:
        before &= np.asarray(pc.fill_null(found[CURRENT_COLUMN], fill_value=True), bool)
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
