"""A component for the tables of a database, by YAML alone: an asset for each, with its checks."""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
from pydantic import Field

from aiopravega.errors import ConfigurationError
from dagster_pravega.assets.cdc import pravega_cdc_asset
from dagster_pravega.checks.cdc_drift import build_cdc_drift_check
from dagster_pravega.checks.cdc_ghosts import build_cdc_ghost_check
from dagster_pravega.checks.debezium import build_debezium_check
from dagster_pravega.checks.lag import build_stream_lag_check
from dagster_pravega.components.component import time_of
from dagster_pravega.components.connection import resource_of, scaffolder, spark_of
from dagster_pravega.metadata.spec import pravega_stream_spec
from pravega_jobs.debezium.server.streams import stream_of_table
from pravega_jobs.identity.names import consumer_of_assets

_NAME = "{name}"
_CHECKS = ("ghosts", "drift")
_EXAMPLE = {
    "scope": "examples",
    "topic_prefix": "inv",
    "table": "delta:/tmp/lake/{name}",
    "tables": [{"name": "public.orders", "key_of_rows": ["id"], "columns": "id int, price decimal(10,2)"}],
}


class CdcTableModel(dg.Model, dg.Resolvable):
    """A table of the database. Fields that are not given come from the component."""

    name: str = Field(description="as the database calls it: `schema.table`, or `database.table`")
    key_of_rows: Sequence[str] = Field(description="the columns that identify a row")
    columns: str | None = Field(
        default=None,
        description="of the table, as SQL writes them; by default as in the schemas that events carry",
    )
    stream: str | None = Field(
        default=None,
        description="scope/stream; by default the component's scope, and its topic prefix and the name, with - for _",
    )
    table: str | None = Field(default=None, description="the table that is kept, instead of the component's pattern")
    options: Mapping[str, str] = Field(default={}, description="more options of the read, such as `truncates`")


