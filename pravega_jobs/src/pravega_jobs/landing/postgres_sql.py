"""Connections to PostgreSQL, its errors, and its names as SQL has them."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

from aiopravega.errors import ConfigurationError, LandingError, TableUnavailableError
from pravega_jobs.landing.table_kind import Library

PSYCOPG2: Final = Library("psycopg2", "postgres")

# Limits of libpq, unless the DSN has them: seconds until a server that does not answer is given up.
_LIMITS: Final = {
    "connect_timeout": "30",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "120000",  # milliseconds
}
# COPY gets bytes of UTF-8, whatever the encoding of the database or of PGCLIENTENCODING is.
_FIXED: Final = {"client_encoding": "UTF8"}
# An error of a connection has no code, only the server's text. Waiting does not help after these.
_REFUSALS: Final = (
    "authentication failed",
    "does not exist",
    "no pg_hba.conf entry",
    "permission denied",
    "no password",
)


@contextmanager
def transaction(dsn: str) -> Iterator[Any]:
    """A cursor on a new connection, in one transaction.

    Raises:
        ConfigurationError: psycopg2 is not installed, or the DSN cannot be parsed.
        LandingError: the server cannot be reached, or refuses a statement.
    """
    with closing(connect(dsn)) as connection, statements(connection) as cursor:
        yield cursor


@contextmanager
def statements(connection: Any) -> Iterator[Any]:
    """A cursor, in one transaction, with errors of psycopg2 as errors of this package.

    Raises:
        LandingError: the server refuses a statement, or is gone.
    """
    import psycopg2

    try:
        with connection, connection.cursor() as cursor:
            yield cursor
    except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:  # the latter: the connection is gone
        raise TableUnavailableError(
            f"PostgreSQL did not finish: {error}. Run it again: it finds out what the table holds"
        ) from error
    except psycopg2.Error as error:
        raise LandingError(f"PostgreSQL refused, and nothing was changed: {error}") from error


def connect(dsn: str) -> Any:
    """A connection of psycopg2, with limits of time unless the DSN has them.

    Raises:
        ConfigurationError: psycopg2 is not installed, or the DSN cannot be parsed.
        LandingError: the server cannot be reached, or refuses.
    """
    try:
        import psycopg2
        from psycopg2.extensions import parse_dsn
    except ImportError:
        raise PSYCOPG2.missing("tables of PostgreSQL") from None
    try:
        given = parse_dsn(dsn)
    except psycopg2.ProgrammingError:  # its text has the dsn, maybe with a password
        raise ConfigurationError("the DSN cannot be parsed: use postgresql://user@host/database") from None
    # libpq repeats a host and a port in its errors: here they are pieces of a password that was not encoded. The name
    # of a socket may begin with @.
    port = given.get("port", "").replace(",", "")
    if "@" in given.get("host", "")[1:] or (port and not port.isdecimal()):
        raise ConfigurationError(
            "the DSN has a host or a port that cannot be one: write @, : and / of a password as %40, %3A and %2F"
        )
    try:
        connection = psycopg2.connect(**{**_LIMITS, **given, **_FIXED})
    except psycopg2.OperationalError as error:
        # By its class, not by a mark on it: Spark hands on the errors of its tasks as texts.
        kind = LandingError if any(text in str(error) for text in _REFUSALS) else TableUnavailableError
        raise kind(f"PostgreSQL cannot be reached: {error}") from None
    # A run that has waited for a lock must see the notes of the run before it, whatever the database's default is.
    connection.set_session(isolation_level="READ COMMITTED")
    return connection


def split_name(table: str) -> tuple[str | None, str]:
    """The schema, if the name has one, and the name.

    Raises:
        ConfigurationError: the name has an empty part, or more than two parts.
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
        LandingError: the name has a percent sign, which psycopg2 takes for a parameter.
    """
    if "%" in name:
        raise LandingError(f"{name!r} has a percent sign, which a name in PostgreSQL cannot have here: rename it")
    return '"' + name.replace('"', '""') + '"'


def qualified(schema: str | None, name: str) -> str:
    """A name with its schema, as SQL has it; None: without one."""
    return quoted(name) if schema is None else f"{quoted(schema)}.{quoted(name)}"


def drop_quietly(connection: Any, table: str) -> None:
    """Drop a table, if the connection still works; a transaction that is open is rolled back."""
    import psycopg2

    try:
        connection.rollback()
        with connection, connection.cursor() as cursor:
            cursor.execute(f"drop table if exists {table}")
    except psycopg2.Error:
        return  # the next run finds the table without an owner


def drop_if_unused(cursor: Any, table: str) -> None:
    """Drop a table, unless a task writes to it: tasks may outlive their driver for a while."""
    import psycopg2

    cursor.execute("savepoint before_drop")
    try:
        cursor.execute(f"lock table {table} in access exclusive mode nowait")
        cursor.execute(f"drop table {table}")
    except (psycopg2.errors.LockNotAvailable, psycopg2.errors.UndefinedTable):
        cursor.execute("rollback to savepoint before_drop")
