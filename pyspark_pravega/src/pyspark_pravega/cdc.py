"""Tables from changes: DataFrames of `decode=debezium-json` as the table at a cut, or merged into a table; and back.

Merges are made in `pravega_jobs.merging`, since schedulers merge too.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from aiopravega.cuts import StreamCutRange
from pravega_jobs.landing import Holding, LandingTable, holdings
from pravega_jobs.landing.land import landing_of
from pravega_jobs.merging import (
    Counts,
    Deletes,
    Evolution,
    Ghosts,
    Merged,
    MergeRules,
    RowHistory,
    Unsent,
    merge_changes,
)
from pravega_jobs.merging.change_frames import current, ghosts, last_changes
from pyspark_pravega.encode.images import to_debezium

__all__ = [
    "Counts",
    "Deletes",
    "Evolution",
    "Ghosts",
    "Holding",
    "Merged",
    "RowHistory",
    "Unsent",
    "current",
    "ghosts",
    "holdings",
    "last_changes",
    "merge_into",
    "to_debezium",
]


def merge_into(
    changes: DataFrame,
    table: LandingTable | str,
    cuts: StreamCutRange | Mapping[str, str],
    *,
    key: Sequence[str],
    consumer: str | None = None,
    interval: str | None = None,
    deletes: Deletes | str = Deletes.HARD,
    new_columns: Evolution | str = Evolution.FAIL,
    unsent: Unsent | str = Unsent.FAIL,
    ghosts: Ghosts | str = Ghosts.KEEP,
    history: RowHistory | str = RowHistory.NONE,
) -> Merged:
    """Merge the changes of a range into a table of Delta or Iceberg, once.

    The table has the columns of the source, and `_sequence`: the position of the last change of a row. A change that is
    not newer than its row does nothing. If the table holds this range of the interval, nothing is run.

    Args:
        changes: of one table, all of the range and nothing else, with `changes=upsert` and the columns `_change_type`,
            `_sequence` and, for PostgreSQL, `_unchanged`.
        table: `delta:/folder` or `iceberg:catalog/namespace.table`, or the table that `table_of` gives for them.
        cuts: the range; a mapping such as a sensor gives, with `start`, `end`, and maybe `consumer` and `interval`.
        key: the columns that identify a row; the same for all merges into the table.
        consumer: the consumer of the stream; by default as in `cuts`.
        interval: the name of the interval; by default as in `cuts`.
        deletes: `hard` removes a deleted row. `soft` keeps it with its last values, and `_deleted`. The same for all
            merges into the table.
        new_columns: the treatment of columns that the table lacks: `fail`, `ignore` them, or `add` them.
        unsent: the treatment of an update that lacks values (TOAST), of a row that the table lacks: `fail`, or `null`.
        ghosts: the treatment of rows that are older than a snapshot whose end is in the range, and not in it: `keep`
            them, or `remove` them, which is right if snapshots have all rows of the table. `remove` needs the columns
            `_op`, `_snapshot` and `_ingested_at` too, and ranges in their order, and it runs a job that finds the
            snapshot.
        history: `scd2` keeps every version of a row, in a table that also has `_valid_from`, `_valid_to`, `_current`
            and `_end_sequence`. It needs the column `_source_ts`, and ranges in their order. The same for all merges
            into the table.

    Returns:
        The holding of the interval, and counts of what happened to the changes.

    Raises:
        ConfigurationError: something is not given, or does not go with `history`, or the text names no table that can
            be merged into.
        LandingError: the table must not take the changes, or cannot.
    """
    rules = MergeRules.of(key, deletes=deletes, new_columns=new_columns, unsent=unsent, ghosts=ghosts, history=history)
    return merge_changes(changes, table, landing_of(cuts, consumer, interval), rules)