@dg.scaffold_with(scaffolder(_EXAMPLE))
class PravegaCdcComponent(dg.Component, dg.Model, dg.Resolvable):
    """Tables of a database: an asset for each, which follows it by Debezium's changes, and an asset for its stream.

    Each table is one `pravega_cdc_asset` without partitions: a run merges the changes since the last run. Loading it
    asks no cluster. `connection` makes the resource of Pravega and the IO manager of Spark, with the fields of
    `PravegaResource` and, by `spark`, of `PravegaSparkIOManager`; an empty `connection` takes all from the environment.
    Files of a project with the same `connection` and `spark` share the resources. Without `connection`, the project
    must define them elsewhere.
    """

    scope: str = Field(description="scope of the streams")
    topic_prefix: str = Field(description="Debezium's `topic.prefix`: the first part of the streams' names")
    tables: Sequence[CdcTableModel] = Field(description="the tables")
    table: str | None = Field(
        default=None,
        description="the table that an asset keeps, with {name} for the source's name: `delta:/lake/{name}`, or "
        "`iceberg:catalog/{name}`",
    )
    key_prefix: Sequence[str] = Field(default=[], description="put before the tables' keys, which are their names")
    group_name: str | None = Field(default=None, description="group of the assets")
    deletes: str = Field(default="hard", description="`hard` removes rows, `soft` keeps them with `_deleted`")
    new_columns: str = Field(default="fail", description="columns that a table does not have: fail, ignore or add")
    unsent: str = Field(default="fail", description="an update that lacks values, of no known row: fail or null")
    ghosts: str = Field(
        default="keep",
        description="rows that a later snapshot does not have: `keep`, or `remove`, if snapshots have all rows",
    )
    history: str = Field(default="none", description="`none`, or `scd2` to keep every version of a row")
    since: str = Field(default="last", description="where the first run starts: last (the head), latest (the tail)")
    cron: str | None = Field(default=None, description="when Dagster merges, such as `*/5 * * * *`")
    warn_after: str | None = Field(
        default=None, description="time in which a table has not been merged while changes wait, until a warning"
    )
    error_after: str | None = Field(default=None, description="the same, until an error")
    checks: Sequence[str] = Field(
        default=[], description="`ghosts` and `drift`: the checks of `build_cdc_ghost_check`, `build_cdc_drift_check`"
    )
    debezium_settings: str | None = Field(
        default=None,
        description="path of Debezium's `application.properties`, to check it; the first stream gets the check",
    )
    connection: Mapping[str, Any] | None = Field(default=None, description="fields of PravegaResource")
    spark: Mapping[str, Any] = Field(default={}, description="fields of PravegaSparkIOManager, with `connection`")
    resource_key: str = Field(default="pravega", description="key of the PravegaResource")
    io_manager_key: str = Field(default="pravega_spark", description="key of the PravegaSparkIOManager")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The definitions; called by Dagster.

        Raises:
            ConfigurationError: a value cannot work.
        """
        del context
        unknown = set(self.checks) - set(_CHECKS)
        if unknown:
            raise ConfigurationError(f"checks are {', '.join(_CHECKS)}, not {', '.join(sorted(unknown))}")
        if not self.tables:
            raise ConfigurationError("PravegaCdcComponent has no tables: name at least one")
        assets: list[Any] = []
        checks: list[dg.AssetChecksDefinition] = []
        for each in self.tables:
            spec = self._stream(each)
            asset = self._asset(each, spec)
            assets += [spec, asset]
            if self.debezium_settings is not None and not checks:
                settings = self.debezium_settings
                checks.append(build_debezium_check(spec, settings=settings, resource_key=self.resource_key))
            checks += self._checks(each, spec, asset)
            if self.warn_after is not None or self.error_after is not None:
                checks.append(self._lag(spec, asset))
        return dg.Definitions(assets=assets, asset_checks=checks, resources=self._resources())

    def _stream(self, table: CdcTableModel) -> dg.AssetSpec:
        name = table.stream or f"{self.scope}/{stream_of_table(self.topic_prefix, table.name)}"
        return pravega_stream_spec(name, group_name=self.group_name, description=f"Changes of {table.name}")

    def _kept_as(self, table: CdcTableModel) -> str:
        return table.table or str(self.table).replace(_NAME, table.name)

    def _asset(self, table: CdcTableModel, spec: dg.AssetSpec) -> dg.AssetsDefinition:
        if table.table is None and (self.table is None or _NAME not in self.table):
            raise ConfigurationError(
                f"{table.name} has no table to be kept in: give it `table`, or give the component `table` with "
                f"{_NAME}, such as delta:/lake/{_NAME}"
            )
        return pravega_cdc_asset(
            spec,
            key=[*self.key_prefix, *table.name.split(".")],
            table=self._kept_as(table),
            key_of_rows=table.key_of_rows,
            columns=table.columns,
            deletes=self.deletes,
            new_columns=self.new_columns,
            unsent=self.unsent,
            ghosts=self.ghosts,
            history=self.history,
            since=self.since,
            options=table.options,
            io_manager_key=self.io_manager_key,
            group_name=self.group_name,
            automation_condition=None if self.cron is None else dg.AutomationCondition.on_cron(self.cron),
        )

    def _checks(
        self, table: CdcTableModel, spec: dg.AssetSpec, asset: dg.AssetsDefinition
    ) -> list[dg.AssetChecksDefinition]:
        stream, kept, key = str(spec.metadata["pravega/stream"]), self._kept_as(table), self.resource_key
        checks = []
        if "ghosts" in self.checks:
            checks.append(
                build_cdc_ghost_check(
                    asset,
                    stream=stream,
                    key_of_rows=table.key_of_rows,
                    columns=table.columns,
                    table=kept,
                    options=table.options,
                    resource_key=key,
                )
            )
        if "drift" in self.checks:
            of_table = table.options.get("table")
            checks.append(build_cdc_drift_check(asset, stream=stream, table=kept, of_table=of_table, resource_key=key))
        return checks

    def _lag(self, spec: dg.AssetSpec, asset: dg.AssetsDefinition) -> dg.AssetChecksDefinition:
        return build_stream_lag_check(
            asset,
            stream=str(spec.metadata["pravega/stream"]),
            consumer=consumer_of_assets([asset.key.to_user_string()]),
            warn_after=time_of("warn_after", self.warn_after),
            error_after=time_of("error_after", self.error_after),
            resource_key=self.resource_key,
        )

    def _resources(self) -> dict[str, Any]:
        if self.connection is None:
            return {}
        pravega = resource_of(self.connection)
        return {self.resource_key: pravega, self.io_manager_key: spark_of(self.connection, self.spark)}
