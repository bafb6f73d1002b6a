"""The resource that has the address of a database: of landed tables, or of the database that Debezium reads.

A claim names the table that it lands in without secrets; a step that has the database finds the table by that text.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from dagster import ConfigurableResource
from pydantic import Field

from aiopravega.errors import ConfigurationError
from dagster_pravega.metadata.secured import SECRET, STRICT
from dagster_pravega.metadata.spec import plain
from pravega_jobs.identity.sinks import FindTable
from pravega_jobs.landing import LandingTable, shown_table

if TYPE_CHECKING:
    from dagster._core.execution.context.system import StepExecutionContext

TABLE_KEY: Final = "pravega/table"
DATABASE_KEY: Final = "pravega/database"
# The argument of an asset that names the database, for messages.
BESIDE: Final = "database_key"


class LandingDatabase(ConfigurableResource["LandingDatabase"]):
    """A database of PostgreSQL. Its address may have a password: give it as `dagster.EnvVar`.

    Dagster stores the name of the variable then, not its value. The address is sent to the driver and Spark's
    executors; it is not in any metadata, log or plan of Spark.
    """

    model_config = STRICT

    dsn: str = Field(
        description="address of the server, as libpq reads it: postgresql://user@host/database",
        repr=False,
        json_schema_extra=SECRET,
    )


def dsn_of(resources: Any, key: str | None) -> str | None:
    """The address of the database of a key, by the resources of a run; None without a key."""
    if key is None:
        return None
    database: LandingDatabase = getattr(resources, key)
    return database.dsn


def sink_of_table(table: str, database_key: str | None) -> str:
    """The text by which a claim names a table: without the address of a database, which may have a password."""
    return table if database_key is None else f"{database_key}: {table}"


def tables_of_input(metadata: Mapping[str, Any], step: "StepExecutionContext") -> FindTable:
    """A function that finds the table of a claim: the one that an input's metadata name, or one without a database.

    Args:
        metadata: of the input; its asset has put its table there.
        step: has the resource of the database.
    """
    table, database = plain(metadata.get(TABLE_KEY)), plain(metadata.get(DATABASE_KEY))

    def find(target: str) -> LandingTable | None:
        if table is None or database is None or target != sink_of_table(table, database):
            return table_without_database(target)
        resources = step.scoped_resources_builder.build({database})
        return shown_table(table, dsn_of(resources, database), BESIDE)

    return find


def table_without_database(target: str) -> LandingTable | None:
    """The table of a claim, if its text alone names it; None: it is in a database."""
    try:
        return shown_table(target, None, BESIDE)
    except ConfigurationError:
        return None
