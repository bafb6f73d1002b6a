"""Tables of PostgreSQL: rows, and the holding of their interval, in one transaction.

Spark's tasks, or this process, copy rows into a staging table, each in its own transaction and under a name that no
other try has. One transaction then moves the rows of the tries that count as done into the table, removes the rows of
an older generation, and stores the holding. A run that is killed before its commit has changed nothing.

The driver's connection holds a lock with the number of its staging table. A staging table whose lock is free belongs to
a run that has ended: the next run removes it.
"""

import json
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing.growth import TableColumns
from pravega_jobs.landing.parquet import own_columns
from pravega_jobs.landing.postgres_copy import STAGED_BY, postgres_type
from pravega_jobs.landing.postgres_growth import columns_of_table, grow, growth_of, lock_to_grow
from pravega_jobs.landing.postgres_notes import NOTES, Location, PostgresStanding
from pravega_jobs.landing.postgres_sql import (
    connect,
    drop_if_unused,
    drop_quietly,
    qualified,
    quoted,
    split_name,
    statements,
    transaction,
)
from pravega_jobs.landing.rows import Copied, Rows
from pravega_jobs.landing.rules import OWN_COLUMNS, Action, Evolution, Holding, Landed, Landing, decide
from pravega_jobs.landing.table_kind import LandingTable

if TYPE_CHECKING:
    import pyarrow as pa

_STAGING: Final = "pravega_staged_"
_ROWS: Final = 10_000


@dataclass(frozen=True, slots=True)
class StagedCopy:
    """Rows in a staging table: the columns, and the tries of tasks that count, with their rows."""

    connection: Any
    staging: str
    columns: tuple[str, ...]
    copied: tuple[Copied, ...]

    @property
    def rows(self) -> int:
        """The rows of the tries that count."""
        return sum(each.rows for each in self.copied)


