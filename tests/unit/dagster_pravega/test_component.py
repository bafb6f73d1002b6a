"""Streams by YAML alone, with Dagster's own help for tests of components."""

import importlib
import re
import tomllib
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml  # type: ignore[import-untyped]  # it comes with Dagster, without types
from dagster.components.core.component_tree import ComponentTreeException
from dagster.components.core.package_entry import discover_package_objects, get_package_objects_in_module
from dagster.components.testing import create_defs_folder_sandbox

import dagster_pravega
from dagster_pravega import (
    PravegaCdcComponent,
    PravegaKeptTableComponent,
    PravegaScopeComponent,
    PravegaStreamComponent,
    StreamCutPartitions,
)
from dagster_pravega.components.connection import Connection

ORDERS: dict[str, Any] = {
    "stream": "shop/orders",
    "group_name": "sales",
    "options": {"decode": "json"},
    "owners": ["team:sales"],
    "observe_cron": "*/5 * * * *",
    "lag_checks": [{"consumer": "billing", "warn_bytes": 1_000_000, "error_after": "6h"}],
    "cut_sensors": [{"name": "next_orders", "consumer": "billing", "target": "key:bills", "quiet_for": "10m"}],
}


@pytest.fixture
def load():
    """The definitions of a file of a component, as Dagster loads them."""

    def load(attributes) -> dg.Definitions:
        with create_defs_folder_sandbox() as sandbox:
            contents = {"type": "dagster_pravega.PravegaStreamComponent", "attributes": attributes}
            path = sandbox.scaffold_component(PravegaStreamComponent, defs_yaml_contents=contents)
            with sandbox.load_component_and_build_defs(path) as (component, definitions):
                assert isinstance(component, PravegaStreamComponent)
                return definitions

    return load


def test_a_file_gives_assets_observations_checks_sensors_and_resource(load):
    definitions = load({"streams": [ORDERS, {"stream": "shop/visits", "key": "web/visits"}], "connection": {}})

    graph = definitions.resolve_asset_graph()
    orders, visits = dg.AssetKey(["shop", "orders"]), dg.AssetKey(["web", "visits"])
    assert graph.get_all_asset_keys() == {orders, visits}
    assert graph.get(orders).is_observable
    assert not graph.get(visits).is_observable
    assert graph.get(orders).metadata["pravega/options"] == {"decode": "json"}
    assert graph.get(orders).group_name == "sales"
    assert graph.get(orders).automation_condition is not None
    assert [key.name for key in graph.asset_check_keys] == ["stream_lag"]
    sensor = definitions.resolve_sensor_def("next_orders")
    assert "nothing written for 600 s" in sensor.description
    assert "pravega" in definitions.resources


def test_the_assets_of_a_sensor_have_its_partitions(load):
    @dg.asset(partitions_def=StreamCutPartitions("shop/orders", consumer="billing"))
    def bills() -> None: ...

    definitions = dg.Definitions.merge(load({"streams": [ORDERS], "connection": {}}), dg.Definitions([bills]))
    dg.Definitions.validate_loadable(definitions)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stream": "orders"}, "has no scope"),
        ({"cuts": {"start": "soon"}}, "soon"),
        ({"freshness_checks": [{}]}, "has no limit"),
        ({"lag_checks": [{"consumer": "billing"}]}, "has no limit"),
        ({"lag_checks": [{"consumer": "billing", "warn_after": "soon"}]}, "is not a step in time"),
        ({"lag_checks": [{"consumer": "billing", "warn_after": "1mo"}]}, "a month has no fixed length"),
        ({"cut_sensors": [{**ORDERS["cut_sensors"][0], "on_open": "hope"}]}, "'wait', 'take_over' or 'skip'"),
        ({"cut_sensors": [{**ORDERS["cut_sensors"][0], "max_bytes": 0}]}, "max_bytes"),
        ({"sensor": {}}, "'sensor' is not a field"),
        ({"automation_condition": "{{ dg.AutomationCondition.eager() }}"}, "not both"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_loaded(load, change, message):
    with pytest.raises(ComponentTreeException) as refused:
        load({"streams": [ORDERS | change]})
    texts: list[str] = []
    error: BaseException | None = refused.value
    while error is not None:
        texts.append(str(error))
        error = error.__cause__ or error.__context__
    assert message in "\n".join(texts)


def test_the_file_of_the_how_to_page_can_be_loaded(load):
    page = Path(__file__).parents[3] / "docs" / "how-to" / "dagster-components.md"
    [text] = re.findall(r"^```yaml\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    contents = yaml.safe_load(text)
    assert contents["type"] == "dagster_pravega.PravegaStreamComponent"
    assert load(contents["attributes"]).resolve_sensor_def("next_pages") is not None


def test_files_of_one_connection_have_one_resource_others_are_refused(load):
    files = [
        {"streams": [{"stream": f"shop/{name}"}], "connection": {"scope": "shop"}} for name in ("orders", "visits")
    ]
    dg.Definitions.merge(*map(load, files))
    shop = Connection(scope="shop", password_env="SHOP_PASSWORD")
    assert shop.resource() is shop.model_copy().resource()
    assert shop.resource() is not Connection(scope="shop", token_env="SHOP_PASSWORD").resource()
    files[1]["connection"] = {"scope": "web"}
    with pytest.raises(dg.DagsterInvariantViolationError, match="different resources with same key 'pravega'"):
        dg.Definitions.merge(*map(load, files))


def test_what_dg_scaffolds_can_be_loaded():
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(PravegaStreamComponent)
        with sandbox.load_component_and_build_defs(path) as (_, definitions):
            assert definitions.resolve_asset_graph().get_all_asset_keys() == {dg.AssetKey(["examples", "orders"])}


def test_dg_finds_the_component_by_the_entry_point():
    project = Path(dagster_pravega.__file__).parents[2] / "pyproject.toml"
    entry_points = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["entry-points"]
    [module] = entry_points["dagster_dg_cli.registry_modules"].values()

    found = dict(get_package_objects_in_module(importlib.import_module(module)))

    assert found == {
        "PravegaCdcComponent": PravegaCdcComponent,
        "PravegaKeptTableComponent": PravegaKeptTableComponent,
        "PravegaScopeComponent": PravegaScopeComponent,
        "PravegaStreamComponent": PravegaStreamComponent,
    }
    assert sorted(key.to_typename() for key in discover_package_objects([module])) == [
        "dagster_pravega.PravegaCdcComponent",
        "dagster_pravega.PravegaKeptTableComponent",
        "dagster_pravega.PravegaScopeComponent",
        "dagster_pravega.PravegaStreamComponent",
    ]
