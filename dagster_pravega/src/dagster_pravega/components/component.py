"""A component for streams, by YAML alone: assets, observations, checks of the lag, sensors for the next range."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import dagster as dg
from pydantic import Field

from aiopravega.errors import ConfigurationError
from aiopravega.intervals.plans.steps import Step
from dagster_pravega.assets.observed import observe_pravega_stream
from dagster_pravega.checks.lag import build_stream_lag_check
from dagster_pravega.components.connection import resource_of, scaffolder
from dagster_pravega.metadata.cut_partitions import StreamCutPartitions
from dagster_pravega.metadata.spec import pravega_stream_spec
from dagster_pravega.sensors.cut_sensor import build_stream_cut_sensor


class LagCheckModel(dg.Model, dg.Resolvable):
    """A check of a consumer's lag, with at least one limit. Times are texts such as `30m` or `6h`."""

    consumer: str = Field(description="name of the consumer in the cut ledger")
    name: str = Field(default="stream_lag", description="name of the check")
    warn_bytes: int | None = Field(default=None, description="the most bytes without a warning")
    error_bytes: int | None = Field(default=None, description="the most bytes without an error")
    warn_events: int | None = Field(default=None, description="the most events without a warning")
    error_events: int | None = Field(default=None, description="the most events without an error")
    warn_after: str | None = Field(default=None, description="time without a finished interval, until a warning")
    error_after: str | None = Field(default=None, description="time without a finished interval, until an error")


class CutSensorModel(dg.Model, dg.Resolvable):
    """A sensor that takes the next range, for assets whose partitions are `StreamCutPartitions` of this consumer."""

    name: str = Field(description="name of the sensor")
    consumer: str = Field(description="name of the chain of ranges in the cut ledger")
    target: str = Field(description="selection of the assets that are run, such as `key:orders_of_range`")
    min_bytes: int = Field(default=1, description="bytes to wait for, event headers included")
    min_events: int = Field(default=0, description="events to wait for")
    max_bytes: int | None = Field(default=None, description="the most bytes of a range")
    quiet_for: str | None = Field(default=None, description="time in which nothing was written, such as `10m`")
    sealed: bool = Field(default=False, description="wait until the stream is sealed")
    since: str = Field(default="last", description="where the first range starts: last (the head), latest (the tail)")
    on_open: str = Field(default="wait", description="if the last range is not done: wait, take_over or skip")
    open_timeout: str = Field(default="6h", description="time until a range is taken over that has not failed")
    on_truncated: str = Field(default="fail", description="if what follows the last range is gone: fail or skip")
    minimum_interval_seconds: int = Field(default=30, description="between two ticks")
    running: bool = Field(default=False, description="the sensor runs as soon as the code location is loaded")


class StreamModel(dg.Model, dg.Resolvable):
    """A stream that is written outside Dagster."""

    stream: str = Field(description="scope/stream")
    key: str | None = Field(default=None, description="key of the asset, by default scope/stream")
    group_name: str | None = Field(default=None, description="group of the asset")
    description: str | None = Field(default=None, description="of the asset: the contents of the stream")
    tags: Mapping[str, str] = Field(default={}, description="tags of the asset")
    owners: Sequence[str] = Field(default=[], description="owners of the asset")
    options: Mapping[str, Any] = Field(default={}, description="options of Spark's data source for its readers")
    metadata: Mapping[str, Any] = Field(default={}, description="more metadata of the asset")
    observe: bool = Field(default=False, description="the asset can be observed")
    observe_cron: str | None = Field(default=None, description="when Dagster observes it, such as `*/5 * * * *`")
    lag_checks: Sequence[LagCheckModel] = Field(default=[], description="checks of consumers' lag")
    cut_sensors: Sequence[CutSensorModel] = Field(default=[], description="sensors for the next range")

    @property
    def spec(self) -> dg.AssetSpec:
        """The asset.

        Raises:
            ConfigurationError: the name is not `scope/stream`.
        """
        return pravega_stream_spec(
            self.stream,
            key=dg.AssetKey.from_user_string(self.key) if self.key else None,
            group_name=self.group_name,
            description=self.description,
            tags=self.tags,
            owners=self.owners,
            options=self.options,
            metadata=self.metadata,
        )


