"""Plain rows of a DataFrame as changes of a table: only Spark's own functions are used. `local_plain_rows` is its twin.

What no row may be is found while Spark runs, which then fails with the text of the error.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from pravega_jobs.debezium.changes.metadata import CHANGE_TYPE, SEQUENCE
from pravega_jobs.landing.spark_rows import SparkRows
from pravega_jobs.merging.plain_rows import DATE, DELETE, TIME, UPSERT, check_plain, lacks_text, needed, tied_text
from pravega_jobs.merging.rules import MergeRules

_SIGN: Final = -(2**63)
_ROWS: Final = "rows at one position"


def changes_of_frame(rows: DataFrame, rules: MergeRules) -> DataFrame:
    """Plain rows as changes, each with its position.

    Args:
        rows: the rows.
        rules: the rules of the merge, with an order.

    Raises:
        ConfigurationError: a column is missing, of another type, or has a name that it must not have.
    """
    types = SparkRows(rows).types()
    check_plain(types, rules)
    mark = sf.lit(False) if rules.delete_column is None else _named(rules.delete_column)
    values = [_bytes(_named(name), types[name]) for name in rules.order_by or ()]
    # In the column that all that follows needs, so that Spark does not leave it out.
    position = sf.concat(*values) if values else sf.lit(b"")
    for name in needed(rules):
        position = sf.when(_named(name).isNull(), sf.raise_error(sf.lit(lacks_text(name)))).otherwise(position)
    names = [name for name in rows.columns if name != rules.delete_column]
    keys, others = list(rules.key), [name for name in names if name not in rules.key]
    changes = rows.select(
        *map(_named, names),
        sf.when(mark, sf.lit(DELETE)).otherwise(sf.lit(UPSERT)).alias(CHANGE_TYPE),
        position.alias(SEQUENCE),
    )
    # By key first, so that the rows are sent to another task once.
    at_one_position = changes.repartition(*map(_named, keys)).groupBy(*map(_named, keys), SEQUENCE)
    columns = [sf.any_value(_named(name)).alias(name) for name in (*others, CHANGE_TYPE)]
    found = at_one_position.agg(*columns, sf.count(sf.lit(1)).alias(_ROWS))
    text = sf.concat(sf.lit(tied_text(rules)), sf.to_json(sf.struct(*map(_named, keys))))
    single = sf.when(sf.col(f"`{_ROWS}`") > 1, sf.raise_error(text)).otherwise(sf.col(SEQUENCE))
    return found.select(*map(_named, names), CHANGE_TYPE, single.alias(SEQUENCE))


def _bytes(value: Column, kind: str) -> Column:
    """Eight bytes that sort as the values of an order do, negative ones first."""
    number = {DATE: sf.unix_date, TIME: sf.unix_micros}.get(kind, lambda whole: whole)(value).cast("bigint")
    return sf.unhex(sf.lpad(sf.hex(number.bitwiseXOR(sf.lit(_SIGN))), 2 * 8, "0"))


def _named(name: str) -> Column:
    return sf.col("`" + name.replace("`", "``") + "`")
