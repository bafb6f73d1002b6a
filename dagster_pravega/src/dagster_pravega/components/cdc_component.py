"""A component for the tables of a database, by YAML alone: an asset for each, with its checks."""

from typing import Any, Literal

import dagster as dg
from pydantic import Field

from aiopravega.errors import ConfigurationError
from dagster_pravega.assets.cdc import build_cdc_asset
from dagster_pravega.checks.cdc_drift import build_cdc_drift_check
from dagster_pravega.checks.cdc_ghosts import build_cdc_ghost_check
from dagster_pravega.checks.debezium import build_debezium_check
from dagster_pravega.checks.lag import build_stream_lag_check
from dagster_pravega.components.connection import Connection, Database, Spark, scaffolder
from dagster_pravega.components.fields import (
    AssetPart,
    Cron,
    Length,
    Options,
    Since,
    StreamText,
    texts_of,
)
from dagster_pravega.components.stores import TablePart
from dagster_pravega.components.yaml_part import YamlPart
from dagster_pravega.metadata.spec import pravega_stream_spec
from pravega_jobs.debezium.server.streams import stream_of_table
from pravega_jobs.identity.names import consumer_of_assets
from pravega_jobs.landing.rules import Evolution
from pravega_jobs.merging.rules import Deletes, Ghosts, RowHistory, Unsent

_NAME = "{name}"
_EXAMPLE = {
    "scope": "examples",
    "topic_prefix": "inv",
    "table": "delta:/tmp/lake/{name}",
    "tables": [{"name": "public.orders", "key_of_rows": ["id"], "columns": "id int, price decimal(10,2)"}],
}


class RetryModel(YamlPart):
    """Further tries of a run's step after an error that may pass."""

    max_retries: int = Field(default=1, ge=1, description="the most tries after the first")
    delay: float | None = Field(default=None, ge=0, description="seconds between two tries", examples=[30])


class CdcTableModel(AssetPart):
    """A table of the database. Fields that are not given come from the component."""

    name: str = Field(
        description="as the database calls it: `schema.table`, or `database.table`", examples=["public.orders"]
    )
    key_of_rows: list[str] = Field(description="the columns that identify a row", min_length=1, examples=[["id"]])
    columns: str | None = Field(
        default=None,
        description="of the table, as SQL writes them; by default as in the schemas that events carry",
        examples=["id int, price decimal(10,2)"],
    )
    stream: StreamText | None = Field(
        default=None,
        description="scope/stream; by default the component's scope, and its topic prefix and the name, with - for _",
        examples=["examples/inv.public.orders"],
    )
    table: str | None = Field(
        default=None,
        description="the table that is kept, instead of the component's pattern",
        examples=["delta:/lake/orders"],
    )
    partition_by: list[str] = Field(
        default=[],
        description="the partitions of a new table: columns, in Iceberg also functions of columns",
        examples=[["country"]],
    )
    consumer: str | None = Field(
        default=None, description="name of its chain of ranges in the cut ledger; by default `dagster/` and the key"
    )
    options: Options = Field(default={}, description="more options of the read, such as `truncates`; not for secrets")
    input_metadata: dict[str, Any] = Field(
        default={},
        description="more metadata of the input",
        examples=[{"pravega/on_truncated": "skip"}],
    )
    retry_policy: RetryModel | None = Field(default=None, description="tries after an error that may pass")


