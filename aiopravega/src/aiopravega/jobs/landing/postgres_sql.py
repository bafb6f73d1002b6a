"""Connections to PostgreSQL, and its names as SQL has them."""

from typing import Any

from aiopravega.errors import ConfigurationError, LandingError


def connect(dsn: str) -> Any:
    """A connection of psycopg2.

    Raises:
        ConfigurationError: psycopg2 is not installed.
        LandingError: the server cannot be reached, or refuses.
    """
    try:
        import psycopg2
    except ImportError:
        raise ConfigurationError("tables of PostgreSQL need psycopg2: pip install 'aiopravega[postgres]'") from None
    try:
        return psycopg2.connect(dsn)
    except psycopg2.OperationalError as error:
        refused = LandingError(f"PostgreSQL cannot be reached: {error}")
        refused.retryable = True
        raise refused from None


def split_name(table: str) -> tuple[str | None, str]:
    """The schema, if the name has one, and the name.

    Raises:
        ConfigurationError: it has an empty part, or more than two.
    """
    parts = table.split(".")
    match parts:
        case [name] if name:
            return None, name
        case [schema, name] if schema and name:
            return schema, name
    raise ConfigurationError(f"{table!r} is not the name of a table: table, or schema.table")


def quoted(name: str) -> str:
    """A name as SQL has it.

    Raises:
        LandingError: it has a percent sign, which psycopg2 takes for a parameter.
    """
    if "%" in name:
        raise LandingError(f"{name!r} has a percent sign, which a name in PostgreSQL cannot have here: rename it")
    return '"' + name.replace('"', '""') + '"'


def drop_quietly(connection: Any, table: str) -> None:
    """Drop a table, if the connection still works; what is in a transaction now is not done."""
    import psycopg2

    try:
        connection.rollback()
        with connection, connection.cursor() as cursor:
            cursor.execute(f"drop table if exists {table}")
    except psycopg2.Error:
        return  # the next run finds the table without an owner


def drop_if_unused(cursor: Any, table: str) -> None:
    """Drop a table, unless somebody writes to it: tasks may outlive their driver for a while."""
    import psycopg2

    cursor.execute("savepoint before_drop")
    try:
        cursor.execute(f"lock table {table} in access exclusive mode nowait")
        cursor.execute(f"drop table {table}")
    except (psycopg2.errors.LockNotAvailable, psycopg2.errors.UndefinedTable):
        cursor.execute("rollback to savepoint before_drop")