@dataclass(frozen=True, slots=True)
class Postgres(LandingTable):
    """A table of PostgreSQL. It is made if it is missing, with an index on the columns of a landing.

    The driver and Spark's executors connect to the server, with `psycopg2`. The holdings are in the table
    `pravega_landings` of the same schema.

    Args:
        dsn: the address of the database for libpq: `postgresql://user@host/database`. A password is best in
            `PGPASSFILE` or `PGPASSWORD`; the executors get the address with all that it has.
        table: the table, with or without its schema.

    Raises:
        ConfigurationError: the name of the table is empty, or has more than two parts.
    """

    dsn: str = field(repr=False)
    table: str

    def __post_init__(self) -> None:
        split_name(self.table)

    def location(self) -> str:
        """The table's name with its schema, in its database on its server.

        Raises:
            LandingError: the server cannot be asked.
        """
        with transaction(self.dsn) as cursor:
            found = Location.found(cursor, self.table)
            return f"{_database(cursor)}/{found.schema}.{found.name}"

    def identity(self) -> str:
        """The oid of the table, in its database on its server; the location, if there is no such table.

        Raises:
            LandingError: the server cannot be asked.
        """
        with transaction(self.dsn) as cursor:
            found = Location.found(cursor, self.table)
            return f"{_database(cursor)}/{found.oid or f'{found.schema}.{found.name}'}"

    @contextmanager
    def standing(self) -> Iterator[PostgresStanding]:
        """The table as it stands now, in a transaction.

        Raises:
            LandingError: the server cannot be asked.
        """
        with transaction(self.dsn) as cursor:
            yield PostgresStanding(cursor, Location.found(cursor, self.table))

    def columns(self) -> TableColumns | None:
        """The columns of the table; None: it does not exist."""
        with transaction(self.dsn) as cursor:
            found = Location.found(cursor, self.table)
            return None if found.oid is None else columns_of_table(cursor, found.table)

    def rows(self) -> dict[tuple[str, str], int]:
        """Numbers of rows by consumer and interval, counted in the table. It reads the whole table."""
        own = ", ".join(OWN_COLUMNS)
        with transaction(self.dsn) as cursor:
            found = Location.found(cursor, self.table)
            if found.oid is None:
                return {}
            cursor.execute(f"select {own}, count(*) from {found.table} group by {own}")
            return {(consumer, interval): count for consumer, interval, count in cursor.fetchall()}

    def read(self, holding: Holding, columns: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        """The rows of an interval, as its server finds them."""
        import pyarrow as pa

        where = " and ".join(f"{name} = %s" for name in OWN_COLUMNS)
        with transaction(self.dsn) as cursor:
            table = Location.found(cursor, self.table).table
            names = ", ".join(map(quoted, columns.names))
            cursor.execute(f"select {names} from {table} where {where}", (holding.consumer, holding.interval))
            while rows := cursor.fetchmany(_ROWS):
                values = ([bytes(each) if isinstance(each, memoryview) else each for each in row] for row in rows)
                by_column = zip(zip(*values, strict=True), columns.types, strict=True)
                arrays = [pa.array(column, kind) for column, kind in by_column]
                yield pa.RecordBatch.from_arrays(arrays, schema=columns)

    @contextmanager
    def staged(self, rows: Rows, landing: Landing) -> Iterator[StagedCopy]:
        """Copy the rows into a staging table, which is removed afterwards.

        Raises:
            LandingError: a column is of a type that PostgreSQL does not have, or the table lacks it.
        """
        types = {name: postgres_type(name, text) for name, text in rows.types().items()}
        with self.new_staging(types, landing) as (connection, staging, columns):
            copied = rows.copy(self.dsn, staging)
            yield StagedCopy(connection, staging, columns, copied)

    @contextmanager
    def new_staging(self, types: dict[str, str], landing: Landing) -> Iterator[tuple[Any, str, tuple[str, ...]]]:
        """A connection, a new staging table with columns of these types, and the columns' names, quoted.

        Raises:
            LandingError: the table lacks a column.
        """
        number = secrets.randbits(62)
        columns = tuple(map(quoted, types))
        with closing(connect(self.dsn)) as connection:
            with statements(connection) as cursor:
                cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (NOTES,))
                location = self._made(cursor, types).prepare_notes(cursor)
                _check_table(cursor, location, types, landing)
                _remove_abandoned(cursor, location)
                cursor.execute("select pg_advisory_lock(%s)", (number,))
                staging = qualified(location.schema, f"{_STAGING}{number}")
                grown = growth_of(cursor, location.table, types, landing)
                wanted = {name: types[name] for name in (*grown.added, *grown.widened)}
                selected = [
                    f"null::{wanted[name]} as {column}" if name in wanted else column
                    for name, column in zip(types, columns, strict=True)
                ]
                query = f"select {', '.join(selected)} from {location.table} with no data"
                cursor.execute(f"create unlogged table {staging} as {query}")
                cursor.execute(f"alter table {staging} add column {STAGED_BY} text not null")
            try:
                yield connection, staging, columns
            finally:
                drop_quietly(connection, staging)

    def commit(self, staged: StagedCopy, landing: Landing) -> Landed:
        """Move the staged rows into the table, unless it has them, and store the holding, in one transaction.

        Raises:
            LandingError: the table must not take them, or other rows were staged than Spark has reported.
        """
        names = landing.interval.consumer, landing.interval.name
        with statements(staged.connection) as cursor:
            # So that it is not dropped and made again from here on.
            table = qualified(*split_name(self.table))
            lock_to_grow(cursor, table, staged.staging, landing)
            location = Location.found(cursor, self.table)
            # The landings of a consumer come one after the other: each finds the notes of those before.
            cursor.execute(
                "select pg_advisory_xact_lock(hashtextextended(%s, 1))",
                (json.dumps((location.oid, landing.interval.consumer)),),
            )
            found = PostgresStanding(cursor, location)
            action, held = decide(found, landing)
            if held is not None:
                return Landed(action, held)
            grow(cursor, location.table, staged.staging, landing)
            if action is Action.REPLACE:
                own = own_columns(landing)
                where = " and ".join(f"{name} = %s" for name in own)
                cursor.execute(f"delete from {location.table} where {where}", tuple(own.values()))
            all_columns = ", ".join((*staged.columns, *OWN_COLUMNS))
            cursor.execute(
                f"insert into {location.table} ({all_columns}) select {', '.join((*staged.columns, '%s', '%s'))} "
                f"from {staged.staging} where {STAGED_BY} = any(%s)",
                (*names, [each.task for each in staged.copied]),
            )
            if cursor.rowcount != staged.rows:
                raise LandingError(
                    f"{landing}: Spark has copied {staged.rows} rows, but {cursor.rowcount} are staged. The table was "
                    "not changed"
                )
            holding = Holding.of(landing, staged.rows)
            found.store(holding)
        return Landed(action, holding)

    def _made(self, cursor: Any, types: dict[str, str]) -> Location:
        """The location of the table, which is made if it is missing."""
        location = Location.found(cursor, self.table)
        if location.oid is None:
            columns = [*(f"{quoted(name)} {of_type}" for name, of_type in types.items())]
            columns += [f"{name} text" for name in OWN_COLUMNS]
            cursor.execute(f"create table {location.table} ({', '.join(columns)})")
            cursor.execute(f"create index on {location.table} ({', '.join(OWN_COLUMNS)})")
        return Location.found(cursor, self.table)


def _check_table(cursor: Any, location: Location, types: dict[str, str], landing: Landing) -> None:
    cursor.execute(f"select * from {location.table} limit 0")
    names = {column.name for column in cursor.description}
    needed = OWN_COLUMNS if landing.new_columns is Evolution.ADD else (*types, *OWN_COLUMNS)
    missing = [name for name in needed if name not in names]
    if missing:
        raise LandingError(
            f"{landing}: {location.table} has no column {', '.join(missing)}: add it to the table, as "
            "new_columns='add' does, or leave it out of the rows, as new_columns='ignore' does. Nothing was changed"
        )


def _remove_abandoned(cursor: Any, location: Location) -> None:
    """Remove the staging tables whose run has ended: their locks are free."""
    cursor.execute(
        "select tablename from pg_tables where schemaname = %s and tablename like %s",
        (location.schema, _STAGING.replace("_", r"\_") + "%"),
    )
    for (name,) in cast("list[tuple[str]]", cursor.fetchall()):
        number = name.removeprefix(_STAGING)
        if not number.isdecimal():
            raise ConfigurationError(f"{name} is named like a staging table of a landing, but is not: rename it")
        cursor.execute("select pg_try_advisory_xact_lock(%s)", (int(number),))
        if cursor.fetchone()[0]:
            drop_if_unused(cursor, qualified(location.schema, name))


def _database(cursor: Any) -> str:
    """The database, by the identifier of its server's data and its own oid: addresses have several spellings."""
    cursor.execute(
        "select system_identifier, (select oid from pg_database where datname = current_database()) "
        "from pg_control_system()"
    )
    return "postgresql:{}/{}".format(*cursor.fetchone())