@dg.scaffold_with(scaffolder({"streams": [{"stream": "examples/orders", "group_name": "pravega"}]}))
class PravegaStreamComponent(dg.Component, dg.Model, dg.Resolvable):
    """Streams of Pravega as assets, with optional observations, checks of consumers' lag, and sensors for ranges.

    Loading it asks no cluster. `connection` makes the resource that observations, checks and sensors use, with the
    fields of `PravegaResource`; an empty `connection` takes all from the environment (`PRAVEGA_CONTROLLER_URI`,
    `PRAVEGA_PASSWORD`, …), where secrets belong. Files of a project with the same `connection` share one resource.
    Without `connection`, the project must define the resource elsewhere.
    """

    streams: Sequence[StreamModel] = Field(description="the streams")
    connection: Mapping[str, Any] | None = Field(default=None, description="fields of PravegaResource")
    resource_key: str = Field(default="pravega", description="key of the PravegaResource")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The definitions; called by Dagster.

        Raises:
            ConfigurationError: a value cannot work.
        """
        del context
        assets: list[Any] = []
        for each in self.streams:
            if each.observe or each.observe_cron is not None:
                condition = None
                if each.observe_cron is not None:
                    condition = dg.AutomationCondition.on_cron(each.observe_cron)
                assets.append(
                    observe_pravega_stream(each.spec, automation_condition=condition, resource_key=self.resource_key)
                )
            else:
                assets.append(each.spec)
        return dg.Definitions(
            assets=assets,
            asset_checks=[_check(each, check, self.resource_key) for each in self.streams for check in each.lag_checks],
            sensors=[_sensor(each, sensor, self.resource_key) for each in self.streams for sensor in each.cut_sensors],
            resources={} if self.connection is None else {self.resource_key: resource_of(self.connection)},
        )


def _check(stream: StreamModel, check: LagCheckModel, resource_key: str) -> dg.AssetChecksDefinition:
    return build_stream_lag_check(
        stream.spec,
        stream=stream.stream,
        consumer=check.consumer,
        warn_bytes=check.warn_bytes,
        error_bytes=check.error_bytes,
        warn_events=check.warn_events,
        error_events=check.error_events,
        warn_after=time_of("warn_after", check.warn_after),
        error_after=time_of("error_after", check.error_after),
        name=check.name,
        resource_key=resource_key,
    )


def _sensor(stream: StreamModel, sensor: CutSensorModel, resource_key: str) -> dg.SensorDefinition:
    status = dg.DefaultSensorStatus.RUNNING if sensor.running else dg.DefaultSensorStatus.STOPPED
    return build_stream_cut_sensor(
        sensor.name,
        partitions_def=StreamCutPartitions(stream.stream, consumer=sensor.consumer),
        target=sensor.target,
        min_bytes=sensor.min_bytes,
        min_events=sensor.min_events,
        max_bytes=sensor.max_bytes,
        quiet_for=time_of("quiet_for", sensor.quiet_for) or timedelta(),
        sealed=sensor.sealed,
        since=sensor.since,
        on_open=sensor.on_open,
        open_timeout=time_of("open_timeout", sensor.open_timeout) or timedelta(),
        on_truncated=sensor.on_truncated,
        resource_key=resource_key,
        minimum_interval_seconds=sensor.minimum_interval_seconds,
        default_status=status,
    )


def time_of(name: str, text: str | None) -> timedelta | None:
    """The length of time in an attribute, such as `30m`.

    Raises:
        ConfigurationError: the text is not a length of time, or has months.
    """
    if text is None:
        return None
    step = Step.parse(text)
    if step.months:
        raise ConfigurationError(f"{name} is {text!r}, but a month has no fixed length: give days, such as 30d")
    return step.length
