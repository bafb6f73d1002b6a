"""Rows that a snapshot begun again has left behind: the database deleted them meanwhile, and no `delete` says so."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from pravega_jobs.merging.change_frames import current
from pravega_jobs.merging.snapshot_frames import newest_snapshot

_IS: Final = "_is_ghost"


def ghosts(changes: DataFrame, key: Sequence[str]) -> DataFrame:
    """The rows of the table of some changes that its newest snapshot says are not in the database.

    They are what `current` leaves out with `ghosts="remove"`. It runs a job that finds the newest snapshot.

    Args:
        changes: of one table, as for `current`, with the columns `_op`, `_snapshot`, `_ingested_at` and `_sequence`; up
            to a cut that was taken after Debezium had written the snapshot.
        key: the columns that identify a row.

    Returns:
        The columns of `current`.

    Raises:
        ConfigurationError: a column is missing, there is no snapshot, the end of the newest one is not among the
            changes, or its events have no position in the database's log. It is not known then which rows are left.
    """
    snapshot = newest_snapshot(changes, changes.columns)
    return current(changes.withColumn(_IS, snapshot.outdates()), key).where(sf.col(_IS)).drop(_IS)
