"""Assets that a range is divided into: several streams and tables get their rows by one write, also after kills."""

import json
from typing import Any

import dagster as dg
import polars as pl
import pytest

from aiopravega import ScalingPolicy, StreamName
from dagster_pravega import (
    build_several_sinks,
    pravega_stream_spec,
)
from pravega_jobs.frames import RowsByKey
from pravega_jobs.landing import holdings

OWNER = "dagster/sinks split"
READ: dict[str, Any] = {"columns": "id long, region string", "options": {"decode": "json"}}


@pytest.fixture
def order(client, stream):
    """Writes orders, each by its number and region."""

    def order(*orders: tuple[int, str]) -> None:
        with client.writer(stream) as writer:
            writer.write_many([json.dumps({"id": number, "region": region}).encode() for number, region in orders])

    return order


@pytest.fixture
def sinks(client, scope, tmp_path) -> dict[str, str]:
    """Two streams and two tables, by the names of their assets."""
    for name in ("few", "many", "dead"):
        client.create_stream(f"{scope}/{name}", ScalingPolicy.fixed(1))
    tables = {"lake/all": f"parquet:{tmp_path}/all", "lake/last": f"delta:{tmp_path}/last"}
    return {"few": f"{scope}/few", "many": f"{scope}/many", **tables}


@pytest.fixture
def run(stream, manager, instance):
    """Materializes assets; gives the metadata of each by its key, or why they failed."""

    def run(assets, **arguments):
        arguments = {"resources": {"pravega_arrow": manager}} | arguments
        others = arguments.pop("others", [])
        result = dg.materialize(
            [pravega_stream_spec(str(stream)), assets, *others],
            selection=[*assets.keys, *(each.key for each in others)],
            instance=instance,
            raise_on_error=False,
            **arguments,
        )
        if not result.success:
            [failure] = result.get_step_failure_events()
            return str(failure.step_failure_data.user_failure_data or failure.step_failure_data.error)
        made = [event.materialization for event in result.get_asset_materialization_events()]
        plain = [{name: value.value for name, value in each.metadata.items()} for each in made]
        return dict(zip((each.asset_key.to_user_string() for each in made), plain, strict=True))

    return run


@pytest.fixture
def split(stream, sinks):
    """Makes the assets; counts the calls of their function."""

    def split(**given):
        calls = given.pop("calls", [])

        def divide(orders: pl.LazyFrame) -> dict[str, Any]:
            calls.append(1)
            few = pl.col("id") < 2
            last = orders.group_by("region").agg(pl.col("id").max())
            return {
                "few": orders.filter(few),
                "many": orders.filter(~few),
                "lake/all": orders,
                "lake/last": RowsByKey(last, ["region"], {"order_by": ()}),
            }

        return build_several_sinks(
            pravega_stream_spec(str(stream)), given.pop("divide", divide), name="split", into=sinks, **READ | given
        )

    return split


@pytest.fixture
def ids(contents):
    return lambda name: sorted(json.loads(each)["id"] for each in contents(StreamName.parse(name)))


def test_all_sinks_get_their_rows_by_one_write(run, split, order, sinks, ids, client, stream):
    assets = split()
    order(*((number, "east" if number % 2 else "west") for number in range(5)))
    first = run(assets)
    write_id = first["few"]["pravega/write_id"]
    assert {each["pravega/write_id"] for each in first.values()} == {write_id}
    assert write_id.startswith(f"{OWNER} run ")
    counts = {"few": 2, "many": 3, "lake/all": 5, "lake/last": 2}
    assert {key: each["pravega/sinks"] for key, each in first.items()} == dict.fromkeys(counts, counts)
    assert (first["many"]["pravega/events"], first["many"]["pravega/consumer"]) == (3, OWNER)
    assert (first["lake/all"]["pravega/rows"], first["lake/last"]["dagster/row_count"]) == (5, 2)
    record = client.visible_write(sinks["many"], write_id)
    assert [str(each) for each in record.streams] == [sinks["few"], sinks["many"]]
    assert {each.target for each in record.tables} == {sinks["lake/all"], sinks["lake/last"]}
    order((7, "east"))
    second = run(assets)
    assert second["few"]["pravega/sinks"] == {"few": 0, "many": 1, "lake/all": 1, "lake/last": 1}
    assert (ids(sinks["few"]), ids(sinks["many"])) == ([0, 1], [2, 3, 4, 7])
    assert second["lake/last"]["dagster/row_count"] == 2
    assert all(each.is_done for each in client.cut_ledger(stream.scope).records(OWNER, stream))


def test_a_run_killed_after_its_write_is_found_by_the_next_run(run, split, order, sinks, ids, client, stream, instance):
    assets = split()
    order((0, "east"), (5, "west"))
    run(assets)
    ledger = client.cut_ledger(stream.scope)
    [record] = ledger.records(OWNER, stream)
    assert {part.sink.target for part in record.parts} == {sinks["few"]}
    ledger.reopen(record.identity, "its run has been killed")
    ledger.expect(record.identity, [part.name for part in record.parts], claimant=record.claimant)
    for part in record.parts:
        ledger.declare(record.identity, part.name, part.sink)
    instance.delete_run(record.claimant.run)
    order((6, "west"))
    assert run(assets)["many"]["pravega/events"] == 1
    assert (ids(sinks["few"]), ids(sinks["many"])) == ([0], [5, 6])
    assert sum(each.rows for each in holdings(sinks["lake/all"])) == 3


def test_a_partition_is_written_once_and_other_rows_need_a_generation(run, split, order, sinks, ids):
    order((0, "east"), (5, "west"))
    days, calls = dg.StaticPartitionsDefinition(["monday"]), []
    inputs = {"inputs": {"events": {"start": "earliest", "end": "latest"}}}

    def work(rebuild: int = 1, **given: Any) -> Any:
        config = {"ops": {"split": inputs | {"config": {"rebuild": rebuild}}}}
        return run(split(partitions_def=days, calls=calls, **given), partition_key="monday", run_config=config)

    first = work()
    assert first["few"]["pravega/write_id"] == f"{OWNER} monday"
    assert first["lake/all"]["dagster/partition_row_count"] == 2
    assert work()["many"]["pravega/sinks"] == first["many"]["pravega/sinks"]
    assert (len(calls), ids(sinks["few"]), ids(sinks["many"])) == (2, [0], [5])

    def other(orders: pa.Table) -> dict[str, Any]:
        last = pl.from_arrow(orders)
        return dict.fromkeys(sinks, orders) | {"lake/last": RowsByKey(last, ["region"], {"order_by": ()})}

    assert "WriteIdReusedError" in work(divide=other)
    assert ids(sinks["few"]) == [0]
    del sinks["lake/last"]  # merged rows have no next generation

    def rows(orders: pa.Table) -> dict[str, pa.Table]:
        return dict.fromkeys(sinks, orders)

    assert "SinksError" in work(divide=rows)
