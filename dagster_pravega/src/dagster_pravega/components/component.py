"""A component for streams, by YAML alone: assets, observations, checks of the lag, sensors for the next range."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar, Literal

import dagster as dg
from pydantic import Field

from aiopravega.errors import ConfigurationError
from aiopravega.intervals.chain.losses import OnTruncated
from aiopravega.intervals.chain.next_start import OnOpen
from aiopravega.intervals.conditions.group_condition import GroupPosition
from aiopravega.intervals.conditions.move_condition import Combine
from dagster_pravega.assets.observed import build_observed_stream
from dagster_pravega.checks.freshness import build_stream_freshness_check
from dagster_pravega.checks.lag import build_stream_lag_check
from dagster_pravega.components.connection import Connection, scaffolder
from dagster_pravega.components.fields import (
    AssetPart,
    Cron,
    Length,
    Options,
    Position,
    Since,
    StreamText,
    texts_of,
)
from dagster_pravega.components.yaml_part import YamlPart
from dagster_pravega.metadata.cut_partitions import StreamCutPartitions
from dagster_pravega.metadata.spec import CUTS_KEY, pravega_stream_spec
from dagster_pravega.sensors.cut_sensor import build_stream_cut_sensor


class LagCheckModel(YamlPart):
    """A check of a consumer's lag, with at least one limit. Times are texts such as `30m` or `6h`."""

    consumer: str = Field(description="name of the consumer in the cut ledger", examples=["billing"])
    name: str = Field(default="stream_lag", description="name of the check")
    blocking: bool = Field(default=False, description="an error prevents downstream assets from running")
    warn_bytes: int | None = Field(default=None, ge=0, description="the most bytes without a warning")
    error_bytes: int | None = Field(default=None, ge=0, description="the most bytes without an error")
    warn_events: int | None = Field(default=None, ge=0, description="the most events without a warning")
    error_events: int | None = Field(default=None, ge=0, description="the most events without an error")
    warn_after: Length | None = Field(
        default=None, description="time without a finished interval, until a warning", examples=["1h"]
    )
    error_after: Length | None = Field(
        default=None, description="time without a finished interval, until an error", examples=["6h"]
    )


class FreshnessCheckModel(YamlPart):
    """A check of the age of a stream's last watermark, with at least one limit. Times are texts such as `30m`."""

    name: str = Field(default="stream_freshness", description="name of the check")
    blocking: bool = Field(default=False, description="an error prevents downstream assets from running")
    warn_after: Length | None = Field(default=None, description="the greatest age without a warning", examples=["1h"])
    error_after: Length | None = Field(default=None, description="the greatest age without an error", examples=["6h"])
    group: StreamText | None = Field(
        default=None, description="scope/group of Java or Flink whose position is checked", examples=["examples/flink"]
    )
    by: GroupPosition = Field(default=GroupPosition.READ, description="the position of the group that is used")
    unit: Literal["ns", "us", "ms", "s"] = Field(default="ms", description="of the times that the writers note")


