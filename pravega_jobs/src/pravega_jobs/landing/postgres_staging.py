"""Staging tables in PostgreSQL: rows on their way into a table beside it, which no reader of the table sees.

The driver's connection holds a lock with the number of its staging table. A staging table whose lock is free belongs to
a run that has ended: the next run removes it.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final, cast

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing.postgres_copy import STAGED_BY
from pravega_jobs.landing.postgres_notes import NOTES, Location
from pravega_jobs.landing.postgres_sql import connect, drop_if_unused, drop_quietly, qualified, quoted, statements
from pravega_jobs.landing.rows import Copied
from pravega_jobs.landing.rules import Landing

_STAGING: Final = "pravega_staged_"
# The location of a table that is ready for rows, and the columns of a staging table with their types; None: the type
# that the table has.
Prepared = tuple[Location, Mapping[str, str | None]]


@contextmanager
def new_staging_table(dsn: str, prepare: Callable[[Any], Prepared]) -> Iterator[tuple[Any, str]]:
    """A connection and a new staging table, which is removed afterwards; its rows name the try that has copied them.

    Args:
        dsn: the address of the database.
        prepare: makes the table and its notes ready, and gives the columns. Its cursor is in a transaction in which no
            other run prepares a table.

    Raises:
        LandingError: `prepare` refuses, or the server does.
    """
    number = secrets.randbits(62)
    with closing(connect(dsn)) as connection:
        with statements(connection) as cursor:
            cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (NOTES,))
            location, columns = prepare(cursor)
            _remove_abandoned(cursor, location)
            cursor.execute("select pg_advisory_lock(%s)", (number,))
            staging = qualified(location.schema, f"{_STAGING}{number}")
            selected = ", ".join(
                quoted(name) if kind is None else f"null::{kind} as {quoted(name)}" for name, kind in columns.items()
            )
            cursor.execute(f"create unlogged table {staging} as select {selected} from {location.table} with no data")
            cursor.execute(f"alter table {staging} add column {STAGED_BY} text not null")
        try:
            yield connection, staging
        finally:
            drop_quietly(connection, staging)


def check_copied(landing: Landing, copied: Sequence[Copied], staged: int) -> None:
    """Check that all rows are staged that the tries which count have copied.

    Raises:
        LandingError: others are.
    """
    reported = sum(each.rows for each in copied)
    if staged != reported:
        raise LandingError(
            f"{landing}: {reported} rows were copied, but {staged} are staged. The table was not changed"
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
