"""The kind of tables that a database of PostgreSQL has."""

from typing import TYPE_CHECKING, Final

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.postgres import Postgres
from pravega_jobs.landing.postgres_sql import PSYCOPG2
from pravega_jobs.landing.table_kind import TableKind

if TYPE_CHECKING:
    from pravega_jobs.merging.target import MergeTarget


def _table(text: str) -> Postgres:
    dsn, _, table = text.rpartition("#")
    if not dsn:
        raise ConfigurationError("the address of a database needs the table at its end: postgresql://…/database#table")
    return Postgres(dsn, table)


def _target(table: Postgres) -> "MergeTarget":
    from pravega_jobs.merging.engine.postgres import PostgresMerges

    return PostgresMerges(table)


KIND: Final = TableKind(
    title="PostgreSQL",
    words=("postgresql", "postgres"),
    form="postgresql://user@host/database#schema.table",
    parse=_table,
    table_class=Postgres,
    icon="postgres",
    library=PSYCOPG2,
    has_address=True,
    merges=_target,
    upkeep_advice="PostgreSQL keeps its tables up itself, by VACUUM",
)
