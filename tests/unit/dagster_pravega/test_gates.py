"""Gates as definitions: what they are checks of, and that they block."""

import dagster as dg
import pytest
from example_dags.dagster import delays_schema

from aiopravega.errors import ConfigurationError
from dagster_pravega import SchemaRegistryResource, build_data_gate, build_schema_gate, pravega_stream_spec


def test_a_gate_is_a_blocking_check_of_its_asset() -> None:
    spec = pravega_stream_spec("shop/orders")

    @dg.asset
    def raw() -> None: ...

    for asset, key in ((spec, spec.key), (raw, dg.AssetKey("raw")), ("raw", dg.AssetKey("raw")), (["a", "b"], None)):
        for build in (
            lambda asset: build_schema_gate(asset, stream="shop/orders", candidate="order.avsc"),
            lambda asset: build_data_gate(asset, stream="shop/orders"),
        ):
            [check] = build(asset).check_specs
            assert check.asset_key == (key or dg.AssetKey(["a", "b"]))
            assert check.blocking


def test_a_gate_needs_a_whole_name() -> None:
    with pytest.raises(ConfigurationError, match="has no scope"):
        build_schema_gate("raw", stream="orders", candidate="order.avsc")


def test_the_example_can_be_loaded() -> None:
    dg.Definitions.validate_loadable(delays_schema.defs)


def test_a_registry_hides_secrets_and_has_an_address_by_environment(monkeypatch) -> None:
    monkeypatch.setenv("PRAVEGA_SCHEMA_REGISTRY_URI", "http://registry:9092")
    resource = SchemaRegistryResource(username="ada", password="secret-word")
    assert resource.get_config().uri == "http://registry:9092"
    assert "secret-word" not in repr(resource)
    monkeypatch.delenv("PRAVEGA_SCHEMA_REGISTRY_URI")
    with pytest.raises(ConfigurationError, match="address of the Schema Registry is missing"):
        SchemaRegistryResource().get_config()
