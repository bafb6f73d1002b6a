"""Rows of changes as both images of each change: what `encode=debezium-json` makes one event of.

Only Spark's own functions are used, so that the work is done in the JVM, and Spark Connect can do it too.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes.metadata import CHANGE_TYPE, SEQUENCE, TYPES, UNCHANGED
from pravega_jobs.debezium.changes.options import AFTER, BEFORE, OP

# Columns that say in which order changes were made: of this package, of Delta and Spark.
_ORDERS: Final = (SEQUENCE, "_lsn", "_commit_version")
_OF_FEEDS: Final = ("_commit_version", "_commit_timestamp")
_OLD: Final = ("update_preimage", "delete", "d")
_NEW: Final = ("update_postimage", "insert", "c", "r", "u")
_INSERTED: Final = ("insert", "c", "r")
_TRUNCATED: Final = ("truncate", "t")
_NOT_CARRIED: Final = ("_deleted", SEQUENCE, "_rest", "_source", "_op", CHANGE_TYPE)
_PARTS: Final = ("_source_table", "_source_schema", "_source_db")


def to_debezium(
    changes: DataFrame,
    key: Sequence[str],
    *,
    change: str = CHANGE_TYPE,
    order: Sequence[str] | str | None = None,
    table: str | None = None,
) -> DataFrame:
    """Changes of a table as rows with both images, to be written with `encode=debezium-json`.

    The images of a key at one position in the order are one change: both of them an update, the new one an insert or an
    update of which the old row is not known, the old one a delete. All changes of a key are in one partition, in their
    order.

    Args:
        changes: a batch of rows as `decode=debezium-json` with `changes=rows`, Delta's change feed or Spark's
            `changes` give them: a row is an image.
        key: the columns that identify a row.
        change: the column that says what each row is: `insert`, `update_preimage`, `update_postimage`, `delete`,
            `truncate`; or Debezium's letters.
        order: the columns by which changes of a key are sorted; by default the first of `_sequence`, `_lsn`,
            `_commit_version` that is there.
        table: the name for `source` in the events: `orders`, `public.orders` or `shop.public.orders`.

    Returns:
        The columns `before`, `after` (structs of the table's columns), `op`, and columns about changes that can be
        written. Rows fail, when they are computed, if a key has two old or two new images at one position in the order.

    Raises:
        ConfigurationError: a column is missing.
    """
    sorted_by = _order(changes, order)
    lacking = [name for name in (*key, change, *sorted_by) if name not in changes.columns]
    if lacking or not key:
        raise ConfigurationError(
            f"the changes have no column {', '.join(lacking) or 'of a key'}: there are {', '.join(changes.columns)}"
        )
    about = [name for name in changes.columns if name in TYPES and name not in _NOT_CARRIED]
    left_out = {change, *TYPES, *_OF_FEEDS} - set(key)
    names = [name for name in changes.columns if name not in left_out]
    image = sf.struct(*[_named(name) for name in names])
    unknown = _refused("a row is not a change that is known", sf.coalesce(_named(change), sf.lit("null")))
    kind = sf.when(_named(change).isin(*_OLD, *_NEW, *_TRUNCATED), _named(change)).otherwise(unknown)
    old, new, emptied = kind.isin(*_OLD), kind.isin(*_NEW), kind.isin(*_TRUNCATED)
    found = (
        changes.repartition(*map(_named, key))
        .groupBy(*[_named(name).alias(f"_at_{index}") for index, name in enumerate((*key, *sorted_by))])
        .agg(
            sf.count(sf.when(old, True)).alias("_olds"),
            sf.count(sf.when(new, True)).alias("_news"),
            sf.max(emptied).alias("_emptied"),
            sf.max(kind.isin(*_INSERTED)).alias("_inserted"),
            _only(old, image).alias(BEFORE),
            _only(new, image).alias(AFTER),
            *[_only(~old if name == UNCHANGED else sf.lit(True), _named(name)).alias(name) for name in about],
        )
    )
    twice = (sf.col("_olds") > 1) | (sf.col("_news") > 1)
    letter = (
        sf.when(twice, _refused("a key has several changes at one position in the order", sf.col("_at_0")))
        .when(sf.col("_emptied"), sf.lit("t"))
        .when(sf.col(AFTER).isNull(), sf.lit("d"))
        .when(sf.col(BEFORE).isNull() & sf.col("_inserted"), sf.lit("c"))
        .otherwise(sf.lit("u"))
    )
    at = [sf.col(f"_at_{index}") for index in range(len(key), len(key) + len(sorted_by))]
    parts = dict(zip(_PARTS, table.split(".")[::-1], strict=False)) if table else {}
    columns = [_named(name) for name in about if name not in parts]
    named = [sf.lit(part).alias(name) for name, part in parts.items()]
    return found.sortWithinPartitions(*at).select(BEFORE, AFTER, letter.alias(OP), *columns, *named)


def _order(changes: DataFrame, order: Sequence[str] | str | None) -> list[str]:
    if order is not None:
        return [order] if isinstance(order, str) else list(order)
    found: list[str] = [name for name in _ORDERS if name in changes.columns]
    if not found:
        raise ConfigurationError(
            f"nothing says in which order the changes of a row were made: there is no column {', '.join(_ORDERS)}. "
            "Name one with order="
        )
    return found[:1]


def _only(where: Column, value: Column) -> Column:
    """The value of the one row of a group for which this holds."""
    return sf.first(sf.when(where, value), ignorenulls=True)


def _refused(why: str, value: Column) -> Column:
    return sf.raise_error(sf.concat(sf.lit(f"{why}: "), value.cast("string"))).cast("string")


def _named(name: str) -> Column:
    return sf.col("`" + name.replace("`", "``") + "`")
