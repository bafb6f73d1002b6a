"""Ghosts that a table has now, by its stream: rows that the newest snapshot does not have. Nothing is changed."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.delta import DeltaFolder
from pravega_jobs.landing.iceberg import Iceberg
from pravega_jobs.landing.targets import LandingTable
from pravega_jobs.merging.engine.files import TableFile
from pravega_jobs.merging.engine.ghost_rows import older
from pravega_jobs.merging.ghost_frames import ghosts
from pravega_jobs.merging.rules import CURRENT_COLUMN, DELETED_COLUMN, END_COLUMN, SEQUENCE_COLUMN
from pravega_jobs.merging.snapshot_frames import newest_snapshot
from pravega_jobs.merging.state import state_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def ghost_keys(changes: "DataFrame", key: Sequence[str], table: LandingTable | None) -> "DataFrame":
    """The keys of ghosts.

    Args:
        changes: of one table of the database, as for `ghosts`.
        key: the columns that identify a row.
        table: that is kept by these changes, of Delta or Iceberg, whatever it has merged of them; all of its keys that
            are older than the snapshot must fit into memory. None: the ghosts of the changes alone.

    Raises:
        ConfigurationError: the changes do not tell which rows are ghosts, as for `ghosts`; or there is no such table.
        LandingError: positions of the table are of another kind than those of the changes.
    """
    if table is None:
        return ghosts(changes, key).select(*key)
    snapshot = newest_snapshot(changes, changes.columns)
    rows = _rows_before(table, key, snapshot.position)
    # What the table has not merged yet is no ghost.
    known = changes.where(~snapshot.outdates()).select(*key)
    return changes.sparkSession.createDataFrame(rows).join(known, list(key), "left_anti")


def _rows_before(table: LandingTable, key: Sequence[str], position: bytes) -> pa.Table:
    """The keys of rows that are older than a position, and neither marked as deleted nor closed versions."""
    state = state_of(table)
    if state is None:
        raise ConfigurationError("there is no such table of Delta or Iceberg, so that it has no ghosts to be found")
    marks = (SEQUENCE_COLUMN, DELETED_COLUMN, CURRENT_COLUMN, END_COLUMN)
    names = [name for name in (*key, *marks) if name in state.columns.names]
    schema = pa.schema([state.columns.field(name) for name in names])
    found = [schema.empty_table().select(list(key))]
    for file in _files(table, key[0]):
        rows = file.read(schema)
        found.append(rows.filter(pa.array(older(rows, position, "the check of ghosts"))).select(list(key)))
    return pa.concat_tables(found)


def _files(table: LandingTable, key: str) -> Iterable[TableFile]:
    from pravega_jobs.merging.engine import delta, iceberg

    if isinstance(table, DeltaFolder):
        found = table.notes.table()
        return [] if found is None else delta.files_of(found, table.path, key)
    return iceberg.files_of(table.load(), key) if isinstance(table, Iceberg) else []
