"""Tables as the sinks of claims in Airflow: by their texts and connections, and how a take-over finds them."""

from collections.abc import Mapping
from typing import Final, Literal

from aiopravega.ledger import Sink
from airflow_pravega.connections.postgres import libpq_dsn
from airflow_pravega.hooks.pravega import PravegaHook
from pravega_jobs.landing import LandingTable, shown_table

# Before the id of a connection of Airflow, which stands for the address of a database; a table follows after `#`.
_CONNECTION: Final = "connection:"


def table_sink(
    kind: Literal["landing", "merge"], table: str, conn_id: str | None, cuts: Mapping[str, str], generation: int = 1
) -> Sink:
    """The sink of a landing or a merge: the table, without a secret."""
    target = table if conn_id is None else f"{_CONNECTION}{conn_id}#{table}"
    return Sink(kind=kind, target=target, id=f"{cuts['consumer']} {cuts['interval']}", generation=generation)


def find_table(target: str) -> LandingTable:
    """The table of a sink, with the secrets of its connection.

    Raises:
        AirflowNotFoundException: the connection does not exist any more.
        ConfigurationError: this process cannot read such a table.
    """
    if not target.startswith(_CONNECTION):
        return shown_table(target, None, "")
    conn_id, _, table = target.removeprefix(_CONNECTION).partition("#")
    return shown_table(table, libpq_dsn(PravegaHook.get_connection(conn_id)), "")
