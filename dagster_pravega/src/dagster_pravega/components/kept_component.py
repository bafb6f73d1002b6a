"""A component for a table that follows a stream, by YAML alone: the stream, the table, and what runs it."""

from datetime import timedelta
from typing import Any

import dagster as dg
from pydantic import Field

from aiopravega.errors import ConfigurationError
from dagster_pravega.assets.kept import build_kept_table
from dagster_pravega.components.connection import Arrow, Connection, Database, scaffolder
from dagster_pravega.components.fields import AssetPart, Cron, Length, Options, Since, StreamText, texts_of
from dagster_pravega.components.stores import TablePart
from dagster_pravega.metadata.cut_partitions import StreamCutPartitions
from dagster_pravega.metadata.spec import pravega_stream_spec
from dagster_pravega.sensors.cut_sensor import build_stream_cut_sensor
from pravega_jobs.identity.names import consumer_of_assets
from pravega_jobs.landing.rules import Evolution
from pravega_jobs.merging.rules import Deletes, Ghosts, RowHistory, Unsent

_EXAMPLE = {"stream": "examples/orders", "table": "delta:/tmp/lake/orders", "options": {"decode": "json"}}


@dg.scaffold_with(scaffolder({**_EXAMPLE, "columns": "id long, price double"}))
class PravegaKeptTableComponent(dg.Component, AssetPart, TablePart):
    """A table that follows a stream: an asset of `build_kept_table`, the asset of its stream, and what runs it.

    By default a sensor runs a range as a partition within `every` after events were written. With `cron`, Dagster runs
    the asset on a schedule instead, and each run takes what came since the last one. Loading it asks no cluster.
    `connection` makes the resource of Pravega and the IO manager; an empty `connection` takes all from the environment.
    Secrets are named by their variables. Files of a project with the same `connection` and `arrow` share the resources.
    """

    stream: StreamText = Field(description="scope/stream", examples=["examples/orders"])
    table: str = Field(
        description="`delta:/folder`, `iceberg:catalog/namespace.table`, `parquet:/folder`; with `database`, its name; "
        "with `catalog`, `namespace.table`",
        examples=["delta:/lake/orders"],
    )
    key: str | None = Field(
        default=None, description="key of the table's asset; by default `kept` and the stream", examples=["lake/orders"]
    )
    columns: str | None = Field(
        default=None,
        description="columns of JSON events, or of the source's table, as SQL writes them",
        examples=["id long, price double"],
    )
    options: Options = Field(
        default={}, description="options of the read; not for secrets", examples=[{"decode": "json"}]
    )
    new_columns: Evolution = Field(
        default=Evolution.FAIL, description="columns that the table does not have: fail, ignore or add"
    )
    partition_by: list[str] = Field(default=[], description="partitions of a new table", examples=[["day"]])
    errors: str | None = Field(
        default=None,
        description="an errors table, or `stream:scope/name`, for events that cannot be decoded",
        examples=["delta:/lake/orders_errors"],
    )
    most_errors: str | int | None = Field(
        default=None, description="the most errors of a range, such as `100` or `1%`", examples=["1%"]
    )
    key_of_rows: list[str] = Field(
        default=[],
        description="columns that identify a row, to merge events: Debezium's changes, or with `order_by` plain rows",
        examples=[["id"]],
    )
    deletes: Deletes | None = Field(default=None, description="of merges: `hard` removes rows, `soft` keeps them")
    unsent: Unsent | None = Field(default=None, description="of merges: an update that lacks values: fail or null")
    ghosts: Ghosts | None = Field(
        default=None, description="of merges: rows that a later snapshot does not have: keep or remove"
    )
    history: RowHistory | None = Field(
        default=None, description="of merges: `none`, or `scd2` to keep every version of a row"
    )
    order_by: list[str] | None = Field(
        default=None,
        description="of merges of plain rows: columns by which the last row of a key is found; [] if there is one each",
        examples=[["segment_id", "offset"]],
    )
    delete_column: str | None = Field(
        default=None,
        description="of merges of plain rows: a boolean column that is true in rows that delete that of their key",
        examples=["gone"],
    )
    upkeep_after: int | None = Field(
        default=None, ge=0, description="small files and versions after which the table is kept up; 0: never"
    )
    consumer: str | None = Field(
        default=None, description="name of its chain of ranges in the cut ledger; by default `dagster/` and the key"
    )
    since: Since = Field(default="last", description="where the first range starts: last (the head), latest (the tail)")
    every: Length = Field(default=timedelta(seconds=30), description="time between two looks of the sensor")
    max_bytes: int | None = Field(default=None, ge=1, description="the most bytes of a range of the sensor")
    cron: Cron | None = Field(
        default=None, description="a schedule instead of the sensor, such as `*/5 * * * *`", examples=["*/5 * * * *"]
    )
    input_metadata: dict[str, Any] = Field(
        default={}, description="more metadata of the input", examples=[{"pravega/on_truncated": "skip"}]
    )
    database: Database | None = Field(default=None, description="the database of PostgreSQL that has the table")
    connection: Connection | None = Field(
        default=None, description="the cluster; {} is the one of the environment", examples=[{}]
    )
    arrow: Arrow = Field(default_factory=Arrow, description="fields of PravegaArrowIOManager, with `connection`")
    resource_key: str = Field(default="pravega", description="key of the PravegaResource")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The definitions; called by Dagster.

        Raises:
            ConfigurationError: a value cannot work.
        """
        del context
        if self.partitions_def is not None:
            raise ConfigurationError("partitions_def is not for a kept table: it follows the ranges of its consumer")
        spec = pravega_stream_spec(self.stream, group_name=self.group_name)
        key = dg.AssetKey.from_user_string(self.key or f"kept/{self.stream}")
        consumer = self.consumer or consumer_of_assets([key.to_user_string()])
        runs_by_itself = self.cron is None and self.automation_condition is None
        partitions = StreamCutPartitions(self.stream, consumer=consumer) if runs_by_itself else None
        asset = self._asset(spec, key, consumer, partitions)
        sensors = []
        if partitions is not None:
            sensors = [
                build_stream_cut_sensor(
                    f"{'_'.join(key.path)}_follows".replace("-", "_").replace(".", "_"),
                    partitions_def=partitions,
                    target=asset,
                    max_bytes=self.max_bytes,
                    since=self.since,
                    resource_key=self.resource_key,
                    minimum_interval_seconds=max(1, round(self.every.total_seconds())),
                    default_status=dg.DefaultSensorStatus.RUNNING,
                )
            ]
        return dg.Definitions(assets=[spec, asset], sensors=sensors, resources=self._resources())

    def _asset(
        self, spec: dg.AssetSpec, key: dg.AssetKey, consumer: str, partitions: StreamCutPartitions | None
    ) -> dg.AssetsDefinition:
        if partitions is None and self.max_bytes is not None:
            raise ConfigurationError("max_bytes is of the sensor: leave it out, or cron and automation_condition")
        return build_kept_table(
            spec,
            key=key,
            table=self.table,
            database_key=None if self.database is None else self._database_key,
            **self.table_keys(self.resource_key),
            columns=self.columns,
            options=texts_of(self.options),
            new_columns=self.new_columns,
            partition_by=self.partition_by,
            errors=self.errors,
            most_errors=self.most_errors,
            key_of_rows=self.key_of_rows,
            deletes=self.deletes,
            unsent=self.unsent,
            ghosts=self.ghosts,
            history=self.history,
            order_by=self.order_by,
            delete_column=self.delete_column,
            upkeep_after=self.upkeep_after,
            partitions_def=partitions,
            since=None if partitions is not None else self.since,
            consumer=consumer,
            input_metadata=self.input_metadata,
            io_manager_key=self._manager_key,
            **self.attributes(self.cron),
        )

    @property
    def _manager_key(self) -> str:
        return f"{self.resource_key}_arrow"

    @property
    def _database_key(self) -> str:
        return f"{self.resource_key}_database"

    def _resources(self) -> dict[str, Any]:
        resources: dict[str, Any] = {}
        if self.connection is not None:
            resources[self.resource_key] = self.connection.resource()
            resources[self._manager_key] = self.arrow.manager(self.connection)
        if self.database is not None:
            resources[self._database_key] = self.database.resource()
        return resources | self.table_resources(self.resource_key)