class CutSensorModel(YamlPart):
    """A sensor that takes the next range, for assets whose partitions are `StreamCutPartitions` of this consumer."""

    name: str = Field(description="name of the sensor", examples=["next_orders"])
    consumer: str = Field(description="name of the chain of ranges in the cut ledger", examples=["billing"])
    partitions: str | None = Field(
        default=None,
        description="name of the partitions, if the `StreamCutPartitions` of the assets has a name of its own, as it "
        "must if two clusters have a stream and a consumer of these names",
    )
    ahead: Length | None = Field(
        default=None,
        description="how much newer an event may be than the time that its writer notes next: as in the "
        "`StreamCutPartitions` of the assets, whose keys have event times then",
        examples=["0s"],
    )
    unit: Literal["ns", "us", "ms", "s"] = Field(default="ms", description="of the times that the writers note")
    target: str = Field(
        description="selection of the assets that are run, such as `key:orders_of_range`",
        examples=["key:orders_of_range"],
    )
    min_bytes: int | None = Field(
        default=None,
        ge=0,
        description="bytes to wait for, event headers included; by default 1, and with `combine: any` no condition",
    )
    min_events: int = Field(default=0, ge=0, description="events to wait for, which are read to be counted")
    max_bytes: int | None = Field(default=None, ge=1, description="the most bytes of a range")
    max_events: int | None = Field(default=None, ge=1, description="the most events of a range")
    max_ranges: int = Field(
        default=1,
        ge=1,
        description="the most ranges that a tick takes; more than 1 needs a limit of ranges, and `on_open: skip`",
    )
    transactions: StreamText | None = Field(
        default=None,
        description="Debezium's stream of transactions: a range ends where all transactions are whole",
        examples=["examples/inv.transaction"],
    )
    quiet_for: Length = Field(
        default=timedelta(), description="time in which nothing was written, such as `10m`", examples=["10m"]
    )
    sealed: bool = Field(default=False, description="wait until the stream is sealed")
    combine: Combine = Field(default=Combine.ALL, description="the conditions that must hold: all, or any of them")
    since: Since = Field(default="last", description="where the first range starts: last (the head), latest (the tail)")
    on_open: OnOpen = Field(default=OnOpen.WAIT, description="if the last range is not done: wait, take_over or skip")
    open_timeout: Length = Field(
        default=timedelta(hours=6),
        description="time until a range is taken over that has not failed",
        examples=["6h"],
    )
    on_truncated: OnTruncated = Field(
        default=OnTruncated.FAIL, description="if what follows the last range is gone: fail or skip"
    )
    minimum_interval_seconds: int = Field(default=30, ge=1, description="between two ticks")
    running: bool = Field(default=False, description="the sensor runs as soon as the code location is loaded")


class CutsModel(YamlPart):
    """The bounds of what assets read of a stream: texts of cuts, or earliest, latest, unbounded."""

    start: Position = Field(default="unbounded", description="the first event is behind it", examples=["earliest"])
    end: Position = Field(default="unbounded", description="the last event is before it", examples=["latest"])


class StreamModel(AssetPart):
    """A stream that is written outside Dagster."""

    instead: ClassVar[dict[str, str]] = {
        "resource_key": "the component has the resource_key of all its streams: give the streams of another cluster a "
        "file of their own"
    }

    stream: StreamText = Field(description="scope/stream", examples=["examples/orders"])
    key: str | None = Field(
        default=None, description="key of the asset, by default scope/stream", examples=["shop/orders"]
    )
    options: Options = Field(
        default={},
        description="options of Spark's data source for its readers; not for secrets",
        examples=[{"decode": "json"}],
    )
    cuts: CutsModel | None = Field(default=None, description="bounds of what assets read; by default all of it")
    observe: bool = Field(default=False, description="the asset can be observed")
    observe_cron: Cron | None = Field(
        default=None, description="when Dagster observes it, such as `*/5 * * * *`", examples=["*/5 * * * *"]
    )
    lag_checks: list[LagCheckModel] = Field(
        default=[],
        description="checks of consumers' lag",
        examples=[[{"consumer": "billing", "error_after": "6h"}]],
    )
    freshness_checks: list[FreshnessCheckModel] = Field(
        default=[], description="checks of the age of the stream's last watermark", examples=[[{"error_after": "6h"}]]
    )
    cut_sensors: list[CutSensorModel] = Field(
        default=[],
        description="sensors for the next range",
        examples=[[{"name": "next_orders", "consumer": "billing", "target": "key:bills"}]],
    )

    def spec(self, key_prefix: Sequence[str]) -> dg.AssetSpec:
        """The asset; the prefix is put before its key.

        Raises:
            ConfigurationError: there are two schedules, or two bounds of what is read.
        """
        given = self.attributes(self.observe_cron)
        metadata = given.pop("metadata", {})
        if self.cuts is not None:
            if CUTS_KEY in metadata:
                raise ConfigurationError(f"{self.stream} has cuts, and {CUTS_KEY!r} in its metadata: give one of them")
            metadata[CUTS_KEY] = {"start": self.cuts.start, "end": self.cuts.end}
        key = dg.AssetKey.from_user_string(self.key or self.stream)
        return pravega_stream_spec(
            self.stream,
            key=key.with_prefix(list(key_prefix)) if key_prefix else key,
            options=texts_of(self.options),
            metadata=metadata,
            **given,
        )


