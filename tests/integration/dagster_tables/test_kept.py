"""Tables as assets that follow a stream without Spark: ranges, errors, merges and upkeep, also after kills."""

import json
from typing import Any

import dagster as dg
import pytest
from deltalake import DeltaTable
from tests.pages.blocks import blocks_of

from aiopravega import StreamCutRange
from aiopravega.ledger import Interval
from dagster_pravega import StreamCutPartitions, build_kept_table, pravega_stream_spec

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


def test_the_code_of_the_page_takes_what_there_is(order, stream, tmp_path, pravega_config, monkeypatch, instance, ids):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    order(1, 2)
    names: dict[str, Any] = {}
    code = blocks_of("keep-table")[1].code
    exec(code.replace("examples/orders", str(stream)).replace("/tmp/lake", str(tmp_path)), names)
    done = names["defs"].resolve_implicit_global_asset_job_def().execute_in_process(instance=instance)
    assert (done.success, ids()) == (True, [1, 2])
