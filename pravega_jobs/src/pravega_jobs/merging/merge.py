"""Merges of the changes of a range: nothing is run if the table holds the range, and the commit checks it again."""

from dataclasses import replace
from typing import TYPE_CHECKING

from pravega_jobs.landing.rules import Action, Landing
from pravega_jobs.landing.spark_rows import SparkRows
from pravega_jobs.landing.table_kind import LandingTable
from pravega_jobs.landing.targets import table_of
from pravega_jobs.merging.merges import Merge, Merged
from pravega_jobs.merging.rules import MergeRules
from pravega_jobs.merging.state import merge_target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def merge_changes(changes: "DataFrame", table: LandingTable | str, landing: Landing, rules: MergeRules) -> Merged:
    """Merge the changes of a range into a table of Delta or Iceberg, once.

    The table has the columns of the source, and `_sequence`: the position of the last change of a row. A change that is
    not newer than its row does nothing. If the table holds this range of the interval, nothing is run.

    Args:
        changes: of one table, all of the range and nothing else, with `changes=upsert` and the columns that
            `change_options` asks for.
        table: `delta:/folder` or `iceberg:catalog/namespace.table`, or the table that `table_of` gives for them.
        landing: the interval and its range.
        rules: the rules of the merge.

    Returns:
        The holding of the interval, and counts of what happened to the changes.

    Raises:
        ConfigurationError: the text names no table that can be merged into, or a column is missing.
        LandingError: the table must not take the changes, or cannot.
    """
    from pravega_jobs.debezium.changes.metadata import UNCHANGED
    from pravega_jobs.merging.change_frames import all_changes, last_changes
    from pravega_jobs.merging.snapshot_frames import newest_whole_snapshot

    target, merge = merge_target(table_of(table) if isinstance(table, str) else table), Merge(landing, rules)
    in_order = not rules.keeps_deleted or UNCHANGED in changes.columns or rules.removes_ghosts
    held = target.decide(merge, in_order=in_order)
    if held is not None:
        return Merged(Action.NOTHING, held)
    snapshot = newest_whole_snapshot(changes) if rules.removes_ghosts else None
    if snapshot is None:
        reduced = (all_changes if rules.keeps_history else last_changes)(changes, rules.key)
    else:
        merge = replace(merge, snapshot=snapshot.position)
        reduced = snapshot.plain(last_changes(snapshot.applied(changes), rules.key))
    # Not of the changes themselves: counters of the changes count the first action, which is the write below.
    columns = reduced.sparkSession.createDataFrame([], reduced.schema).toArrow().schema
    with target.staging(columns, merge) as folder:
        return target.commit(SparkRows(reduced).write_files(merge.landing, folder, {}), merge, in_order=in_order)
