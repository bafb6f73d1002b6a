"""Streams as external assets."""

import dagster as dg
import pytest

from aiopravega.errors import ConfigurationError
from dagster_pravega import build_observed_stream, pravega_output, pravega_stream_spec
from dagster_pravega.metadata.spec import stream_of


def test_a_stream_is_an_asset_with_the_key_scope_and_stream():
    spec = pravega_stream_spec("examples/flights")

    assert spec.key == dg.AssetKey(["examples", "flights"])
    assert spec.kinds == {"pravega"}
    assert spec.metadata == {
        "pravega/stream": "examples/flights",
        "dagster/uri": "pravega://examples/flights",
        "dagster/table_name": "examples.flights",
        "dagster/storage_kind": "pravega",
    }
    assert spec.description == "Pravega stream examples/flights"


def test_a_spec_says_what_the_user_says():
    spec = pravega_stream_spec(
        "examples/flights",
        key="departures",
        group_name="airports",
        description="Every departure",
        tags={"domain": "air"},
        owners=["team:ops"],
        metadata={"retention": "30 days"},
    )

    assert spec.key == dg.AssetKey("departures")
    assert (spec.group_name, spec.description, spec.owners) == ("airports", "Every departure", ["team:ops"])
    assert spec.tags["domain"] == "air"
    assert spec.metadata["retention"] == "30 days"
    assert spec.metadata["pravega/stream"] == "examples/flights"


def test_a_spec_has_the_other_attributes_of_assets_too():
    condition = dg.AutomationCondition.on_cron("@daily")
    spec = pravega_stream_spec("examples/flights", deps=["planes"], kinds={"json"}, automation_condition=condition)

    assert [each.asset_key for each in spec.deps] == [dg.AssetKey("planes")]
    assert spec.kinds == {"pravega", "json"}
    assert spec.automation_condition == condition


def test_an_observed_stream_keeps_what_its_spec_says():
    observed = build_observed_stream(pravega_stream_spec("examples/my-flights.2013", options={"decode": "json"}))

    [spec] = observed.specs
    assert spec.metadata["pravega/options"] == {"decode": "json"}
    assert observed.op.name == "observe_examples_my_flights_2013"
    with pytest.raises(ConfigurationError, match="has no scope"):
        build_observed_stream(dg.AssetSpec("flights"))


def test_a_spec_makes_an_external_asset():
    definitions = dg.Definitions(assets=[pravega_stream_spec("examples/my-flights.2013")])

    key = dg.AssetKey(["examples", "my-flights.2013"])
    assert definitions.resolve_asset_graph().get(key).is_external


@pytest.mark.parametrize("name", ["flights", "", "a/b/c", "examples/", "examples/fl ights"])
def test_a_name_that_is_no_stream_is_refused(name):
    with pytest.raises(ConfigurationError):
        pravega_stream_spec(name)


def test_the_metadata_says_which_stream_an_asset_is():
    metadata = {"pravega/stream": dg.MetadataValue.text("examples/flights")}
    assert stream_of(dg.AssetKey(["any", "key", "at", "all"]), metadata) == "examples/flights"


def test_without_metadata_the_key_says_it():
    assert stream_of(dg.AssetKey(["examples", "flights"]), {}) == "examples/flights"
    assert stream_of(dg.AssetKey("flights"), {}) == "flights"


def test_a_long_key_needs_the_metadata():
    with pytest.raises(ConfigurationError, match="pravega/stream"):
        stream_of(dg.AssetKey(["a", "b", "c"]), {})


def test_an_asset_that_is_written_to_a_stream_has_its_kind_and_name():
    @dg.asset(**pravega_output("shop/sums", kinds=["json"], options={"encode": "auto"}, io_manager_key="arrow"))
    def sums() -> None: ...

    [spec] = sums.specs
    assert spec.kinds == {"pravega", "json"}
    assert stream_of(spec.key, spec.metadata) == "shop/sums"
    assert spec.metadata["pravega/options"] == {"encode": "auto"}
    assert spec.metadata["dagster/uri"] == "pravega://shop/sums"
    assert sums.required_resource_keys == {"arrow"}
    for wrong in ({"stream": "sums"}, {"stream": "shop/sums", "options": {"schema_registry_password": "canary"}}):
        with pytest.raises(ConfigurationError):
            pravega_output(**wrong)
