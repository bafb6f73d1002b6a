"""A PostgreSQL whose changes Debezium reads."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final, Self

import psycopg2
from tests.system.airflow.postgres import Postgres
from tests.system.cdc.load import AwayError
from tests.system.servers import free_ports

# What is committed is in the log, as far as a kill of processes goes.
_SETTINGS: Final = {"wal_level": "logical", "synchronous_commit": "on", "full_page_writes": "on"}
_MAKE: Final = """
create table accounts (id int primary key, owner text not null, balance numeric(12,2), opened date,
  seen timestamp(6), note text);
create table order_items (order_id int, line int, sku varchar(40), qty bigint not null default 1, big text,
  primary key (order_id, line));
create table extras (id int primary key, n int, big text, note text);
alter table order_items alter big set storage external;
alter table extras alter big set storage external;
"""


class PostgreSQL:
    """One database with the two tables; use it as a context manager."""

    schema = "public"

    def __init__(self, folder: Path) -> None:
        self._server = Postgres(free_ports(1)[0], folder / "postgres.log", _SETTINGS)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self._server)
        self.run(_MAKE)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def source(self, folder: Path) -> dict[str, str]:
        """The settings of Debezium's connector."""
        del folder
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": "127.0.0.1",
            "database.port": str(self._server.port),
            "database.user": "airflow",
            "database.password": "airflow",
            "database.dbname": "postgres",
            "plugin.name": "pgoutput",
            "publication.autocreate.mode": "filtered",
            "table.include.list": "public.accounts,public.order_items,public.extras",
        }

    def run(self, statements: str) -> None:
        """Run statements as one transaction."""
        try:
            with closing(self._connect()) as connection, connection, connection.cursor() as cursor:
                cursor.execute(statements)
        except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
            raise AwayError(str(error)) from error

    @contextmanager
    def open_transaction(self, statements: str) -> Iterator[None]:
        """A transaction that has run statements, and is committed when the block ends."""
        with closing(self._connect()) as connection, connection, connection.cursor() as cursor:
            cursor.execute(statements)
            yield

    def rows(self, *queries: str) -> list[list[tuple[Any, ...]]]:
        """The answers to queries, all of one moment."""
        answers = []
        with closing(self._connect()) as connection:
            connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
            with connection.cursor() as cursor:
                for query in queries:
                    cursor.execute(query)
                    answers.append(cursor.fetchall())
        return answers

    @property
    def dsn(self) -> str:
        """Its address, for libpq."""
        return self._server.url("psycopg2").replace("+psycopg2", "")

    def _connect(self) -> Any:
        return psycopg2.connect(self.dsn)

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self._server.kill()

    def start(self) -> None:
        """Start it again after a kill."""
        self._server.start()
