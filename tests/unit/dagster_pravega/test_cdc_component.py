"""Tables of a database by YAML alone, with Dagster's own help for tests of components."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml  # type: ignore[import-untyped]  # it comes with Dagster, without types
from dagster.components.core.component_tree import ComponentTreeException
from dagster.components.testing import create_defs_folder_sandbox
from packaging.version import Version

from dagster_pravega import LandingDatabase, PravegaCdcComponent

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "dagster-tables.md"
ORDERS = {"name": "public.orders", "key_of_rows": ["id"], "columns": "id int, price decimal(10,2)"}
LINES = {"name": "public.order_items", "key_of_rows": ["order_id", "line"], "table": "iceberg:lake/shop.items"}
# Streams of Debezium have dots in their names; older Dagsters have no checks of such assets.
DOTS = Version(dg.__version__) >= Version("1.13.4")
SETTINGS = {"debezium_settings": "/etc/debezium/application.properties"}
DATABASE: dict[str, Any] = {
    "scope": "shop",
    "topic_prefix": "inv",
    "table": "delta:/lake/{name}",
    "key_prefix": ["lake"],
    "cron": "*/5 * * * *",
    "warn_after": "1h",
    "checks": ["ghosts", "drift"],
    "tables": [ORDERS, LINES],
    "connection": {},
}


def load(attributes=None) -> dg.Definitions:
    with create_defs_folder_sandbox() as sandbox:
        contents = {"type": "dagster_pravega.PravegaCdcComponent", "attributes": attributes}
        if attributes is None:
            path = sandbox.scaffold_component(PravegaCdcComponent)
        else:
            path = sandbox.scaffold_component(PravegaCdcComponent, defs_yaml_contents=contents)
        with sandbox.load_component_and_build_defs(path) as (_, definitions):
            return definitions


def test_each_table_is_an_asset_of_its_stream_with_checks():
    definitions = load(DATABASE)
    dg.Definitions.validate_loadable(definitions)
    graph = definitions.resolve_asset_graph()
    orders, lines = dg.AssetKey(["lake", "public", "orders"]), dg.AssetKey(["lake", "public", "order_items"])
    streams = {
        orders: dg.AssetKey(["shop", "inv.public.orders"]),
        lines: dg.AssetKey(["shop", "inv.public.order-items"]),
    }
    assert graph.get_all_asset_keys() == {*streams, *streams.values()}
    for table, stream in streams.items():
        assert graph.get(table).parent_keys == {stream}
        assert graph.get(table).automation_condition is not None
    assert graph.get(orders).metadata["pravega/table"] == "delta:/lake/public.orders"
    assert graph.get(lines).metadata["pravega/table"] == "iceberg:lake/shop.items"
    checks = {(key.asset_key, key.name) for key in graph.asset_check_keys}
    assert checks == {
        *((table, name) for table in streams for name in ("stream_lag", "cdc_ghosts", "cdc_drift")),
    }
    assert {"pravega", "pravega_spark"} <= set(definitions.resources or {})


def test_tables_of_a_database_have_its_resource():
    given = {**DATABASE, "table": "{name}", "tables": [ORDERS], "table_database": {"dsn_env": "WAREHOUSE_DSN"}}
    for more, key in (({}, "pravega_table_database"), ({"table_database_key": "warehouse"}, "warehouse")):
        definitions = load(given | more)
        dg.Definitions.validate_loadable(definitions)
        [asset] = [each for each in definitions.assets or [] if isinstance(each, dg.AssetsDefinition)]
        assert key in asset.required_resource_keys
        assert isinstance((definitions.resources or {})[key], LandingDatabase)
        for check in definitions.asset_checks or []:
            assert (key in check.required_resource_keys) == (next(iter(check.check_keys)).name != "stream_lag")


@pytest.mark.skipif(not DOTS, reason="this Dagster has no checks of assets with dots in their keys")
def test_the_settings_of_debezium_are_checked_with_the_first_stream():
    graph = load(DATABASE | SETTINGS).resolve_asset_graph()
    stream = dg.AssetKey(["shop", "inv.public.orders"])
    assert dg.AssetCheckKey(stream, "debezium_settings") in graph.asset_check_keys


def test_files_that_say_the_same_share_their_resources():
    more = {**DATABASE, "key_prefix": ["again"], "topic_prefix": "other"}
    dg.Definitions.merge(load(DATABASE), load(more))
    with pytest.raises(dg.DagsterInvariantViolationError, match="different resources with same key 'pravega_spark'"):
        dg.Definitions.merge(load(DATABASE), load({**more, "spark": {"master": "local[1]"}}))


def test_what_dg_scaffolds_can_be_loaded():
    keys = load().resolve_asset_graph().get_all_asset_keys()
    assert keys == {dg.AssetKey(["examples", "inv.public.orders"]), dg.AssetKey(["public", "orders"])}


@pytest.mark.parametrize("name", ["tables of a database", "a database in a catalog"])
def test_the_files_of_the_how_to_page_can_be_loaded(name):
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n```yml\n")
    contents = yaml.safe_load(rest.partition("```")[0])
    assert contents["type"] == "dagster_pravega.PravegaCdcComponent"
    if not DOTS:
        contents["attributes"].pop("debezium_settings", None)
    assert load(contents["attributes"]).resolve_asset_graph().get_all_asset_keys()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tables": []}, "at least 1 item"),
        ({"table": "delta:/lake/all"}, "public.orders has no table to be kept in"),
        ({"table": "parquet:/lake/{name}"}, "tables of Delta and Iceberg"),
        ({"topic_prefix": "in$v"}, "in$v"),
        ({"tables": [{**ORDERS, "key_of_rows": []}]}, "key_of_rows"),
        ({"warn_after": "1mo"}, "a month has no fixed length"),
        *([] if DOTS else [(SETTINGS, "has a dot, and Dagster")]),
        ({"tables": [{**ORDERS, "partition_by": ["day(placed)"]}]}, "Delta has partitions by columns only"),
        ({"deletes": "never"}, "'hard' or 'soft'"),
        ({"ghosts": "drop"}, "'keep' or 'remove'"),
        ({"checks": ["ghosts", "lag"]}, "'ghosts' or 'drift'"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_loaded(change, message):
    with pytest.raises(ComponentTreeException) as refused:
        load(DATABASE | change)
    texts: list[str] = []
    error: BaseException | None = refused.value
    while error is not None:
        texts.append(str(error))
        error = error.__cause__ or error.__context__
    assert message in "\n".join(texts)
