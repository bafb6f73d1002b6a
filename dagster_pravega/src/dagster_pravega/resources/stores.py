"""Resources that have the access to tables: databases, object stores, and catalogs of Iceberg."""

from typing import Any

from dagster import ConfigurableResource
from pydantic import Field

from dagster_pravega.metadata.secured import SECRET, STRICT
from pravega_jobs.landing.store_access import StoreAccess


class ObjectStore(ConfigurableResource["ObjectStore"]):
    """An object store with tables: endpoint and keys of S3, or options of others. Give secrets as `dagster.EnvVar`.

    Dagster stores the name of the variable then, not its value. What is not given comes from the environment
    (`AWS_…`, `GOOGLE_…`, `AZURE_…`), or from the machine, which also renews tokens that end: give no keys for that. The
    keys are sent to Spark's executors; they are in no metadata, log or plan of Spark.
    """

    model_config = STRICT

    access_key_id: str | None = Field(default=None, description="the id of a key of S3", repr=False)
    secret_access_key: str | None = Field(
        default=None, description="the secret of the key", repr=False, json_schema_extra=SECRET
    )
    session_token: str | None = Field(
        default=None, description="the token of a key that ends", repr=False, json_schema_extra=SECRET
    )
    region: str | None = Field(default=None, description="the region of S3")
    endpoint_url: str | None = Field(
        default=None, description="the address of a store that speaks S3; by default that of AWS"
    )
    options: dict[str, str] = Field(
        default={},
        description="more options, as obstore and deltalake name them, such as azure_storage_account_key",
        repr=False,
        json_schema_extra=SECRET,
    )

    def get_access(self) -> StoreAccess:
        """The access for tables in the store."""
        return StoreAccess(self._options)

    def _options(self) -> dict[str, str]:
        named = {
            "aws_access_key_id": self.access_key_id,
            "aws_secret_access_key": self.secret_access_key,
            "aws_session_token": self.session_token,
            "aws_region": self.region,
            "aws_endpoint_url": self.endpoint_url,
        }
        return {**{name: value for name, value in named.items() if value}, **self.options}


class IcebergCatalog(ConfigurableResource["IcebergCatalog"]):
    """A catalog of Iceberg, by the properties of pyiceberg. Give secrets as `dagster.EnvVar`.

    Dagster stores the name of the variable then, not its value. Properties that pyiceberg's configuration has under the
    catalog's name are added. The catalog is opened again for each landing, so that its tokens are renewed.
    """

    model_config = STRICT

    name: str = Field(default="default", description="the name of the catalog in pyiceberg's configuration")
    type: str | None = Field(default=None, description="rest, sql, glue or hive; by default as in the address")
    uri: str | None = Field(
        default=None, description="the address of the catalog", repr=False, json_schema_extra=SECRET
    )
    warehouse: str | None = Field(default=None, description="the warehouse, or where new tables are")
    credential: str | None = Field(
        default=None, description="id and secret of a client, with : between them", repr=False, json_schema_extra=SECRET
    )
    token: str | None = Field(default=None, description="a bearer token", repr=False, json_schema_extra=SECRET)
    properties: dict[str, str] = Field(
        default={}, description="more properties of pyiceberg", repr=False, json_schema_extra=SECRET
    )

    def get_properties(self) -> dict[str, Any]:
        """The properties for pyiceberg, secrets included."""
        named = ("type", "uri", "warehouse", "credential", "token")
        given = {each: getattr(self, each) for each in named}
        return {**{name: value for name, value in given.items() if value}, **self.properties}


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
