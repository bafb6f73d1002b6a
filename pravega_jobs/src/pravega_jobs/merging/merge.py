"""Merges of the changes of a range: nothing is run if the table holds the range, and the commit checks it again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from aiopravega.cuts import StreamCutRange
from pravega_jobs.landing.land import landing_of
from pravega_jobs.landing.rules import Action, Evolution, Landing
from pravega_jobs.landing.spark_rows import SparkRows, is_spark
from pravega_jobs.landing.table_kind import LandingTable
from pravega_jobs.landing.targets import check_partitions, table_of
from pravega_jobs.merging.merges import Merge, Merged
from pravega_jobs.merging.rules import Deletes, Ghosts, MergeRules, RowHistory, Unsent
from pravega_jobs.merging.state import check_history, merge_target
from pravega_jobs.merging.target import MergeTarget


def merge_into(
    changes: Any,
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
    order_by: Sequence[str] | str | None = None,
    delete_column: str | None = None,
    partition_by: Sequence[str] = (),
) -> Merged:
    """Merge the changes of a range, or plain rows that were made from it, into a table, once.

    The table has the columns of the source, and `_sequence`: the position of the last change of a row. A change that is
    not newer than its row does nothing. If the table holds this range of the interval, nothing is run.

    Args:
        changes: of one table, all of the range and nothing else, with `changes=upsert` and the columns `_change_type`,
            `_sequence` and, for PostgreSQL, `_unchanged`; with `order_by`, plain rows that come from the range, and
            from nothing else that can change, whatever it is that decoded, filtered, joined or grouped them. A
            DataFrame of Spark, or what DuckDB reduces in this process, a table of Arrow, pandas or Polars, a LazyFrame,
            or record batches.
        table: `delta:/folder`, `delta:s3://bucket/path`, `iceberg:catalog/namespace.table` or
            `postgresql://user@host/database#schema.table`, or the table that `table_of` gives for them.
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
            into the table. Tables of PostgreSQL have none.
        order_by: given for plain rows only: the columns by which the last row of a key is found, whole numbers, dates
            or timestamps; `("segment_id", "offset")` is the order in the stream of the events of one routing key. With
            `()` a range has each key once, and ranges must come in their order. The same for all merges into the table.
        delete_column: a boolean column of plain rows, which the table does not get: true in rows that delete the row of
            their key. None: no row does.
        partition_by: the partitions that the table gets if it is new, as `land` takes them: names of columns; in
            Iceberg also `year(column)`, `month(…)`, `day(…)`, `hour(…)`, `bucket(number, column)` and
            `truncate(number, column)`. A table that exists must have them, if any are given.

    Returns:
        The holding of the interval, and counts of what happened to the changes.

    Raises:
        ConfigurationError: something is not given, or does not go with `history` or `order_by`, the text names no table
            that can be merged into, the table cannot have the partitions, or a column is missing or of another type.
        LandingError: the table must not take the changes, or cannot; or plain rows lack a value of their key, order or
            delete, or the order does not tell two rows of a key apart.
    """
    rules = MergeRules.of(
        key,
        deletes=deletes,
        new_columns=new_columns,
        unsent=unsent,
        ghosts=ghosts,
        history=history,
        order_by=order_by,
        delete_column=delete_column,
    )
    target = table_of(table) if isinstance(table, str) else table
    check_partitions(target, partition_by)
    return merge_changes(changes, target, landing_of(cuts, consumer, interval, partition_by=partition_by), rules)


def merge_changes(changes: Any, table: LandingTable | str, landing: Landing, rules: MergeRules) -> Merged:
    """Merge the changes of a range, or plain rows that were made from it, into a table, once.

    The table has the columns of the source, and `_sequence`: the position of the last change of a row. A change that is
    not newer than its row does nothing. If the table holds this range of the interval, nothing is run.

    Args:
        changes: of one table, all of the range and nothing else, with `changes=upsert` and the columns that
            `change_options` asks for, or plain rows, if the rules have their order: a DataFrame of Spark, or what
            DuckDB reduces in this process, a table of Arrow, pandas or Polars, a LazyFrame, or record batches.
        table: `delta:/folder`, `delta:s3://bucket/path`, `iceberg:catalog/namespace.table` or
            `postgresql://user@host/database#schema.table`, or the table that `table_of` gives for them.
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

    named = table_of(table) if isinstance(table, str) else table
    check_history(named, rules)
    target, merge = merge_target(named), Merge(landing, rules)
    if not is_spark(changes):
        with _staged_local(changes, target, merge) as show:
            return show()
    if rules.order_by is not None:
        from pravega_jobs.merging.row_frames import changes_of_frame

        changes = changes_of_frame(changes, rules)
    in_order = rules.needs_order or UNCHANGED in changes.columns
    held = target.decide(merge, in_order=in_order)
    if held is not None:
        return Merged(Action.NOTHING, held)
    snapshot = newest_whole_snapshot(changes) if rules.removes_ghosts else None
    if snapshot is None:
        reduced = (all_changes if rules.keeps_history else last_changes)(changes, rules.key)
    else:
        merge = replace(merge, snapshot=snapshot.position)
        reduced = snapshot.plain(last_changes(snapshot.applied(changes), rules.key))
    rows = SparkRows(reduced)
    with target.staged(rows, merge, shared=True) as staged:
        return target.commit(staged, merge, in_order=in_order)


@contextmanager
def staged_merge(
    changes: Any, table: LandingTable, landing: Landing, rules: MergeRules
) -> Iterator[Callable[[], Merged]]:
    """Stage the changes of a table of this process, and give a function that merges them, as `merge_changes` does."""
    check_history(table, rules)
    target, merge = merge_target(table), Merge(landing, rules)
    with _staged_local(changes, target, merge) as show:
        yield show


@contextmanager
def _staged_local(changes: Any, target: MergeTarget, merge: Merge) -> Iterator[Callable[[], Merged]]:
    """Stage the changes of a table of this process, which DuckDB reduces or sorts."""
    from pravega_jobs.debezium.changes.metadata import UNCHANGED
    from pravega_jobs.landing.local_rows import LocalRows
    from pravega_jobs.merging.local_changes import changes_to_merge
    from pravega_jobs.tables import check_table, schema_of

    check_table(changes)
    lacks_values = False
    if merge.rules.order_by is None:
        columns = schema_of(changes)  # None: a LazyFrame does not know them before it is computed
        lacks_values = columns is None or UNCHANGED in columns.names
    in_order = merge.rules.needs_order or lacks_values
    held = target.decide(merge, in_order=in_order)
    if held is not None:
        done = Merged(Action.NOTHING, held)
        yield lambda: done
        return
    with changes_to_merge(changes, merge.rules) as reduced:
        merge, rows = replace(merge, snapshot=reduced.snapshot), LocalRows(reduced.rows)
        with target.staged(rows, merge, shared=False) as staged:
            yield lambda: target.commit(staged, merge, in_order=in_order)