@dg.scaffold_with(scaffolder({"streams": [{"stream": "examples/orders", "group_name": "pravega"}]}))
class PravegaStreamComponent(dg.Component, YamlPart):
    """Streams of Pravega as assets, with optional observations, checks of consumers' lag, and sensors for ranges.

    Loading it asks no cluster. `connection` makes the resource that observations, checks and sensors use; an empty
    `connection` takes all from the environment (`PRAVEGA_CONTROLLER_URI`, `PRAVEGA_PASSWORD`, …). Secrets are named by
    their variables (`password_env`), since Dagster keeps the configuration of resources in its database. Files of a
    project with the same `connection` share one resource. Without `connection`, the project must define the resource
    elsewhere. For a second cluster give the file another `resource_key`, and a `key_prefix`.
    """

    streams: list[StreamModel] = Field(description="the streams", examples=[[{"stream": "examples/orders"}]])
    key_prefix: list[str] = Field(default=[], description="put before the assets' keys", examples=[["europe"]])
    connection: Connection | None = Field(
        default=None, description="the cluster; {} is the one of the environment", examples=[{}]
    )
    resource_key: str = Field(default="pravega", description="key of the PravegaResource")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The definitions; called by Dagster.

        Raises:
            ConfigurationError: a value cannot work.
        """
        del context
        key = self.resource_key
        assets: list[Any] = []
        checks: list[dg.AssetChecksDefinition] = []
        sensors: list[dg.SensorDefinition] = []
        for each in self.streams:
            spec = each.spec(self.key_prefix)
            observed = each.observe or each.observe_cron is not None
            assets.append(build_observed_stream(spec, resource_key=key) if observed else spec)
            checks += [_lag_check(spec, each, check, key) for check in each.lag_checks]
            checks += [_freshness_check(spec, each, check, key) for check in each.freshness_checks]
            sensors += [_sensor(each, sensor, key) for sensor in each.cut_sensors]
        resources = {} if self.connection is None else {key: self.connection.resource()}
        return dg.Definitions(assets=assets, asset_checks=checks, sensors=sensors, resources=resources)


def _lag_check(
    spec: dg.AssetSpec, stream: StreamModel, check: LagCheckModel, resource_key: str
) -> dg.AssetChecksDefinition:
    given = {name: getattr(check, name) for name in LagCheckModel.model_fields}
    return build_stream_lag_check(spec, stream=stream.stream, resource_key=resource_key, **given)


def _freshness_check(
    spec: dg.AssetSpec, stream: StreamModel, check: FreshnessCheckModel, resource_key: str
) -> dg.AssetChecksDefinition:
    given = {name: getattr(check, name) for name in FreshnessCheckModel.model_fields}
    return build_stream_freshness_check(spec, stream=stream.stream, resource_key=resource_key, **given)


def _sensor(stream: StreamModel, sensor: CutSensorModel, resource_key: str) -> dg.SensorDefinition:
    given = {name: getattr(sensor, name) for name in CutSensorModel.model_fields}
    running, consumer, partitions = (given.pop(name) for name in ("running", "consumer", "partitions"))
    ahead, unit = given.pop("ahead"), given.pop("unit")
    return build_stream_cut_sensor(
        given.pop("name"),
        partitions_def=StreamCutPartitions(stream.stream, consumer=consumer, name=partitions, ahead=ahead, unit=unit),
        resource_key=resource_key,
        default_status=dg.DefaultSensorStatus.RUNNING if running else dg.DefaultSensorStatus.STOPPED,
        **given,
    )
