"""Tables from changes: DataFrames of `decode=debezium-json` as the table at a cut, or as rows for a MERGE.

Only Spark's own functions are used, so that the work is done in the JVM, and Spark Connect can do it too.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes.metadata import CHANGE_TYPE as _TYPE
from pravega_jobs.debezium.changes.metadata import SEQUENCE as _SEQUENCE
from pravega_jobs.debezium.changes.metadata import TYPES
from pravega_jobs.debezium.changes.metadata import UNCHANGED as _UNCHANGED
from pravega_jobs.error_rows import KEPT
from pravega_jobs.landing.rules import choice
from pravega_jobs.merging.rules import TIME_COLUMNS, Ghosts, check_not_of_history
from pravega_jobs.merging.snapshot_frames import newest_snapshot

# Columns of a read that are not the table's. Names of the table's columns may also begin with an underscore.
_ABOUT: Final = frozenset((*TYPES, *KEPT))
_IS_GHOST: Final = "_is_ghost"
_EMPTIED: Final = (
    "the range has a truncate, which no MERGE can follow: empty the target and merge what comes after it, or read with "
    "truncates=drop"
)


def current(
    changes: DataFrame,
    key: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    ghosts: Ghosts | str = Ghosts.KEEP,
) -> DataFrame:
    """The table as it is after all of some changes: the last change of each key, deleted rows gone.

    Args:
        changes: of one table, read from its snapshot on, with `changes=upsert` and the columns `_change_type`,
            `_sequence` and, for PostgreSQL, `_unchanged`.
        key: the columns that identify a row.
        columns: the names of all columns of `changes`. Only a declarative pipeline needs them, which may not ask Spark
            for them while it is defined.
        ghosts: the treatment of rows that the newest snapshot does not have, and that have not changed since: `keep`
            them, or `remove` them, which is right if snapshots have all rows of the table. `remove` needs the columns
            `_op`, `_snapshot` and `_ingested_at` too, and runs a job that finds the snapshot.

    Returns:
        The columns of the table, and `_unchanged` if the changes have it: names of columns whose value is in none of
        the changes of a row. After a whole snapshot it is empty.

    Raises:
        ConfigurationError: a column is missing; or ghosts are to be removed, and the changes do not tell which they
            are: there is no snapshot, the end of the newest one is not among them, or its events have no position.
    """
    of_changes = changes.columns if columns is None else columns
    _check(of_changes, key)
    if choice(ghosts, Ghosts, "ghosts") is Ghosts.REMOVE:
        changes = newest_snapshot(changes, of_changes).applied(changes)
    emptied = changes.where(sf.col(_TYPE) == "truncate").agg(sf.max(_SEQUENCE).alias("_emptied"))
    rows = changes.where(sf.col(_TYPE) != "truncate").crossJoin(sf.broadcast(emptied))
    left = rows.where(sf.col("_emptied").isNull() | (sf.col(_SEQUENCE) > sf.col("_emptied")))
    names = [name for name in of_changes if name not in _ABOUT or name == _UNCHANGED]
    return _last(left, key, of_changes).where(sf.col(_TYPE) != "delete").select(*map(_named, names))


def last_changes(changes: DataFrame, key: Sequence[str]) -> DataFrame:
    """The last change of each key, with deletes, for a `MERGE`. A range that has a truncate fails when it runs.

    If the last change lacks a value (TOAST), an earlier change in the range gives it; `_unchanged` names the columns
    whose value is in no change of the range, so that the target's value stays.

    Args:
        changes: of one table, read with `changes=upsert` and the columns `_change_type`, `_sequence` and, for
            PostgreSQL, `_unchanged`.
        key: the columns that identify a row.

    Returns:
        The columns of the changes.

    Raises:
        ConfigurationError: a column is missing.
    """
    _check(changes.columns, key)
    return _last(_not_emptied(changes), key, changes.columns).select(*map(_named, changes.columns))


def all_changes(changes: DataFrame, key: Sequence[str]) -> DataFrame:
    """All changes with deletes, sorted by key and position, for a table with a history.

    A range that has a truncate fails when it runs.

    Args:
        changes: as for `last_changes`, also with the column `_source_ts`.
        key: the columns that identify a row.

    Returns:
        The columns of the changes.

    Raises:
        ConfigurationError: a column is missing, or the source has one that a history adds.
    """
    _check(changes.columns, key, tuple(TIME_COLUMNS))
    check_not_of_history(changes.columns)
    keys = [_named(name) for name in key]
    together = _images(_not_emptied(changes)).repartition(*keys)
    # The last one at a position wins: an update over an insert, which a snapshot has; of two alike the earlier one.
    times = [sf.col(name).desc() for name in TIME_COLUMNS]
    return together.sortWithinPartitions(*keys, sf.col(_SEQUENCE), sf.col(_TYPE), *times)


def ghosts(changes: DataFrame, key: Sequence[str]) -> DataFrame:
    """The rows of the table of some changes that its newest snapshot says are not in the database: ghosts.

    The database deleted them, and a snapshot that was begun again has no `delete` of them.

    `current` leaves them out with `ghosts="remove"`. It runs a job that finds the newest snapshot.

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
    return current(changes.withColumn(_IS_GHOST, snapshot.outdates()), key).where(sf.col(_IS_GHOST)).drop(_IS_GHOST)


