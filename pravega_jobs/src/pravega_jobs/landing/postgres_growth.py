"""Columns of a table of PostgreSQL that a landing adds or makes wider, in the transaction of its rows."""

from collections.abc import Mapping
from typing import Any, Final

from pravega_jobs.landing.growth import Growth, TableColumns, growth
from pravega_jobs.landing.postgres_copy import POSTGRES_TYPES, STAGED_BY
from pravega_jobs.landing.postgres_sql import quoted
from pravega_jobs.landing.rules import OWN_COLUMNS, Evolution, Landing

# Types of PostgreSQL, and the types of Spark whose values they hold.
_SPARK_TYPES: Final = {
    **{postgres: spark for spark, postgres in POSTGRES_TYPES.items()},
    "timestamp with time zone": "timestamp",
    "timestamp without time zone": "timestamp_ntz",
}


def columns_of_table(cursor: Any, table: str) -> TableColumns:
    """The columns of a table, without the columns of a landing; types that Spark does not have by their own names.

    Args:
        cursor: in a transaction.
        table: the name of the table, as SQL has it.
    """
    types = spark_types(_types(cursor, table))
    cursor.execute(
        "select attname from pg_attribute where attrelid = to_regclass(%s) and attnum > 0 and attnotnull", (table,)
    )
    required = frozenset(name for (name,) in cursor.fetchall() if name in types)
    return TableColumns(types, required, widens=True, takes_values=True)


def growth_of(cursor: Any, table: str, types: Mapping[str, str], landing: Landing) -> Growth:
    """The change of a table's columns that rows need.

    Args:
        cursor: in a transaction.
        table: the name of the table, as SQL has it.
        types: the types of the rows, as PostgreSQL names them.
        landing: the landing of the rows.

    Raises:
        LandingError: the table lacks columns, and the landing adds none.
    """
    return growth(landing, columns_of_table(cursor, table), spark_types(types))


def lock_to_grow(cursor: Any, table: str, staging: str, landing: Landing) -> None:
    """Lock a table until the end of the transaction: for others that read and write, if its columns stay as they are.

    A lock that becomes a stronger one later could wait for another landing that waits for it.
    """
    adds = landing.new_columns is Evolution.ADD
    grows = adds and bool(growth_of(cursor, table, _types(cursor, staging), landing))
    cursor.execute(f"lock table {table} in {'access' if grows else 'row'} exclusive mode")


def grow(cursor: Any, table: str, staging: str, landing: Landing) -> None:
    """Add the columns of a staging table that a table lacks, and make the types wider that are narrower than its.

    Args:
        cursor: in the transaction of the landing, after `lock_to_grow`.
        table: the name of the table, as SQL has it.
        staging: the name of the staging table, as SQL has it.
        landing: the landing.
    """
    if landing.new_columns is not Evolution.ADD:
        return
    types = _types(cursor, staging)
    grown = growth_of(cursor, table, types, landing)
    changes = [f"add column {quoted(name)} {types[name]}" for name in grown.added]
    changes += [f"alter column {quoted(name)} type {types[name]}" for name in grown.widened]
    if changes:
        cursor.execute(f"alter table {table} {', '.join(changes)}")


def column_types(cursor: Any, table: str) -> dict[str, str]:
    """All columns of a table, with their types as PostgreSQL names them.

    Args:
        cursor: in a transaction.
        table: the name of the table, as SQL has it.
    """
    cursor.execute(
        "select attname, format_type(atttypid, atttypmod) from pg_attribute "
        "where attrelid = to_regclass(%s) and attnum > 0 and not attisdropped order by attnum",
        (table,),
    )
    return dict(cursor.fetchall())


def _types(cursor: Any, table: str) -> dict[str, str]:
    found = column_types(cursor, table)
    return {name: kind for name, kind in found.items() if name not in (*OWN_COLUMNS, STAGED_BY)}


def spark_types(types: Mapping[str, str]) -> dict[str, str]:
    """Columns with the types of Spark that they hold; those that Spark does not have by their own names."""
    return {name: _SPARK_TYPES.get(kind, kind.replace("numeric(", "decimal(")) for name, kind in types.items()}
