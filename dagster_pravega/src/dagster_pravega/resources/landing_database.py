"""The resource that has the address of a database: of landed tables, or of the database that Debezium reads."""

from typing import Any

from dagster import ConfigurableResource
from pydantic import Field

from dagster_pravega.metadata.secured import SECRET, STRICT


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
