"""Ghosts of a table: rows that the newest snapshot in its stream does not have. Nothing is changed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.table_kind import LandingTable
from pravega_jobs.merging.change_frames import ghosts
from pravega_jobs.merging.engine.rows import older
from pravega_jobs.merging.rules import CURRENT_COLUMN, DELETED_COLUMN, END_COLUMN, SEQUENCE_COLUMN
from pravega_jobs.merging.snapshot_frames import newest_snapshot
from pravega_jobs.merging.state import merge_target
from pravega_jobs.merging.target import MergeTarget

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def ghost_keys(changes: "DataFrame", key: Sequence[str], table: LandingTable | None) -> "DataFrame":
    """The keys of ghosts.

    Args:
        changes: the changes of one table of the database, as for `ghosts`.
        key: the columns that identify a row.
        table: the table that these changes are merged into, also if it has not merged all of them;
            its keys that are older than the snapshot must fit into memory. None: the ghosts of the changes alone.

    Raises:
        ConfigurationError: ghosts cannot be found in the changes, as for `ghosts`; or the table does not exist.
        LandingError: positions of the table are of another kind than the changes'.
    """
    if table is None:
        return ghosts(changes, key).select(*key)
    snapshot = newest_snapshot(changes, changes.columns)
    rows = _rows_before(merge_target(table), key, snapshot.position)
    # A row that the table has not merged yet is not a ghost.
    known = changes.where(~snapshot.outdates()).select(*key)
    return changes.sparkSession.createDataFrame(rows).join(known, list(key), "left_anti")


def _rows_before(target: MergeTarget, key: Sequence[str], position: bytes) -> pa.Table:
    """The keys of rows that are older than a position, and neither marked as deleted nor closed versions."""
    state = target.state()
    if state is None:
        raise ConfigurationError("there is no such table, so that it has no ghosts to be found")
    marks = (SEQUENCE_COLUMN, DELETED_COLUMN, CURRENT_COLUMN, END_COLUMN)
    names = [name for name in (*key, *marks) if name in state.columns.names]
    schema = pa.schema([state.columns.field(name) for name in names])
    keys = [schema.empty_table().select(list(key))]
    for file in target.files(key[0]):
        rows = file.read(schema)
        keys.append(rows.filter(pa.array(older(rows, position, "the check of ghosts"))).select(list(key)))
    return pa.concat_tables(keys)