def _not_emptied(changes: DataFrame) -> DataFrame:
    """The changes; Spark fails when it runs them if a truncate is among them."""
    kind = sf.when(sf.col(_TYPE) == "truncate", sf.raise_error(sf.lit(_EMPTIED))).otherwise(sf.col(_TYPE))
    return changes.withColumn(_TYPE, kind)


def _images(changes: DataFrame) -> DataFrame:
    """The changes without rows as they were before an update.

    Events that could not be decoded have no type: they stay, so that a merge can refuse them.
    """
    return changes.where(~sf.col(_TYPE).eqNullSafe("update_preimage"))


def _last(changes: DataFrame, key: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """One row for each key: of each column the last value that was sent."""
    names = [name for name in columns if name not in key]
    knows = _UNCHANGED in names
    values = [_value(name, knows).alias(name) for name in names if name != _UNCHANGED]
    missing = [_never_sent(name).alias(f"{_UNCHANGED}.{name}") for name in names if knows and name not in _ABOUT]
    found = _images(changes).groupBy(*map(_named, key)).agg(*values, *missing)
    if not knows:
        return found
    marks = [_named(f"{_UNCHANGED}.{name}") for name in names if name not in _ABOUT]
    lists = sf.array_compact(sf.array(*marks)) if marks else sf.array().cast("array<string>")
    # `withColumn`, and `drop` above, would ask Spark for the columns.
    return found.select(*(_named(name) for name in columns if name != _UNCHANGED), lists.alias(_UNCHANGED))


def _value(name: str, knows: bool) -> Column:
    """The last value of a column. The whole row is ordered by `_sequence`; a null that was sent is a value."""
    value = sf.struct(_named(name).alias("value"))
    if knows and name not in _ABOUT:
        value = sf.when(~sf.array_contains(_UNCHANGED, name), value)
    sequence = sf.when(value.isNotNull(), sf.col(_SEQUENCE))
    return sf.max_by(value, sequence).getField("value")


def _never_sent(name: str) -> Column:
    """The name of a column whose value is in no change; null for other columns."""
    return sf.when(sf.bool_and(sf.array_contains(_UNCHANGED, name)), sf.lit(name))


def _named(name: str) -> Column:
    return sf.col("`" + name.replace("`", "``") + "`")


def _check(columns: Sequence[str], key: Sequence[str], more: Sequence[str] = ()) -> None:
    if not key:
        raise ConfigurationError("a table from changes needs the columns of its key")
    lacking = [name for name in (*key, _TYPE, _SEQUENCE, *more) if name not in columns]
    if lacking:
        raise ConfigurationError(
            f"the changes have no column {', '.join(lacking)}: read them with decode=debezium-json, and ask for it in "
            ".schema(…) or with option 'metadata_columns'; to merge plain rows by merge_into, give order_by"
        )
