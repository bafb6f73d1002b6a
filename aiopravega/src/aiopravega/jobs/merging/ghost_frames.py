"""Rows that a snapshot begun again has left behind: the database deleted them meanwhile, and no `delete` says so.

All events of a snapshot have one position in the database's log. A row whose last change is older, and that the
snapshot does not have, is not in the database.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from aiopravega.errors import ConfigurationError
from aiopravega.jobs.merging.change_frames import current
from aiopravega.schema.debezium.metadata import SEQUENCE

# What `source.snapshot` says of the last event of a table. A table of one row that comes first has `first` only.
_ENDS: Final = ("last", "last_in_data_collection")
# Snapshots of parts of a table, between its other changes.
_INCREMENTAL: Final = "incremental"
_NEEDED: Final = ("_op", "_snapshot", SEQUENCE)
# Where the event is in Pravega, which stands for a position that the connector does not write.
_BYTES_OF_OFFSETS: Final = 16
_AT: Final = "_ghost_at"


def ghosts(changes: DataFrame, key: Sequence[str]) -> DataFrame:
    """The rows of the table of some changes that its newest snapshot says are not in the database.

    Remove their keys from a table that was made of these changes. It runs a job that finds the newest snapshot.

    Args:
        changes: of one table, as for `current`, with the columns `_op`, `_snapshot` and `_sequence`; up to a cut that
            was taken after Debezium had written the snapshot.
        key: the columns that identify a row.

    Returns:
        The columns of `current`.

    Raises:
        ConfigurationError: a column is missing, there is no snapshot, the end of the newest one is not among the
            changes, or its events have no position in the database's log. It is not known then which rows are left.
    """
    lacking = [name for name in _NEEDED if name not in changes.columns]
    if lacking:
        raise ConfigurationError(
            f"the changes have no column {', '.join(lacking)}: ask for it in .schema(…), or with option "
            "'metadata_columns'"
        )
    events = changes.where((sf.col("_op") == "r") & ~sf.col("_snapshot").eqNullSafe(_INCREMENTAL))
    ended = sf.max(sf.coalesce(sf.col("_snapshot").isin(*_ENDS), sf.lit(False))).alias("ended")
    newest = events.groupBy(SEQUENCE).agg(ended).orderBy(sf.col(SEQUENCE).desc()).limit(1).collect()
    unknown = "so it is not known which rows are left behind"
    if not newest:
        raise ConfigurationError(f"the changes have no snapshot, {unknown}: read the stream from its head")
    begun = bytes(newest[0][SEQUENCE])
    if len(begun) == _BYTES_OF_OFFSETS:
        raise ConfigurationError(
            f"the events of the snapshot have no position in the database's log, {unknown}: compare the keys with the "
            "database's"
        )
    if not newest[0]["ended"]:
        raise ConfigurationError(
            f"the newest snapshot has no event that says last or last_in_data_collection, {unknown}: wait until "
            "Debezium has written it, and read to a later cut. If it has, the table had one row and came first, which "
            "says nothing of its end: compare it with the database"
        )
    rows = current(changes.withColumn(_AT, sf.col(SEQUENCE)), key)
    return rows.where(sf.col(_AT) < sf.lit(begun)).drop(_AT)