@dg.scaffold_with(scaffolder(_EXAMPLE))
class PravegaCdcComponent(dg.Component, TablePart):
    """Tables of a database: an asset for each, which follows it by Debezium's changes, and an asset for its stream.

    Each table is one `build_cdc_asset`: a run merges the changes since the last run. Loading it asks no cluster.
    `connection` makes the resource of Pravega and, with `spark`, the IO manager of Spark; an empty `connection` takes
    all from the environment. Secrets are named by their variables (`password_env`, `dsn_env`), since Dagster keeps the
    configuration of resources in its database. Files of a project with the same `connection` and `spark` share the
    resources. Without `connection`, the project must define them elsewhere. For a second cluster give the file another
    `resource_key`, a `key_prefix` and a `stream_key_prefix`.
    """

    scope: str = Field(description="scope of the streams", examples=["examples"])
    topic_prefix: str = Field(
        description="Debezium's `topic.prefix`: the first part of the streams' names", examples=["inv"]
    )
    tables: list[CdcTableModel] = Field(
        description="the tables", min_length=1, examples=[[{"name": "public.orders", "key_of_rows": ["id"]}]]
    )
    table: str | None = Field(
        default=None,
        description="the table that an asset keeps, with {name} for the source's name: `delta:/lake/{name}`, or "
        "`iceberg:catalog/{name}`",
        examples=["delta:/lake/{name}"],
    )
    key_prefix: list[str] = Field(
        default=[], description="put before the tables' keys, which are their names", examples=[["lake"]]
    )
    stream_key_prefix: list[str] = Field(
        default=[], description="put before the streams' keys, which are scope and stream", examples=[["europe"]]
    )
    group_name: str | None = Field(default=None, description="group of the assets", examples=["lake"])
    deletes: Deletes = Field(default=Deletes.HARD, description="`hard` removes rows, `soft` keeps them with `_deleted`")
    new_columns: Evolution = Field(
        default=Evolution.FAIL, description="columns that a table does not have: fail, ignore or add"
    )
    unsent: Unsent = Field(
        default=Unsent.FAIL, description="an update that lacks values, of no known row: fail or null"
    )
    ghosts: Ghosts = Field(
        default=Ghosts.KEEP,
        description="rows that a later snapshot does not have: `keep`, or `remove`, if snapshots have all rows",
    )
    history: RowHistory = Field(default=RowHistory.NONE, description="`none`, or `scd2` to keep every version of a row")
    since: Since = Field(default="last", description="where the first run starts: last (the head), latest (the tail)")
    cron: Cron | None = Field(
        default=None, description="when Dagster merges, such as `*/5 * * * *`", examples=["*/5 * * * *"]
    )
    warn_after: Length | None = Field(
        default=None,
        description="time in which a table has not been merged while changes wait, until a warning",
        examples=["1h"],
    )
    error_after: Length | None = Field(default=None, description="the same, until an error", examples=["6h"])
    checks: list[Literal["ghosts", "drift"]] = Field(
        default=[],
        description="`ghosts` and `drift`: the checks of `build_cdc_ghost_check`, `build_cdc_drift_check`",
        examples=[["ghosts", "drift"]],
    )
    debezium_settings: str | None = Field(
        default=None,
        description="path of Debezium's `application.properties`, to check it; the first stream gets the check",
        examples=["/etc/debezium/application.properties"],
    )
    database: Database | None = Field(
        default=None, description="the source's database, which the check of Debezium's settings then inspects"
    )
    table_database: Database | None = Field(
        default=None, description="the PostgreSQL that gets the tables; `table` is their name there, such as `{name}`"
    )
    connection: Connection | None = Field(
        default=None, description="the cluster; {} is the one of the environment", examples=[{}]
    )
    spark: Spark = Field(default_factory=Spark, description="fields of PravegaSparkIOManager, with `connection`")
    resource_key: str = Field(default="pravega", description="key of the PravegaResource")
    io_manager_key: str | None = Field(
        default=None,
        description="key of the PravegaSparkIOManager; by default the resource key and `_spark`",
        examples=["pravega_spark"],
    )
    database_key: str | None = Field(
        default=None, description="key of the resource of `database`; by default the resource key and `_database`"
    )
    table_database_key: str | None = Field(
        default=None, description="the same for `table_database`; by default the resource key and `_table_database`"
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The definitions; called by Dagster.

        Raises:
            ConfigurationError: a value cannot work.
        """
        del context
        assets: list[Any] = []
        checks: list[dg.AssetChecksDefinition] = []
        for each in self.tables:
            spec = self._stream(each)
            asset = self._asset(each, spec)
            assets += [spec, asset]
            if self.debezium_settings is not None and not checks:
                checks.append(
                    build_debezium_check(
                        spec,
                        settings=self.debezium_settings,
                        database_key=self._database_key,
                        resource_key=self.resource_key,
                    )
                )
            checks += self._checks(each, spec, asset)
            if self.warn_after is not None or self.error_after is not None:
                checks.append(self._lag(each, spec, asset))
        return dg.Definitions(assets=assets, asset_checks=checks, resources=self._resources())

    @property
    def _manager_key(self) -> str:
        return self.io_manager_key or f"{self.resource_key}_spark"

    @property
    def _database_key(self) -> str | None:
        return self.database_key or (None if self.database is None else f"{self.resource_key}_database")

    def table_keys(self, resource_key: str) -> dict[str, Any]:
        """The keys of all that have the tables, as arguments of assets and checks; None: there is none."""
        made = None if self.table_database is None else f"{resource_key}_table_database"
        return {"database_key": self.table_database_key or made, **super().table_keys(resource_key)}

    def _stream(self, table: CdcTableModel) -> dg.AssetSpec:
        name = table.stream or f"{self.scope}/{stream_of_table(self.topic_prefix, table.name)}"
        return pravega_stream_spec(
            name,
            key=[*self.stream_key_prefix, *name.split("/")],
            group_name=self.group_name,
            description=f"Changes of {table.name}",
        )

    def _kept_as(self, table: CdcTableModel) -> str:
        return table.table or str(self.table).replace(_NAME, table.name)

    def _asset(self, table: CdcTableModel, spec: dg.AssetSpec) -> dg.AssetsDefinition:
        if table.table is None and (self.table is None or _NAME not in self.table):
            raise ConfigurationError(
                f"{table.name} has no table to be kept in: give it `table`, or give the component `table` with "
                f"{_NAME}, such as delta:/lake/{_NAME}"
            )
        given = table.attributes(None if table.automation_condition else self.cron)
        if table.retry_policy is not None:
            retries = table.retry_policy
            given["retry_policy"] = dg.RetryPolicy(max_retries=retries.max_retries, delay=retries.delay)
        return build_cdc_asset(
            spec,
            key=[*self.key_prefix, *table.name.split(".")],
            table=self._kept_as(table),
            **self.table_keys(self.resource_key),
            key_of_rows=table.key_of_rows,
            columns=table.columns,
            deletes=self.deletes,
            new_columns=self.new_columns,
            partition_by=table.partition_by,
            unsent=self.unsent,
            ghosts=self.ghosts,
            history=self.history,
            since=None if table.partitions_def else self.since,
            consumer=table.consumer,
            options=texts_of(table.options),
            input_metadata=table.input_metadata,
            io_manager_key=self._manager_key,
            **{"group_name": self.group_name, **given},
        )

    def _checks(
        self, table: CdcTableModel, spec: dg.AssetSpec, asset: dg.AssetsDefinition
    ) -> list[dg.AssetChecksDefinition]:
        stream, kept, key = str(spec.metadata["pravega/stream"]), self._kept_as(table), self.resource_key
        options, checks = texts_of(table.options), []
        if "ghosts" in self.checks:
            checks.append(
                build_cdc_ghost_check(
                    asset,
                    stream=stream,
                    key_of_rows=table.key_of_rows,
                    columns=table.columns,
                    table=kept,
                    **self.table_keys(self.resource_key),
                    options=options,
                    resource_key=key,
                )
            )
        if "drift" in self.checks:
            of_table = options.get("table")
            more = {"of_table": of_table, "resource_key": key, **self.table_keys(self.resource_key)}
            checks.append(build_cdc_drift_check(asset, stream=stream, table=kept, **more))
        return checks

    def _lag(self, table: CdcTableModel, spec: dg.AssetSpec, asset: dg.AssetsDefinition) -> dg.AssetChecksDefinition:
        return build_stream_lag_check(
            asset,
            stream=str(spec.metadata["pravega/stream"]),
            consumer=table.consumer or consumer_of_assets([asset.key.to_user_string()]),
            warn_after=self.warn_after,
            error_after=self.error_after,
            resource_key=self.resource_key,
        )

    def _resources(self) -> dict[str, Any]:
        resources: dict[str, Any] = {}
        if self.connection is not None:
            resources[self.resource_key] = self.connection.resource()
            resources[self._manager_key] = self.spark.manager(self.connection)
        if self.database is not None:
            resources[str(self._database_key)] = self.database.resource()
        if self.table_database is not None:
            resources[self.table_keys(self.resource_key)["database_key"]] = self.table_database.resource()
        return resources | self.table_resources(self.resource_key)
