"""Tables in which tasks land or merge rows, as outputs, with the columns of the stream that their columns are."""

from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from aiopravega.errors import PravegaError
from airflow_pravega.connections.fields import ConnectionLike
from airflow_pravega.connections.iceberg import TYPE as ICEBERG_TYPE
from airflow_pravega.connections.iceberg import catalog_properties
from airflow_pravega.lineage import Columns, FileData, Lineage, TableData
from pravega_jobs.landing import LandingTable, folder_of
from pravega_jobs.merging.rules import columns_of_stream
from pravega_jobs.merging.state import state_of


def table_data(table: str, connection: ConnectionLike | None, rows: int | None = None) -> FileData | TableData | None:
    """A table that a task lands or merges rows in; None: it has no name that others would give it.

    Args:
        table: the table, as an argument of an operator names it.
        connection: to its database or its catalog, if it is in one.
        rows: the number of rows that it got.
    """
    if connection is None:
        folder = folder_of(table)
        return None if folder is None else FileData(folder, rows)
    if connection.conn_type == ICEBERG_TYPE:
        uri = urlsplit(str(catalog_properties(connection).get("uri", "")))
        return (
            TableData(f"{uri.scheme}://{uri.netloc.rpartition('@')[2]}{uri.path}", table, rows) if uri.netloc else None
        )
    name = table if "." in table else f"public.{table}"
    return TableData(f"postgres://{connection.host}:{connection.port or 5432}", f"{connection.schema}.{name}", rows)


def columns_in(table: LandingTable) -> Columns:
    """The names and Arrow's types of a table's columns, as far as its kind has them; no error fails the task."""
    with suppress(PravegaError):
        state = state_of(table)
        return () if state is None else tuple((each.name, str(each.type)) for each in state.columns)
    return ()


def rows_taken(lineage: Lineage, table: FileData | TableData | None, columns: Columns, *, changed: bool) -> Lineage:
    """The lineage of a task whose rows a table has taken; `changed`: a function has changed them on the way."""
    if table is None:
        return replace(lineage, outputs=())
    unchanged = () if changed else columns_of_stream(name for name, _ in columns)
    return replace(lineage, outputs=(replace(table, columns=columns),), unchanged=frozenset(unchanged))
