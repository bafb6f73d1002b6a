"""Tables as assets that follow a stream without Spark: ranges, errors, merges and upkeep, also after kills."""

import json
from typing import Any

import dagster as dg
import pytest
from dagster.components.testing import create_defs_folder_sandbox
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog
from tests.pages.blocks import block_with
from tests.system.s3_server import BUCKET

from aiopravega import StreamCutRange
from aiopravega.ledger import Interval
from dagster_pravega import (
    PravegaKeptTableComponent,
    StreamCutPartitions,
    build_kept_table,
    pravega_stream_spec,
)

LAKE = dg.AssetKey(["lake", "orders"])
OWNER = "dagster/lake/orders"


@pytest.fixture
def order(client, stream):
    def order(*numbers):
        with client.writer(stream) as writer:
            writer.write_many([json.dumps({"id": number}).encode() for number in numbers], map(str, numbers))

    return order


@pytest.fixture
def made(stream, tmp_path):
    """The asset of the stream, and a function that makes that of the table."""
    spec = pravega_stream_spec(str(stream), options={"decode": "json"})

    def make(**arguments):
        return build_kept_table(
            spec, key=LAKE, table=f"delta:{tmp_path}/orders", columns="id long, price double", **arguments
        )

    return spec, make


@pytest.fixture
def run(made, manager, instance):
    """Materializes a table; gives its metadata, or why it failed."""

    def run(asset, **arguments):
        result = dg.materialize(
            [made[0], asset],
            selection=[asset.key],
            resources={"pravega_arrow": manager},
            instance=instance,
            raise_on_error=False,
            **arguments,
        )
        if not result.success:
            [failure] = result.get_step_failure_events()
            return str(failure.step_failure_data.user_failure_data or failure.step_failure_data.error)
        [event] = result.get_asset_materialization_events()
        return {name: value.value for name, value in event.materialization.metadata.items()}

    return run


@pytest.fixture
def ids(tmp_path):
    return lambda: sorted(DeltaTable(tmp_path / "orders").to_pyarrow_table()["id"].to_pylist())


def test_runs_take_what_came_and_an_empty_range_changes_nothing(run, made, order, ids, client, stream, tmp_path):
    asset = made[1](upkeep_after=2, group_name="lake")
    empty = run(asset)
    assert (empty["pravega/landing"], empty["pravega/rows"], empty["pravega/events"]) == ("nothing", 0, 0)
    assert not (tmp_path / "orders").exists()
    order(1, 2)
    first = run(asset)
    assert (first["pravega/landing"], first["pravega/rows"], first["dagster/row_count"]) == ("append", 2, 2)
    assert (first["pravega/consumer"], first["pravega/events"]) == (OWNER, 2)
    assert "pravega/upkeep" not in first
    order(3)
    second = run(asset)
    assert (second["pravega/rows"], second["dagster/row_count"]) == (1, 3)
    assert "2 files of" in second["pravega/upkeep"]
    assert ids() == [1, 2, 3]
    assert all(record.is_done for record in client.cut_ledger(stream.scope).records(OWNER, stream))
    assert "takes each range once" in run(asset, tags={"pravega/rebuild": "2"})


def test_a_run_killed_before_its_last_record_is_found_in_the_table(run, made, order, ids, client, stream, instance):
    asset = made[1]()
    order(1, 2)
    run(asset)
    ledger = client.cut_ledger(stream.scope)
    [record] = ledger.records(OWNER, stream)
    ledger.reopen(record.identity, "its run has been killed")
    ledger.expect(record.identity, [part.name for part in record.parts], claimant=record.claimant)
    for part in record.parts:
        ledger.declare(record.identity, part.name, part.sink)
    instance.delete_run(record.claimant.run)
    order(3)
    assert run(asset)["pravega/rows"] == 1
    assert ids() == [1, 2, 3]
    assert all(each.is_done for each in ledger.records(OWNER, stream))


def test_events_that_cannot_be_decoded_go_to_the_errors_table(run, made, order, ids, client, stream, tmp_path):
    errors = f"delta:{tmp_path}/errors"
    order(1)
    with client.writer(stream) as writer:
        writer.write(b"no JSON")
    kept = run(made[1](errors=errors, options={"missing_fields": "null"}))
    assert (kept["pravega/rows"], kept["pravega/errors"], kept["pravega/errors_table"]) == (1, 1, errors)
    assert kept["pravega/events"] == 2
    assert ids() == [1]


def test_each_range_of_a_sensor_is_a_partition_of_the_table(run, made, order, ids, client, stream, instance):
    partitions = StreamCutPartitions(str(stream), consumer="lake")
    asset, ledger = made[1](partitions_def=partitions, consumer="lake"), client.cut_ledger(stream.scope)
    ledger.create()
    start = client.head(stream)
    for number in (1, 2):
        order(number)
        interval, end = Interval("lake", stream, f"range {number}"), client.tail(stream)
        ledger.claim(interval, StreamCutRange(start, end))
        instance.add_dynamic_partitions(partitions.name, [interval.name])
        kept = run(asset, partition_key=interval.name)
        assert (kept["pravega/rows"], kept["pravega/interval"]) == (1, interval.name)
        assert ledger.find(interval).is_done
        start = end
    assert run(asset, partition_key="range 1")["pravega/landing"] == "nothing"
    assert ids() == [1, 2]


