"""A table that follows a stream by YAML alone: its asset, the sensor or the schedule, and what is refused."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml  # type: ignore[import-untyped]  # it comes with Dagster, without types
from dagster.components.core.component_tree import ComponentTreeException
from dagster.components.testing import create_defs_folder_sandbox

from aiopravega.errors import ConfigurationError
from dagster_pravega import PravegaKeptTableComponent, build_kept_table, pravega_stream_spec

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "keep-table.md"
ORDERS: dict[str, Any] = {
    "stream": "shop/orders",
    "table": "delta:/lake/orders",
    "options": {"decode": "json"},
    "columns": "id long, price double",
    "errors": "delta:/lake/orders_errors",
    "connection": {},
}
TABLE = dg.AssetKey(["kept", "shop", "orders"])


def load(attributes=None) -> dg.Definitions:
    with create_defs_folder_sandbox() as sandbox:
        contents = {"type": "dagster_pravega.PravegaKeptTableComponent", "attributes": attributes}
        if attributes is None:
            path = sandbox.scaffold_component(PravegaKeptTableComponent)
        else:
            path = sandbox.scaffold_component(PravegaKeptTableComponent, defs_yaml_contents=contents)
        with sandbox.load_component_and_build_defs(path) as (_, definitions):
            return definitions


def test_a_sensor_that_runs_follows_the_stream():
    definitions = load(ORDERS)
    dg.Definitions.validate_loadable(definitions)
    graph = definitions.resolve_asset_graph()
    assert graph.get(TABLE).parent_keys == {dg.AssetKey(["shop", "orders"])}
    assert graph.get(TABLE).is_partitioned
    assert graph.get(TABLE).kinds == {"deltalake"}
    [sensor] = definitions.sensors or []
    assert isinstance(sensor, dg.SensorDefinition)
    assert (sensor.name, sensor.default_status) == ("kept_shop_orders_follows", dg.DefaultSensorStatus.RUNNING)
    assert sensor.minimum_interval_seconds == 30
    assert set(definitions.resources or {}) == {"pravega", "pravega_arrow"}


def test_a_schedule_takes_the_place_of_the_sensor():
    definitions = load({**ORDERS, "cron": "*/5 * * * *", "key": "lake/orders", "group_name": "lake"})
    asset = definitions.resolve_asset_graph().get(dg.AssetKey(["lake", "orders"]))
    assert not definitions.sensors
    assert not asset.is_partitioned
    assert (asset.automation_condition is not None, asset.group_name) == (True, "lake")


def test_a_catalog_and_a_store_are_resources_of_the_table():
    catalog = {"name": "lake", "type": "rest", "uri": "https://catalog", "credential_env": "CATALOG_CREDENTIAL"}
    store = {"access_key_id_env": "STORE_KEY", "secret_access_key_env": "STORE_SECRET"}
    names = {"table": "shop.orders", "errors": "shop.orders_errors"}
    definitions = load(ORDERS | names | {"catalog": catalog, "store": store})
    dg.Definitions.validate_loadable(definitions)
    resources = dict(definitions.resources or {})
    assert set(resources) == {"pravega", "pravega_arrow", "pravega_catalog", "pravega_store"}
    assert (resources["pravega_catalog"].name, resources["pravega_catalog"].uri) == ("lake", "https://catalog")
    asset = definitions.resolve_assets_def(TABLE)
    assert {"pravega_catalog", "pravega_store"} <= asset.required_resource_keys


def test_what_dg_scaffolds_can_be_loaded():
    keys = load().resolve_asset_graph().get_all_asset_keys()
    assert keys == {dg.AssetKey(["examples", "orders"]), dg.AssetKey(["kept", "examples", "orders"])}


def test_the_file_of_the_how_to_page_can_be_loaded():
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("```yml\n")
    contents = yaml.safe_load(rest.partition("```")[0])
    assert contents["type"] == "dagster_pravega.PravegaKeptTableComponent"
    assert load(contents["attributes"]).resolve_asset_graph().get_all_asset_keys()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"deletes": "soft"}, "there is no key"),
        ({"table": "/lake/orders"}, "does not say what kind of table it is"),
        ({"cron": "@hourly", "max_bytes": 5}, "max_bytes is of the sensor"),
        ({"key_of_rows": ["id"]}, "errors is for landings"),
        ({"order_by": ["at"]}, "there is no key"),
        ({"catalog": {"name": "lake"}}, "both say where the table is"),
        ({"database": {"dsn_env": "DSN"}, "store": {}, "table": "orders"}, "a table is in a database, or in a catalog"),
        ({"options": {"decode": "json", "on_error": "null"}}, "the options say on_error=null"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_loaded(change, message):
    with pytest.raises(ComponentTreeException) as refused:
        load({**ORDERS, **change})
    assert message in str(refused.value.__cause__ or refused.value)


def test_partitions_that_are_not_ranges_of_a_consumer_are_refused():
    days: Any = dg.DailyPartitionsDefinition("2026-01-01")
    with pytest.raises(ConfigurationError, match="other partitions than StreamCutPartitions"):
        build_kept_table(pravega_stream_spec("shop/orders"), key=TABLE, table="delta:/lake/orders", partitions_def=days)
