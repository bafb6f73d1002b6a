"""Assets whose tables are in S3, by resources alone: landed once, kept up, checked; the environment knows nothing."""

import json
from typing import Any

import dagster as dg
import polars as pl
import pytest
from pyiceberg.catalog import load_catalog
from tests.system.dagster.stored import stored_texts
from tests.system.s3_server import BUCKET

from dagster_pravega import (
    IcebergCatalog,
    ObjectStore,
    build_landed_asset,
    build_table_upkeep,
    pravega_stream_spec,
)
from dagster_pravega.resources.table_keys import TableKeys, table_without_resources

SECRET = "canary-of-a-store"
TABLES: dict[str, tuple[str, dict[str, Any]]] = {
    "delta": ("delta:s3://{bucket}/{scope}/orders", {"store_key": "store"}),
    "iceberg": ("shop.orders", {"store_key": "store", "catalog_key": "catalog"}),
}


@pytest.fixture
def instance(tmp_path):
    """An instance whose databases are in a folder, to be searched for secrets."""
    (tmp_path / "home").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "home")) as made:
        yield made


@pytest.fixture
def resources(s3_server, tmp_path, scope, monkeypatch):
    for name in s3_server.environment():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STORE_SECRET", SECRET)
    monkeypatch.setenv("CATALOG_URI", f"sqlite:///{tmp_path}/catalog.db")
    warehouse = f"s3://{BUCKET}/{scope}/lake"
    store = {"access_key_id": "AKIA", "region": "us-east-1", "endpoint_url": s3_server.url}
    known = {"s3.endpoint": s3_server.url, "s3.access-key-id": "a", "s3.secret-access-key": "b"}
    made = load_catalog("lake", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=warehouse, **known)
    made.create_namespace("shop")
    return {
        "store": ObjectStore(secret_access_key=dg.EnvVar("STORE_SECRET"), **store),
        "catalog": IcebergCatalog(name="lake", type="sql", uri=dg.EnvVar("CATALOG_URI"), warehouse=warehouse),
    }, made


def test_tables_in_a_store_are_landed_once_and_kept_up_by_resources(
    make_stream, append, client, scope, resources, manager, instance, metadata_of, kill_after_write, tmp_path, s3_server
):
    made, catalog = resources
    stream = make_stream()

    def run(asset, used):
        every = {"pravega_spark": manager, **used}
        done = dg.materialize([spec, asset], selection=[asset.key], resources=every, instance=instance)
        [event] = done.get_asset_materialization_events()
        return metadata_of(event.materialization)

    spec = pravega_stream_spec(str(stream), options={"decode": "json", "on_error": "dead"})
    append(stream, ["a", "b", *(json.dumps({"id": number}) for number in range(10))])
    for there, (name, (text, keys)) in zip((10, 11), TABLES.items(), strict=True):
        table, used = text.format(bucket=BUCKET, scope=scope), {key: made[key] for key in keys.values()}
        errors = f"{table}_errors"
        asset = build_landed_asset(
            spec, key=["lake", name], table=table, errors=errors, columns="id long", since="last", **keys
        )
        first = run(asset, used)
        assert (first["pravega/landing"], first["pravega/rows"], first["pravega/errors"]) == ("append", there, 2)
        [record] = client.cut_ledger(scope).records(f"dagster/lake/{name}", stream)
        [part] = record.parts
        assert part.sink.target == TableKeys(catalog=keys.get("catalog_key"), store="store").sink(table)
        assert table_without_resources(part.sink.target) is None
        # The next run asks the table by the resources, and finds that the killed one has landed.
        kill_after_write(record)
        append(stream, [json.dumps({"id": 10 + len(name)})])
        assert run(asset, used)["pravega/rows"] == 1

        job = build_table_upkeep(table, name=f"upkeep_of_{name}", **keys)
        done = job.execute_in_process(resources=used, instance=instance).output_for_node(f"upkeep_of_{name}")
        assert (done["dry_run"], done["removed_files"]) == (False, 0)

    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region": "us-east-1"}
    keys |= {"aws_endpoint_url": s3_server.url, "aws_allow_http": "true"}
    landed = pl.read_delta(f"s3://{BUCKET}/{scope}/orders", storage_options=keys)["id"]
    assert sorted(landed) == [*range(10), 15]
    assert sorted(catalog.load_table("shop.orders").scan().to_arrow()["id"].to_pylist()) == [*range(10), 15, 17]
    stored = stored_texts(tmp_path / "home")
    assert b"STORE_SECRET" in stored
    assert SECRET.encode() not in stored
