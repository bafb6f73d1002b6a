"""A component for all streams of a scope, by YAML alone; its stored state loads definitions without the cluster."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import dagster as dg
from dagster.components import DefsStateConfig, DefsStateConfigArgs
from pydantic import Field

from aiopravega.errors import ConfigurationError
from dagster_pravega.assets.external import describe_streams, spec_of
from dagster_pravega.assets.observed import build_observed_stream
from dagster_pravega.components.connection import Connection, Registry, scaffolder
from dagster_pravega.components.fields import Cron
from dagster_pravega.components.yaml_part import YamlPart
from dagster_pravega.sensors.observation_sensor import build_observation_sensor

# Version of the stored state, so that a release refuses a state that it cannot read.
_LAYOUT: Final = 1
_RESOURCE_KEY: Final = "pravega"


@dg.scaffold_with(scaffolder({"scope": "examples"}))
class PravegaScopeComponent(dg.StateBackedComponent, YamlPart):
    """All streams of a scope as assets, with their schemas if there is a registry.

    The answers of the cluster are stored as Dagster's state of definitions. `dg utils refresh-defs-state` asks the
    cluster again, and `dagster dev` does so at its start. Loading definitions only reads the state; before the first
    refresh it fails. `connection` also makes the resource; an empty `connection` takes all from the environment.
    Secrets are named by their variables (`password_env`), since Dagster keeps the configuration of resources in its
    database. Without `connection`, the environment names the cluster, and the project must define the resource
    elsewhere. For a second cluster give the file another `resource_key`, and a `key_prefix`.
    """

    scope: str = Field(description="of the streams", examples=["examples"])
    tag: str | None = Field(default=None, description="only streams with this tag", examples=["sales"])
    key_prefix: list[str] = Field(
        default=[], description="put before the assets' keys, which are scope and stream", examples=[["europe"]]
    )
    group_name: str | None = Field(default=None, description="group of the assets", examples=["sales"])
    observe_cron: Cron | None = Field(
        default=None,
        description="when Dagster observes them, such as `*/5 * * * *`; by default they are not observed",
        examples=["*/5 * * * *"],
    )
    observe_seconds: int | None = Field(
        default=None,
        ge=1,
        description="seconds between two ticks of one sensor that observes all of them without runs, and is on when "
        "the code is loaded; not beside observe_cron",
        examples=[60],
    )
    connection: Connection | None = Field(
        default=None, description="the cluster; {} is the one of the environment", examples=[{}]
    )
    schema_registry: Registry | None = Field(
        default=None, description="the registry, {}: of the environment; without it, assets have no columns"
    )
    resource_key: str = Field(default=_RESOURCE_KEY, description="key of the PravegaResource")
    defs_state: DefsStateConfigArgs = Field(
        default_factory=DefsStateConfigArgs.local_filesystem,
        description="where Dagster stores the answers of the cluster, by default in the project's folder",
    )

    @property
    def defs_state_config(self) -> DefsStateConfig:
        """The location and the key of the stored state; called by Dagster."""
        tag = f",{self.tag}" if self.tag else ""
        # Two clusters may have a scope of this name.
        of_cluster = "" if self.resource_key == _RESOURCE_KEY else f" of {self.resource_key}"
        key = f"PravegaScopeComponent[{self.scope}{tag}{of_cluster}]"
        return DefsStateConfig.from_args(self.defs_state, default_key=key)

    def write_state_to_path(self, state_path: Path) -> None:
        """Ask the cluster, and store its answers; called by Dagster.

        Raises:
            ScopeNotFoundError: there is no such scope.
            PravegaError: the cluster or the registry cannot be asked.
        """
        registry = None if self.schema_registry is None else self.schema_registry.resource()
        cluster = (self.connection or Connection()).resource()
        streams = describe_streams(self.scope, cluster, registry, self.tag)
        state_path.write_text(json.dumps({"layout": _LAYOUT, "scope": self.scope, "streams": streams}))

    def build_defs_from_state(self, context: dg.ComponentLoadContext, state_path: Path | None) -> dg.Definitions:
        """The definitions; called by Dagster.

        Raises:
            ConfigurationError: no state has been stored yet, or it is of another scope or layout; the streams would be
                observed twice.
        """
        del context
        if self.observe_cron is not None and self.observe_seconds is not None:
            raise ConfigurationError(
                "observe_cron starts a run for each stream and observe_seconds a sensor for all: give one of them"
            )
        again = "ask the cluster by: dg utils refresh-defs-state"
        if state_path is None:
            raise ConfigurationError(f"the streams of scope {self.scope!r} are not known yet: {again}")
        kept = json.loads(state_path.read_text())
        if (kept.get("layout"), kept.get("scope")) != (_LAYOUT, self.scope):
            raise ConfigurationError(
                f"the stored state is of scope {kept.get('scope')!r} in layout {kept.get('layout')!r}, and not of "
                f"{self.scope!r} in layout {_LAYOUT}: {again}"
            )
        specs = [spec_of(each, self.key_prefix, self.group_name) for each in kept["streams"]]
        return dg.Definitions(
            assets=specs if self.observe_cron is None else [self._observed(spec) for spec in specs],
            sensors=[] if self.observe_seconds is None else [self._sensor(specs, self.observe_seconds)],
            resources={} if self.connection is None else {self.resource_key: self.connection.resource()},
        )

    def _observed(self, spec: dg.AssetSpec) -> dg.AssetsDefinition:
        condition = dg.AutomationCondition.on_cron(str(self.observe_cron))
        return build_observed_stream(spec, automation_condition=condition, resource_key=self.resource_key)

    def _sensor(self, specs: Sequence[dg.AssetSpec], seconds: int) -> dg.SensorDefinition:
        names = ("observe", *self.key_prefix, self.scope, *([self.tag] if self.tag else []))
        return build_observation_sensor(
            re.sub(r"\W", "_", "_".join(names), flags=re.ASCII),
            streams=specs,
            resource_key=self.resource_key,
            minimum_interval_seconds=seconds,
            default_status=dg.DefaultSensorStatus.RUNNING,
        )
