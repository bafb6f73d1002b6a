"""All streams of a scope by YAML alone: asked for once, and then loaded without the cluster."""

import asyncio
from contextlib import contextmanager

import dagster as dg
import pytest
import yaml  # type: ignore[import-untyped]  # it comes with Dagster, without types
from dagster.components.core.component_tree import ComponentTreeException
from dagster.components.testing import create_defs_folder_sandbox
from tests.integration.dagster_tables.test_typed_tables import schema_of
from tests.pages.blocks import blocks_of

from aiopravega import ScalingPolicy
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.schema import RegistryConfig
from aiopravega.schema.open import register_schema
from dagster_pravega import PravegaScopeComponent

NOWHERE = {"controller_uri": "tcp://127.0.0.1:1"}


@contextmanager
def project(attributes):
    """A component of a project: one function that asks the cluster, and one that loads the definitions."""
    with create_defs_folder_sandbox() as sandbox:

        def contents(changed):
            return {"type": "dagster_pravega.PravegaScopeComponent", "attributes": attributes | changed}

        path = sandbox.scaffold_component(PravegaScopeComponent, defs_yaml_contents=contents({}))

        def refresh():
            with sandbox.build_component_tree() as tree:
                component = tree.load_component(path)
                assert isinstance(component, PravegaScopeComponent)
                asyncio.run(component.refresh_state(sandbox.project_root))

        def load(**changed):
            with (
                sandbox.swap_defs_file(path / "defs.yaml", contents(changed)),
                sandbox.load_component_and_build_defs(path) as (_, definitions),
            ):
                return definitions

        yield refresh, load


def test_streams_stored_with_their_schemas_load_without_the_cluster(client, stream, pravega_config, pravega_emulator):
    scope = stream.scope
    assert client.create_stream(f"{scope}/sales", ScalingPolicy.fixed(1), tags=["sales"])
    with SchemaRegistry(RegistryConfig(uri=pravega_emulator.schema_registry_uri)) as registry:
        registry.run(register_schema(registry.asynchronous, stream, schema_of("id", "minutes")))
    attributes = {
        "scope": scope,
        "connection": {"controller_uri": pravega_config.controller_uri},
        "schema_registry": {"uri": pravega_emulator.schema_registry_uri},
    }
    with project(attributes) as (refresh, load):
        with pytest.raises(ComponentTreeException) as refused:
            load()
        assert "dg utils refresh-defs-state" in str(refused.value.__cause__)
        refresh()
        assert client.create_stream(f"{scope}/later", ScalingPolicy.fixed(1))

        definitions = load(connection=NOWHERE, schema_registry={"uri": "http://127.0.0.1:1"}, key_prefix=["shop"])
        specs = {spec.key.path[-1]: spec for spec in definitions.resolve_all_asset_specs()}
        assert set(specs) == {"rides", "sales"}
        assert specs["rides"].key == dg.AssetKey(["shop", scope, "rides"])
        columns = specs["rides"].metadata["dagster/column_schema"].columns
        assert [(column.name, column.type) for column in columns] == [("id", "long"), ("minutes", "long")]
        assert specs["rides"].kinds == {"pravega", "avro"}
        assert specs["sales"].tags["pravega/sales"] == ""
        assert "pravega" in definitions.resources

        observed = load(connection=NOWHERE, observe_cron="*/5 * * * *").resolve_asset_graph()
        assert all(observed.get(key).is_observable for key in observed.get_all_asset_keys())

        [sensor] = load(connection=NOWHERE, observe_seconds=60).sensors or []
        assert sensor.name == "observe_" + scope.replace("-", "_")
        assert sensor.description == "Observes 2 streams."
        with pytest.raises(ComponentTreeException) as twice:
            load(observe_cron="*/5 * * * *", observe_seconds=60)
        assert "give one of them" in str(twice.value.__cause__)

        refresh()
        assert len(list(load().resolve_all_asset_specs())) == 3


def test_the_file_of_the_how_to_page_can_be_loaded(stream, pravega_config, pravega_emulator, monkeypatch):
    [code] = [
        block.code
        for block in blocks_of("dagster-components")
        if "PravegaScopeComponent" in block.code and block.language == "yml"
    ]
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    monkeypatch.setenv("PRAVEGA_SCHEMA_REGISTRY_URI", pravega_emulator.schema_registry_uri)
    attributes = yaml.safe_load(code)["attributes"]
    assert attributes["scope"] == "shop"

    with project(attributes | {"scope": stream.scope}) as (refresh, load):
        refresh()
        graph = load().resolve_asset_graph()

    assert [key.path[-1] for key in graph.get_all_asset_keys()] == ["rides"]


def test_what_is_kept_of_another_scope_is_refused(stream, pravega_config):
    attributes = {
        "scope": stream.scope,
        "connection": {"controller_uri": pravega_config.controller_uri},
        "defs_state": {"key": "streams", "management_type": "LOCAL_FILESYSTEM"},
    }
    with project(attributes) as (refresh, load):
        refresh()
        with pytest.raises(ComponentTreeException) as refused:
            load(scope="another")
        assert f"the stored state is of scope {stream.scope!r}" in str(refused.value.__cause__)
