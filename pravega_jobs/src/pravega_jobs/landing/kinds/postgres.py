"""The kind of tables that a database of PostgreSQL has."""

from typing import Final

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.postgres import Postgres
from pravega_jobs.landing.postgres_sql import PSYCOPG2
from pravega_jobs.landing.table_kind import TableKind


def _table(text: str) -> Postgres:
    dsn, _, table = text.rpartition("#")
    if not dsn:
        raise ConfigurationError("the address of a database needs the table at its end: postgresql://…/database#table")
    return Postgres(dsn, table)


KIND: Final = TableKind(
    title="PostgreSQL",
    words=("postgresql", "postgres"),
    form="postgresql://user@host/database#schema.table",
    parse=_table,
    table_class=Postgres,
    icon="postgres",
    library=PSYCOPG2,
    has_address=True,
    merge_advice="For PostgreSQL, land the changes and apply them there",
    upkeep_advice="PostgreSQL keeps its tables up itself, by VACUUM",
)
