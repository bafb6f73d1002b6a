"""Tables of assets by the keys of resources: what is refused, what claims say, what resources give."""

from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest

from aiopravega.errors import ConfigurationError
from dagster_pravega import IcebergCatalog, ObjectStore, build_landed_asset, build_table_upkeep, pravega_stream_spec
from dagster_pravega.resources.table_keys import TableKeys, table_without_resources
from pravega_jobs.landing import Iceberg

SECRET = "canary-of-a-store"
ORDERS = pravega_stream_spec("shop/orders")


@pytest.mark.parametrize(
    ("table", "keys", "words"),
    [
        ("delta:s3://lake/orders", {"catalog_key": "lake"}, "and catalog_key is given"),
        ("shop.orders", {"database_key": "db", "catalog_key": "lake"}, "a table is in a database, or in a catalog"),
        ("shop.orders", {"database_key": "db", "store_key": "s3"}, "a table is in a database, or in a catalog"),
        ("orders", {"catalog_key": "lake"}, r"namespace\.table"),
    ],
)
def test_a_table_that_its_resources_cannot_have_is_refused_at_once(table, keys, words):
    with pytest.raises(ConfigurationError, match=words):
        build_landed_asset(ORDERS, key="orders", table=table, since="last", **keys)


def test_assets_and_jobs_need_the_resources_of_their_tables():
    keys: dict[str, Any] = {"catalog_key": "lake", "store_key": "s3"}
    asset = build_landed_asset(ORDERS, key="orders", table="shop.orders", since="last", **keys)
    assert asset.required_resource_keys >= {"lake", "s3"}
    job = build_table_upkeep("shop.orders", **keys)
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="lake|s3"):
        dg.Definitions(jobs=[job]).get_job_def(job.name)


def test_a_claim_says_the_keys_and_no_one_else_takes_it_for_a_table():
    for keys, table, text in (
        (TableKeys(database="db"), "shop.orders", "db: shop.orders"),
        (TableKeys(catalog="lake", store="s3"), "shop.orders", "s3: lake: shop.orders"),
        (TableKeys(store="delta"), "delta:s3://lake/orders", "delta: delta:s3://lake/orders"),
    ):
        assert keys.sink(table) == text
        assert table_without_resources(text) is None
    assert table_without_resources(TableKeys().sink("delta:/lake/orders")) is not None


def test_resources_give_the_catalog_and_the_access_and_show_no_secret():
    store = ObjectStore(access_key_id="AKIA", secret_access_key=SECRET, options={"aws_skip_signature": "false"})
    catalog = IcebergCatalog(name="lake", uri="https://catalog", credential=SECRET, properties={"warehouse": "w"})
    resources = SimpleNamespace(s3=store, lake=catalog)
    keys = TableKeys(catalog="lake", store="s3")
    expected = {"uri": "https://catalog", "credential": SECRET, "warehouse": "w"}
    table = keys.table("shop.orders", resources)
    assert (table, getattr(table, "properties", None)) == (Iceberg("shop.orders", "lake", expected), expected)
    access = keys.access(resources)
    assert access is not None
    assert access.options() == {
        "aws_access_key_id": "AKIA",
        "aws_secret_access_key": SECRET,
        "aws_skip_signature": "false",
    }
    assert SECRET not in f"{store!r} {catalog!r} {access!r} {table!r}"
    assert TableKeys().access(resources) is None
