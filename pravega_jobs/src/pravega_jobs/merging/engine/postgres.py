"""Merges into a table of PostgreSQL: changes are copied beside it, and the database merges them, in one transaction.

The transaction has the merge, the columns that the table gets, and the note of the interval, so that a run that is
killed has changed nothing. Until its end others read the table, and wait when they write to it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from aiopravega.errors import LandingError
from aiopravega.schema.arrow.sql_columns import sql_type
from pravega_jobs.debezium.changes.metadata import CHANGE_TYPE, UNCHANGED
from pravega_jobs.landing.growth import is_wider
from pravega_jobs.landing.local_rows import arrow_columns
from pravega_jobs.landing.postgres import Postgres, found_batches
from pravega_jobs.landing.postgres_copy import POSTGRES_TYPES, STAGED_BY, postgres_type
from pravega_jobs.landing.postgres_growth import column_types, spark_types
from pravega_jobs.landing.postgres_notes import Location, PostgresStanding
from pravega_jobs.landing.postgres_sql import qualified, quoted, split_name, statements, transaction
from pravega_jobs.landing.postgres_staging import Prepared, check_copied, new_staging_table
from pravega_jobs.landing.rows import Copied, Rows
from pravega_jobs.landing.rules import Action, Holding
from pravega_jobs.merging.columns import columns_for, new_columns
from pravega_jobs.merging.engine.postgres_changes import ChangesInDatabase
from pravega_jobs.merging.merges import Merge, Merged, decide
from pravega_jobs.merging.rules import TableRules
from pravega_jobs.merging.target import TableState

# The first release that has MERGE.
_LEAST_VERSION: Final = 150000
# The types of columns that only staging tables have.
_ABOUT: Final = {CHANGE_TYPE: "text", UNCHANGED: "jsonb"}
_NUMBERS: Final = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True, slots=True)
class StagedChanges:
    """Changes in a staging table: its columns, all columns of the changes, and the tries of tasks that count."""

    connection: Any
    staging: str
    columns: tuple[str, ...]
    changes: pa.Schema
    copied: tuple[Copied, ...]


@dataclass(frozen=True, slots=True)
class PostgresRows:
    """The rows of a table of PostgreSQL, which are read as if a file had them."""

    table: Postgres
    bounds: None = None

    def read(self, schema: pa.Schema) -> pa.Table:
        """Some columns of all rows."""
        with transaction(self.table.dsn) as cursor:
            found = Location.found(cursor, self.table.table)
            cursor.execute(f"select {', '.join(map(quoted, schema.names))} from {found.table}")
            return pa.Table.from_batches(found_batches(cursor, schema), schema)


@dataclass(frozen=True, slots=True)
class PostgresMerges:
    """A table of PostgreSQL as the target of merges, which wait for each other."""

    table: Postgres

    def decide(self, merge: Merge, *, in_order: bool) -> Holding | None:
        """The holding of the merge's interval; None: the changes are to be merged.

        Raises:
            LandingError: the changes must not be merged, or the server cannot be asked.
        """
        with self.table.standing() as found:
            return _held(found, merge, in_order=in_order)

    @contextmanager
    def staged(self, rows: Rows, merge: Merge, *, shared: bool) -> Iterator[StagedChanges]:
        """Copy the changes into a staging table, which is removed afterwards. The table is made if it is missing.

        Raises:
            LandingError: a column is of a type that PostgreSQL does not have, or the table cannot take the changes.
        """
        changes, kept = rows.arrow_schema(), dict[str, str | None]()

        def prepare(cursor: Any) -> Prepared:
            location = _made(cursor, self.table.table, changes, merge).prepare_notes(cursor)
            types = column_types(cursor, location.table)
            added = _added(types, changes, merge)
            for name in changes.names:
                if name in _ABOUT or name in added:
                    kept[name] = _ABOUT.get(name) or added[name]
                elif name in columns_for(changes, merge).names and name in types:
                    kept[name] = None
            return location, kept

        with new_staging_table(self.table.dsn, prepare) as (connection, staging):
            found = rows.types()
            copied = rows.select({name: found[name] for name in kept}).copy(self.table.dsn, staging)
            yield StagedChanges(connection, staging, tuple(kept), changes, copied)

    def commit(self, staged: StagedChanges, merge: Merge, *, in_order: bool) -> Merged:
        """Merge the staged changes, unless the table holds the interval, and store the holding, in one transaction.

        Raises:
            LandingError: the table must not take them, or cannot, or other changes are staged than were copied.
        """
        with statements(staged.connection) as cursor:
            table = qualified(*split_name(self.table.table))
            # So that it is not dropped and made again, and no other run changes it, from here on. A lock that becomes
            # a stronger one later could wait for a reader, which waits for this run.
            grows = bool(_added(column_types(cursor, table), staged.changes, merge))
            cursor.execute(f"lock table {table} in {'access' if grows else 'share row'} exclusive mode")
            location = Location.found(cursor, self.table.table)
            found = PostgresStanding(cursor, location)
            held = _held(found, merge, in_order=in_order)
            if held is not None:
                return Merged(Action.NOTHING, held)
            added = _added(column_types(cursor, location.table), staged.changes, merge)
            for name, kind in added.items():
                cursor.execute(f"alter table {location.table} add column {quoted(name)} {kind}")
            cursor.execute(f"analyze {staged.staging}")
            # A try that was given up may still commit rows, between two of these statements: they never count.
            changes = cursor.mogrify(
                f"(select * from {staged.staging} where {STAGED_BY} = any(%s))",
                ([each.task for each in staged.copied],),
            ).decode()
            cursor.execute(f"select count(*) from {changes} s")
            [count] = cursor.fetchone()
            check_copied(merge.landing, staged.copied, count)
            types = column_types(cursor, location.table)
            counts = ChangesInDatabase(cursor, changes, location.table, types, staged.columns, merge).apply()
            counts.new_columns += added
            holding = Holding.of(merge.landing, count)
            found.store(holding, merge.rules.of_table.to_text())
        return Merged(Action.MERGE, holding, counts)

    def state(self) -> TableState | None:
        """The columns of the table, whose rows are not counted; None: there is no table. Other types are texts."""
        with transaction(self.table.dsn) as cursor:
            found = Location.found(cursor, self.table.table)
            if found.oid is None:
                return None
            types = spark_types(column_types(cursor, found.table))
        return TableState(arrow_columns({name: _known(kind) for name, kind in types.items()}, pa.schema([])), None)

    def files(self, key: str) -> list[PostgresRows]:
        """One value that reads all rows of the table; none, if there is no table."""
        return [] if self.state() is None else [PostgresRows(self.table)]


def _held(found: PostgresStanding, merge: Merge, *, in_order: bool) -> Holding | None:
    text = found.merge_rules()
    return decide(found, merge, None if text is None else TableRules.from_text(text), in_order=in_order)


def _made(cursor: Any, table: str, changes: pa.Schema, merge: Merge) -> Location:
    """The location of the table, which is made if it is missing, with the key of the merge as its primary key."""
    if cursor.connection.server_version < _LEAST_VERSION:
        raise LandingError(
            f"{merge}: the server has no MERGE: merge into PostgreSQL 15 or a later one, or into a table of Delta or "
            "Iceberg. Nothing was changed"
        )
    location = Location.found(cursor, table)
    if location.oid is None:
        columns = [f"{quoted(each.name)} {_type(each)}" for each in columns_for(changes, merge)]
        key = ", ".join(map(quoted, merge.rules.key))
        cursor.execute(f"create table {location.table} ({', '.join(columns)}, primary key ({key}))")
    return Location.found(cursor, table)


def _added(types: Mapping[str, str], changes: pa.Schema, merge: Merge) -> dict[str, str]:
    """The columns of the changes that are to be added to a table first, with their types.

    Args:
        types: the columns of the table, with the names that PostgreSQL has for their types.
        changes: the columns of the changes.
        merge: the merge.

    Raises:
        LandingError: the table has other types or lacks columns, or rows are landed in it.
    """
    wanted, known = columns_for(changes, merge), spark_types(types)
    # The database turns values into its types; here they are only those that keep all values.
    taken = {
        name: sql_type(wanted.field(name).type)
        for name, kind in known.items()
        if name in wanted.names and _takes(kind, sql_type(wanted.field(name).type))
    }
    unlike = [
        f"{name} ({kind} in the table, {sql_type(wanted.field(name).type)} in the changes)"
        for name, kind in known.items()
        if name in wanted.names and name not in taken and _known(kind) != kind
    ]
    if unlike:
        raise LandingError(
            f"{merge}: types differ: {'; '.join(unlike)}. Cast those of the changes. Nothing was changed"
        )
    table = arrow_columns({name: taken.get(name) or _known(kind) for name, kind in known.items()}, wanted)
    return {each.name: _type(each) for each in new_columns(table, changes, merge)}


def _takes(kind: str, other: str) -> bool:
    """True if a column of a type takes all values of another type, or refuses those that it cannot hold."""
    if _known(kind) == kind:
        return kind == other or is_wider(kind, other)
    # A type that only PostgreSQL has reads a text, or refuses it.
    return other == "string" or (kind == "numeric" and (other in _NUMBERS or other.startswith("decimal(")))


def _known(kind: str) -> str:
    """A type that Spark has; text for a type that only PostgreSQL has."""
    return kind if kind in POSTGRES_TYPES or kind.startswith("decimal(") else "string"


def _type(column: pa.Field) -> str:
    return postgres_type(column.name, sql_type(column.type))
