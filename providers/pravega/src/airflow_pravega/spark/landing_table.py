"""The table that a task lands rows in, by a text that everybody may see; a database is named by its connection."""

from typing import Final

from aiopravega.errors import ConfigurationError
from aiopravega.jobs.landing import LandingTable, Postgres, table_of
from airflow_pravega.spark.postgres_connection import PostgresConnectionLike, libpq_dsn

_FILES: Final = ("parquet", "delta")
_KINDS: Final = (*_FILES, "iceberg")
_WAYS: Final = (
    "write parquet:/folder, delta:/folder or iceberg:catalog/namespace.table; for PostgreSQL give postgres_conn_id and "
    "table='schema.table'"
)


def check_table(text: str, *, in_database: bool) -> None:
    """Check the text of a table, as far as it can be known without its connection.

    Args:
        text: of the table; no message repeats what may be an address with a password.
        in_database: whether a connection to a database is given beside it.

    Raises:
        ConfigurationError: it names no table.
    """
    if in_database:
        _in_database("", text)
    else:
        _of_files(text)


def landing_table(text: str, database: PostgresConnectionLike | None) -> LandingTable:
    """The table that a text names: in the database of a connection, or else by itself.

    Raises:
        ConfigurationError: the text names no table, or the connection cannot work.
    """
    return _of_files(text) if database is None else _in_database(libpq_dsn(database), text)


def folder_of(text: str) -> str | None:
    """The folder of a table of files."""
    kind, _, path = text.partition(":")
    return path if kind in _FILES else None


def _of_files(text: str) -> LandingTable:
    kind, colon, _ = text.partition(":")
    if not colon:
        raise ConfigurationError(f"{text!r} does not say what kind of table it is: {_WAYS}")
    if kind not in _KINDS:
        raise ConfigurationError(
            f"a table that begins with {kind!r} is not taken here, since an address may have a password, which a DAG "
            f"and its rendered templates would show: {_WAYS}"
        )
    return table_of(text)


def _in_database(dsn: str, text: str) -> LandingTable:
    if ":" in text:
        raise ConfigurationError(
            "postgres_conn_id and an address or a table of files are given, but both say where the table is: leave "
            "postgres_conn_id out, or name the table as table='schema.table'"
        )
    return Postgres(dsn, text)
