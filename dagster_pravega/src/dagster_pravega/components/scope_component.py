"""A component for all streams of a scope, by YAML alone; its stored state loads definitions without the cluster."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import dagster as dg
from dagster.components import DefsStateConfig, DefsStateConfigArgs, ResolvedDefsStateConfig
from pydantic import Field

from aiopravega.errors import ConfigurationError
from dagster_pravega.assets.external import describe_streams, spec_of
from dagster_pravega.assets.observed import observe_pravega_stream
from dagster_pravega.components.connection import resource_of, scaffolder
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.schema_registry import SchemaRegistryResource

# Version of the stored state, so that a release refuses a state that it cannot read.
_LAYOUT: Final = 1


@dg.scaffold_with(scaffolder({"scope": "examples"}))
class PravegaScopeComponent(dg.StateBackedComponent, dg.Model, dg.Resolvable):
    """All streams of a scope as assets, with their schemas if there is a registry.

    The answers of the cluster are stored as Dagster's state of definitions. `dg utils refresh-defs-state` asks the
    cluster again, and `dagster dev` does so at its start. Loading definitions only reads the state; before the first
    refresh it fails. `connection` also makes the resource, with the fields of `PravegaResource`; an empty `connection`
    takes all from the environment. Without `connection`, the environment names the cluster, and the project must define
    the resource elsewhere.
    """

    scope: str = Field(description="of the streams")
    tag: str | None = Field(default=None, description="only streams with this tag")
    key_prefix: Sequence[str] = Field(default=[], description="put before the assets' keys, which are scope and stream")
    group_name: str | None = Field(default=None, description="group of the assets")
    observe_cron: str | None = Field(
        default=None, description="when Dagster observes them, such as `*/5 * * * *`; by default they are not observed"
    )
    connection: Mapping[str, Any] | None = Field(default=None, description="fields of PravegaResource")
    schema_registry: Mapping[str, Any] | None = Field(
        default=None, description="fields of SchemaRegistryResource; without it, assets have no columns"
    )
    resource_key: str = Field(default="pravega", description="key of the PravegaResource")
    defs_state: ResolvedDefsStateConfig = Field(
        default_factory=DefsStateConfigArgs.local_filesystem,
        description="where Dagster stores the answers of the cluster, by default in the project's folder",
    )

    @property
    def defs_state_config(self) -> DefsStateConfig:
        """The location and the key of the stored state; called by Dagster."""
        tag = f",{self.tag}" if self.tag else ""
        return DefsStateConfig.from_args(self.defs_state, default_key=f"PravegaScopeComponent[{self.scope}{tag}]")

    def write_state_to_path(self, state_path: Path) -> None:
        """Ask the cluster, and store its answers; called by Dagster.

        Raises:
            ScopeNotFoundError: there is no such scope.
            PravegaError: the cluster or the registry cannot be asked.
        """
        registry = None if self.schema_registry is None else SchemaRegistryResource(**self.schema_registry)
        streams = describe_streams(self.scope, PravegaResource(**self.connection or {}), registry, self.tag)
        state_path.write_text(json.dumps({"layout": _LAYOUT, "scope": self.scope, "streams": streams}))

    def build_defs_from_state(self, context: dg.ComponentLoadContext, state_path: Path | None) -> dg.Definitions:
        """The definitions; called by Dagster.

        Raises:
            ConfigurationError: no state has been stored yet, or it is of another scope or layout.
        """
        del context
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
            resources={} if self.connection is None else {self.resource_key: resource_of(self.connection)},
        )

    def _observed(self, spec: dg.AssetSpec) -> dg.AssetsDefinition:
        condition = dg.AutomationCondition.on_cron(str(self.observe_cron))
        return observe_pravega_stream(spec, automation_condition=condition, resource_key=self.resource_key)
