"""Snapshots among the changes of a DataFrame: the newest one, and the changes from before it, by Spark's functions."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from pravega_jobs.debezium.changes.metadata import SEQUENCE
from pravega_jobs.merging.snapshots import ENDS, INCREMENTAL, Snapshot, check_ghost_columns


class FrameSnapshot(Snapshot):
    """A snapshot among the changes of a DataFrame."""

    __slots__ = ()

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


def newest_snapshot(changes: DataFrame, columns: Sequence[str]) -> FrameSnapshot:
    """The newest snapshot among changes. It runs a job.

    Args:
        changes: the changes of one table.
        columns: the names of their columns.

    Raises:
        ConfigurationError: a column is missing, there is no snapshot, the newest one has not ended, or its events have
            no position.
    """
    return FrameSnapshot.newest(_newest(changes, columns, sf.col(SEQUENCE).desc()))


def newest_whole_snapshot(changes: DataFrame) -> FrameSnapshot | None:
    """The newest snapshot whose end is among the changes of a range; None: there is none. It runs a job.

    Raises:
        ConfigurationError: a column is missing, or the events of a snapshot have no position.
    """
    found = _newest(changes, changes.columns, sf.col("ended").desc(), sf.col(SEQUENCE).desc())
    return found if found is not None and found.ended else None


def _newest(changes: DataFrame, columns: Sequence[str], *order: Column) -> FrameSnapshot | None:
    """The first snapshot by an order."""
    check_ghost_columns(columns)
    events = changes.where((sf.col("_op") == "r") & ~sf.col("_snapshot").eqNullSafe(INCREMENTAL))
    ended = sf.max(sf.coalesce(sf.col("_snapshot").isin(*ENDS), sf.lit(False))).alias("ended")
    found = events.groupBy(SEQUENCE).agg(ended, sf.min(_taken()).alias("begun")).orderBy(*order).limit(1).collect()
    if not found:
        return None
    return FrameSnapshot.of(found[0][SEQUENCE], found[0]["begun"], found[0]["ended"])


def _taken() -> Column:
    """The time at which Debezium has read a change, in microseconds since 1970."""
    return sf.unix_micros(sf.col("_ingested_at").cast("timestamp"))
