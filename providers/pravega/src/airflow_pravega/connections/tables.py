"""Tables that arguments of tasks name: by themselves, or in the database or the catalog of a connection of Airflow."""

from collections.abc import Sequence
from typing import Final

from aiopravega.errors import ConfigurationError
from airflow_pravega.connections.fields import ConnectionLike
from airflow_pravega.connections.iceberg import TYPE, catalog_properties
from airflow_pravega.connections.postgres import libpq_dsn
from pravega_jobs.landing import ErrorsStream, LandingTable, catalog_table, shown_table
from pravega_jobs.landing.targets import check_partitions

# The arguments of operators that name the connection.
POSTGRES: Final = "postgres_conn_id"
ICEBERG: Final = "iceberg_conn_id"
AWS: Final = "aws_conn_id"
_S3: Final = "delta:s3://"


def check_table(
    text: str, postgres_conn_id: str | None, iceberg_conn_id: str | None, partition_by: Sequence[str] = ()
) -> None:
    """Check the name of a table, and the partitions that are known, when an operator is made; no connection is read.

    Raises:
        ConfigurationError: there is no such table, it cannot have the partitions, or both connections are given.
    """
    check_partitions(named_table(text, postgres_conn_id, iceberg_conn_id), partition_by)


def named_table(text: str, postgres_conn_id: str | None, iceberg_conn_id: str | None) -> LandingTable:
    """The table that arguments of an operator name, without secrets, for checks; no connection is read.

    Raises:
        ConfigurationError: there is no such table, or both connections are given.
    """
    if postgres_conn_id is not None and iceberg_conn_id is not None:
        raise ConfigurationError(f"{POSTGRES} and {ICEBERG} are given, but a table is in one of them: give that one")
    if iceberg_conn_id is not None:
        return catalog_table(text, iceberg_conn_id, {}, ICEBERG)
    return shown_table(text, None if postgres_conn_id is None else "", POSTGRES)


def check_store(text: str, iceberg_conn_id: str | None, aws_conn_id: str | None) -> None:
    """Check that a table may be in a store of AWS, if a connection to AWS is given; no connection is read.

    Raises:
        ConfigurationError: it cannot be in one.
    """
    if aws_conn_id is not None and iceberg_conn_id is None and not text.startswith((_S3, "iceberg:")):
        raise ConfigurationError(
            f"{AWS} is given, but the table is in no store of AWS: name one such as {_S3}bucket/path, or a table of "
            f"Iceberg, or leave {AWS} out"
        )


def check_errors_sink(
    text: str, postgres_conn_id: str | None, iceberg_conn_id: str | None, aws_conn_id: str | None
) -> None:
    """Check the name of an errors table or an errors stream when an operator is made; no connection is read.

    Raises:
        ConfigurationError: there is no such table or stream, or the table cannot be in the store.
    """
    if ErrorsStream.of_text(text) is None:
        check_table(text, postgres_conn_id, iceberg_conn_id)
        check_store(text, iceberg_conn_id, aws_conn_id)


def errors_in(text: str, connection: ConnectionLike | None, beside: str) -> LandingTable | ErrorsStream:
    """The errors table that a text names, as `table_in`; or an errors stream, `stream:scope/name`.

    Raises:
        ConfigurationError: there is no such table or stream, or the connection cannot work.
    """
    return ErrorsStream.of_text(text) or table_in(text, connection, beside)


def table_in(text: str, connection: ConnectionLike | None, beside: str) -> LandingTable:
    """The table that a text names, with the secrets of its connection.

    Args:
        text: the table, as an argument of an operator names it.
        connection: the connection; None: the text names the table by itself.
        beside: the argument that names the connection, `postgres_conn_id` or `iceberg_conn_id`.

    Raises:
        ConfigurationError: there is no such table, or the connection cannot work.
    """
    if connection is not None and beside == ICEBERG:
        return catalog_table(text, connection.conn_id, catalog_properties(connection), ICEBERG)
    return shown_table(text, None if connection is None else libpq_dsn(connection), POSTGRES)


def argument_of(connection: ConnectionLike) -> str:
    """The argument of an operator that names a connection of this type."""
    return ICEBERG if connection.conn_type == TYPE else POSTGRES