def test_a_file_of_yaml_keeps_a_table_of_a_catalog_in_a_store(
    order, stream, scope, s3_server, tmp_path, pravega_config, monkeypatch, instance
):
    uri, warehouse = f"sqlite:///{tmp_path}/catalog.db", f"s3://{BUCKET}/{scope}/lake"
    at_server = {"s3.endpoint": s3_server.url, "s3.access-key-id": "a", "s3.secret-access-key": "b"}
    catalog = load_catalog("lake", type="sql", uri=uri, warehouse=warehouse, **at_server)
    catalog.create_namespace("shop")
    variables = {"CATALOG_URI": uri, "STORE_KEY": "AKIA", "STORE_SECRET": "canary"}
    for name, value in {**variables, "PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri}.items():
        monkeypatch.setenv(name, value)
    keys = {"access_key_id_env": "STORE_KEY", "secret_access_key_env": "STORE_SECRET"}
    attributes = {
        "stream": str(stream),
        "table": "shop.orders",
        "errors": "shop.orders_errors",
        "key": "lake/orders",
        "columns": "id long",
        "options": {"decode": "json"},
        "partition_by": ["bucket(4, id)"],
        "cron": "@hourly",
        "catalog": {"name": "lake", "type": "sql", "uri_env": "CATALOG_URI", "warehouse": warehouse},
        "store": {**keys, "region": "us-east-1", "endpoint_url": s3_server.url},
        "connection": {},
    }
    contents = {"type": "dagster_pravega.PravegaKeptTableComponent", "attributes": attributes}
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(PravegaKeptTableComponent, defs_yaml_contents=contents)
        with sandbox.load_component_and_build_defs(path) as (_, definitions):
            job = definitions.resolve_implicit_global_asset_job_def()
            for number in (1, 2):
                order(number)
                assert job.execute_in_process(instance=instance).success
    found = catalog.load_table("shop.orders")
    assert sorted(found.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    assert [str(field.transform) for field in found.spec().fields] == ["bucket[4]"]


def test_what_a_function_makes_of_a_range_is_merged_once_by_its_key(client, stream, manager, instance, tmp_path):
    names: dict[str, Any] = {}
    code = "\n".join(block_with("keep-table", text).code for text in ("table = build_kept_table(", "def long_visits("))
    exec(code.replace("examples/visits", str(stream)).replace("/tmp/lake", str(tmp_path)), names)
    spec, asset = names["visits"], names["last_visits"]

    def visit(*visits: tuple[str, int]) -> None:
        rows = [json.dumps({"page": page, "seconds": seconds}).encode() for page, seconds in visits]
        with client.writer(stream) as writer:
            writer.write_many(rows, [page for page, _ in visits])

    def work() -> Any:
        resources = {"pravega_arrow": manager}
        done = dg.materialize([spec, asset], selection=[asset], resources=resources, instance=instance)
        [event] = done.get_asset_materialization_events()
        return {name: value.value for name, value in event.materialization.metadata.items()}

    visit(("/", 20), ("/help", 5), ("/", 30))
    first = work()
    assert (first["pravega/merge"], first["pravega/inserted"], first["pravega/events"]) == ("merge", 1, 3)
    ledger = client.cut_ledger(stream.scope)
    [record] = ledger.records("dagster/lake/last_visits", stream)
    ledger.reopen(record.identity, "its run was killed after its merge")
    ledger.expect(record.identity, [part.name for part in record.parts], claimant=record.claimant)
    for part in record.parts:
        ledger.declare(record.identity, part.name, part.sink)
    instance.delete_run(record.claimant.run)
    visit(("/help", 40), ("/", 3))
    assert work()["pravega/inserted"] == 1
    found = DeltaTable(tmp_path / "last_visits").to_pyarrow_table(columns=["page", "seconds"]).to_pylist()
    assert sorted((row["page"], row["seconds"]) for row in found) == [("/", 30), ("/help", 40)]
    assert all(each.is_done for each in ledger.records("dagster/lake/last_visits", stream))


def test_the_code_of_the_page_takes_what_there_is(order, stream, tmp_path, pravega_config, monkeypatch, instance, ids):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    order(1, 2)
    names: dict[str, Any] = {}
    code = block_with("keep-table", "table = build_kept_table(").code
    exec(code.replace("examples/orders", str(stream)).replace("/tmp/lake", str(tmp_path)), names)
    done = names["defs"].resolve_implicit_global_asset_job_def().execute_in_process(instance=instance)
    assert (done.success, ids()) == (True, [1, 2])
