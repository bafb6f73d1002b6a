"""Snapshots among changes: the newest one, and the changes from before it.

All events of a snapshot of a table have one position in the database's log. A change is from before a snapshot if its
position is, and if Debezium has read it before the snapshot. The second is not the same: PostgreSQL gives changes of a
transaction that is open while a snapshot begins the positions at which they were made, and sends them later.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes.metadata import SEQUENCE
from pravega_jobs.merging.rules import GHOST_COLUMNS

# The values of `source.snapshot` in the last event of a table. A table of one row that comes first has `first` only.
_ENDS: Final = ("last", "last_in_data_collection")
# Snapshots of parts of a table, between its other changes.
_INCREMENTAL: Final = "incremental"
# The length of an event's offset in Pravega, which stands for a position that the connector does not write.
_BYTES_OF_OFFSETS: Final = 16
_UNKNOWN: Final = "so it is not known which rows are left behind"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot that has ended.

    Args:
        position: its position in the database's log (`_sequence`).
        begun: the time at which Debezium made its first event, in microseconds since 1970.
    """

    position: bytes
    begun: int

    def outdates(self) -> Column:
        """True for a change from before the snapshot; False, if the time of the change is not known."""
        older = sf.col(SEQUENCE) < sf.lit(self.position)
        return sf.coalesce(older & (_taken() < sf.lit(self.begun)), sf.lit(False))

    def applied(self, changes: DataFrame) -> DataFrame:
        """The changes that are not from before the snapshot: rows of older changes are in the snapshot, or gone.

        A change that came after the snapshot with an older position gets the snapshot's position, followed by its own,
        so that it sorts after the snapshot.
        """
        at = sf.col(SEQUENCE)
        later = sf.when(at < sf.lit(self.position), sf.concat(sf.lit(self.position), at)).otherwise(at)
        return changes.where(~self.outdates()).withColumn(SEQUENCE, later)

    def plain(self, changes: DataFrame) -> DataFrame:
        """Reduced changes with positions of one length: the snapshot's position instead of two that were joined."""
        at, own = sf.col(SEQUENCE), sf.lit(self.position)
        begins = sf.substring(at, 1, len(self.position)) == own
        return changes.withColumn(SEQUENCE, sf.when(begins, own).otherwise(at))


def newest_snapshot(changes: DataFrame, columns: Sequence[str]) -> Snapshot:
    """The newest snapshot among changes. It runs a job.

    Args:
        changes: the changes of one table.
        columns: the names of their columns.

    Raises:
        ConfigurationError: a column is missing, there is no snapshot, the newest one has not ended, or its events have
            no position.
    """
    found = _newest(changes, columns, sf.col(SEQUENCE).desc())
    if found is None:
        raise ConfigurationError(f"the changes have no snapshot, {_UNKNOWN}: read the stream from its head")
    snapshot, has_ended = found
    if not has_ended:
        raise ConfigurationError(
            f"the newest snapshot has no event that says last or last_in_data_collection, {_UNKNOWN}: wait until "
            "Debezium has written it, and read to a later cut. If it has, the table had one row and came first, which "
            "says nothing of its end: compare it with the database"
        )
    return snapshot


def newest_whole_snapshot(changes: DataFrame) -> Snapshot | None:
    """The newest snapshot whose end is among the changes of a range; None: there is none. It runs a job.

    Raises:
        ConfigurationError: a column is missing, or the events of a snapshot have no position.
    """
    found = _newest(changes, changes.columns, sf.col("ended").desc(), sf.col(SEQUENCE).desc())
    return None if found is None or not found[1] else found[0]


def _newest(changes: DataFrame, columns: Sequence[str], *order: Column) -> tuple[Snapshot, bool] | None:
    """The first snapshot by an order, and True if it has ended."""
    lacking = [name for name in (*GHOST_COLUMNS, SEQUENCE) if name not in columns]
    if lacking:
        raise ConfigurationError(
            f"the changes have no column {', '.join(lacking)}: ask for it in .schema(…), or with option "
            "'metadata_columns'"
        )
    events = changes.where((sf.col("_op") == "r") & ~sf.col("_snapshot").eqNullSafe(_INCREMENTAL))
    ended = sf.max(sf.coalesce(sf.col("_snapshot").isin(*_ENDS), sf.lit(False))).alias("ended")
    found = events.groupBy(SEQUENCE).agg(ended, sf.min(_taken()).alias("begun")).orderBy(*order).limit(1).collect()
    if not found:
        return None
    [row] = found
    if len(row[SEQUENCE]) == _BYTES_OF_OFFSETS:
        raise ConfigurationError(
            f"the events of the snapshot have no position in the database's log, {_UNKNOWN}: compare the keys with the "
            "database's"
        )
    if row["begun"] is None:
        raise ConfigurationError(f"the events of the snapshot have no time (ts_ms), {_UNKNOWN}")
    return Snapshot(bytes(row[SEQUENCE]), row["begun"]), row["ended"]


def _taken() -> Column:
    """The time at which Debezium has read a change, in microseconds since 1970."""
    return sf.unix_micros(sf.col("_ingested_at").cast("timestamp"))
