"""Tables of PostgreSQL: rows, and the holding of their interval, in one transaction.

Spark's tasks, or this process, copy rows into a staging table, each in its own transaction and under a name that no
other try has. One transaction then moves the rows of the tries that count as done into the table, removes the rows of
an older generation, and stores the holding. A run that is killed before its commit has changed nothing.

"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

from aiopravega.errors import LandingError
from pravega_jobs.landing.growth import TableColumns
from pravega_jobs.landing.parquet import own_columns
from pravega_jobs.landing.postgres_copy import STAGED_BY, postgres_type
from pravega_jobs.landing.postgres_growth import column_types, columns_of_table, grow, growth_of, lock_to_grow
from pravega_jobs.landing.postgres_notes import Location, PostgresStanding
from pravega_jobs.landing.postgres_sql import qualified, quoted, split_name, statements, transaction
from pravega_jobs.landing.postgres_staging import Prepared, check_copied, new_staging_table
from pravega_jobs.landing.rows import Copied, Rows
from pravega_jobs.landing.rules import (
    OWN_COLUMNS,
    Action,
    Evolution,
    Holding,
    Landed,
    Landing,
    decide,
    not_of_intervals,
)
from pravega_jobs.landing.table_kind import LandingTable

if TYPE_CHECKING:
    import pyarrow as pa

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

    refuses_nul: ClassVar[bool] = True

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

    def rows(self) -> dict[tuple[str, str], int] | None:
        """Numbers of rows by consumer and interval, counted in the table. It reads the whole table.

        None: changes are merged into the table, and its rows belong to no interval.
        """
        own = ", ".join(OWN_COLUMNS)
        with transaction(self.dsn) as cursor:
            found = Location.found(cursor, self.table)
            if found.oid is None:
                return {}
            if not {*OWN_COLUMNS} <= column_types(cursor, found.table).keys():
                return None
            cursor.execute(f"select {own}, count(*) from {found.table} group by {own}")
            return {(consumer, interval): count for consumer, interval, count in cursor.fetchall()}

    def read(self, holding: Holding, columns: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        """The rows of an interval, as its server finds them."""
        where = " and ".join(f"{name} = %s" for name in OWN_COLUMNS)
        with transaction(self.dsn) as cursor:
            table = Location.found(cursor, self.table).table
            names = ", ".join(map(quoted, columns.names))
            cursor.execute(f"select {names} from {table} where {where}", (holding.consumer, holding.interval))
            yield from found_batches(cursor, columns)

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

        def prepare(cursor: Any) -> Prepared:
            location = self._made(cursor, types).prepare_notes(cursor)
            _check_table(cursor, location, types, landing)
            grown = growth_of(cursor, location.table, types, landing)
            changed = grown.added | grown.widened
            return location, {name: kind if name in changed else None for name, kind in types.items()}

        with new_staging_table(self.dsn, prepare) as (connection, staging):
            yield connection, staging, tuple(map(quoted, types))

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
            check_copied(landing, staged.copied, cursor.rowcount)
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


def found_batches(cursor: Any, columns: "pa.Schema") -> "Iterator[pa.RecordBatch]":
    """The rows that a query has found, batch by batch, in these columns."""
    import pyarrow as pa

    while rows := cursor.fetchmany(_ROWS):
        values = ([bytes(each) if isinstance(each, memoryview) else each for each in row] for row in rows)
        by_column = zip(zip(*values, strict=True), columns.types, strict=True)
        arrays = [pa.array(column, kind) for column, kind in by_column]
        yield pa.RecordBatch.from_arrays(arrays, schema=columns)


def _check_table(cursor: Any, location: Location, types: dict[str, str], landing: Landing) -> None:
    if PostgresStanding(cursor, location).merge_rules() is not None:
        raise not_of_intervals(landing)
    names = column_types(cursor, location.table)
    needed = OWN_COLUMNS if landing.new_columns is Evolution.ADD else (*types, *OWN_COLUMNS)
    missing = [name for name in needed if name not in names]
    if missing:
        raise LandingError(
            f"{landing}: {location.table} has no column {', '.join(missing)}: add it to the table, as "
            "new_columns='add' does, or leave it out of the rows, as new_columns='ignore' does. Nothing was changed"
        )


def _database(cursor: Any) -> str:
    """The database, by the identifier of its server's data and its own oid: addresses have several spellings."""
    cursor.execute(
        "select system_identifier, (select oid from pg_database where datname = current_database()) "
        "from pg_control_system()"
    )
    return "postgresql:{}/{}".format(*cursor.fetchone())
