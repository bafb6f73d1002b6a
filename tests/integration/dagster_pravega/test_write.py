"""Outputs that go to streams: exactly once, whatever is tried again, with numbers that hold."""

import json
from collections.abc import Callable
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run
from pyspark.sql import DataFrame

from aiopravega import StreamCutRange, StreamName
from dagster_pravega import PravegaSparkIOManager


@pytest.fixture
def rows(spark) -> Callable[..., DataFrame]:
    """Rows `prefix-0 … prefix-(count - 1)` as events with keys."""

    def rows(prefix: str, count: int) -> DataFrame:
        text = f"concat('{prefix}-', id)"
        frame: DataFrame = spark.range(0, count, numPartitions=2)
        return frame.selectExpr(f"{text} as event", f"{text} as routing_key")

    return rows


def events(prefix: str, count: int) -> list[str]:
    return sorted(f"{prefix}-{number}" for number in range(count))


def writer(
    stream: StreamName,
    frame: Callable[[str], DataFrame],
    partitions: dg.PartitionsDefinition[str] | None = None,
    retry_policy: dg.RetryPolicy | None = None,
) -> dg.AssetsDefinition:
    """An asset that writes a DataFrame, made of its partition key (or an empty text), to a stream."""

    @dg.asset(
        io_manager_key="pravega",
        metadata={"pravega/stream": str(stream)},
        partitions_def=partitions,
        retry_policy=retry_policy,
    )
    def written(context: dg.AssetExecutionContext) -> DataFrame:
        return frame(context.partition_key if context.has_partition_key else "")

    return written


def materialize(asset: dg.AssetsDefinition, manager: dg.IOManager, **settings: Any) -> dg.AssetMaterialization:
    result = dg.materialize([asset], resources={"pravega": manager}, **settings)
    [materialization] = result.asset_materializations_for_node("written")
    return materialization


def test_a_materialization_says_what_it_has_written_and_where(
    make_stream, append, rows, manager, instance, metadata_of, client
):
    stream = make_stream()
    append(stream, events("earlier", 10))

    metadata = metadata_of(materialize(writer(stream, lambda _: rows("a", 50)), manager, instance=instance))
    append(stream, events("later", 10))

    assert metadata["pravega/stream"] == str(stream)
    assert metadata["pravega/events"] == 50
    assert metadata["pravega/bytes"] == sum(8 + len(event) for event in events("a", 50))
    assert metadata["pravega/events_per_second"] > 0
    assert metadata["pravega/write_id"].startswith("dagster/written/run ")
    between = client.read(StreamCutRange.from_json(metadata["pravega/cuts"]))
    assert sorted(event.data.decode() for event in between) == events("a", 50)


def test_the_data_version_is_the_cuts(make_stream, rows, manager, instance, metadata_of):
    materialization = materialize(writer(make_stream(), lambda _: rows("a", 5)), manager, instance=instance)

    cuts = metadata_of(materialization)["pravega/cuts"]
    assert materialization.tags is not None
    assert materialization.tags["dagster/data_version"] == f"{cuts['start']}..{cuts['end']}"


def test_a_stream_that_is_missing_is_made(scope, rows, manager, instance, contents, metadata_of):
    stream = StreamName(scope, "new")

    metadata = metadata_of(materialize(writer(stream, lambda _: rows("a", 5)), manager, instance=instance))

    assert contents(stream) == events("a", 5)
    assert "UNBOUNDED" not in metadata["pravega/cuts"].values()


def test_rows_without_an_event_become_json(make_stream, spark, manager, instance, contents):
    stream = make_stream()
    frame = spark.createDataFrame([("UA", 7, None), ("AA", None, 2.5)], "routing_key string, flight int, `a.b` double")

    materialize(writer(stream, lambda _: frame), manager, instance=instance)

    assert [json.loads(event) for event in contents(stream)] == [
        {"flight": 7, "a.b": None},
        {"flight": None, "a.b": 2.5},
    ]


def test_every_run_writes_without_partitions(make_stream, rows, manager, instance, contents):
    stream = make_stream()
    materialize(writer(stream, lambda _: rows("a", 5)), manager, instance=instance)
    materialize(writer(stream, lambda _: rows("b", 5)), manager, instance=instance)

    assert contents(stream) == events("a", 5) + events("b", 5)


def test_a_partition_is_written_once_and_others_are_written_too(
    make_stream, rows, manager, instance, contents, metadata_of
):
    stream = make_stream()
    asset = writer(stream, lambda key: rows(key, 20), partitions=dg.StaticPartitionsDefinition(["a", "b"]))

    first, second, _ = [
        metadata_of(materialize(asset, manager, partition_key=key, instance=instance)) for key in ("a", "a", "b")
    ]

    assert contents(stream) == events("a", 20) + events("b", 20)
    assert first.pop("pravega/events_per_second") > 0
    assert second == first


def test_a_partition_that_is_materialized_again_with_other_rows_fails(make_stream, rows, manager, instance, contents):
    stream = make_stream()
    partitions = dg.StaticPartitionsDefinition(["a"])
    materialize(writer(stream, lambda key: rows(key, 20), partitions), manager, partition_key="a", instance=instance)

    changed = writer(stream, lambda key: rows(key, 21), partitions)
    with pytest.raises(dg.Failure, match=r"WriteIdReusedError.*20 events.*this run has 21 events"):
        materialize(changed, manager, partition_key="a", instance=instance)

    assert contents(stream) == events("a", 20)


def test_a_stream_that_was_made_again_is_reported_with_cuts_of_its_own(
    make_stream, rows, manager, instance, contents, metadata_of, client
):
    stream = make_stream()
    asset = writer(stream, lambda key: rows(key, 20), dg.StaticPartitionsDefinition(["a"]))
    first = metadata_of(materialize(asset, manager, partition_key="a", instance=instance))
    client.delete_stream(stream)
    assert make_stream() == stream

    again = [metadata_of(materialize(asset, manager, partition_key="a", instance=instance)) for _ in range(2)]

    assert contents(stream) == events("a", 20)
    assert again[0]["pravega/cuts"] == again[1]["pravega/cuts"] != first["pravega/cuts"]
    between = client.read(StreamCutRange.from_json(again[0]["pravega/cuts"]))
    assert sorted(event.data.decode() for event in between) == events("a", 20)


def test_the_retry_of_a_step_that_died_after_its_write_adds_nothing(
    make_stream, append, rows, manager, instance, contents, metadata_of, client
):
    stream = make_stream()
    append(stream, events("earlier", 10))
    deaths: list[str] = []

    class DiesOnce(PravegaSparkIOManager):
        def handle_output(self, context: dg.OutputContext, obj: DataFrame) -> None:
            super().handle_output(context, obj)
            if not deaths:
                deaths.append(context.run_id)
                raise RuntimeError("the process dies before Dagster knows of the write")

    asset = writer(stream, lambda _: rows("a", 20), retry_policy=dg.RetryPolicy(max_retries=1))
    metadata = metadata_of(materialize(asset, DiesOnce(pravega=manager.pravega), instance=instance))

    assert len(deaths) == 1
    assert contents(stream) == events("a", 20) + events("earlier", 10)
    assert metadata["pravega/events"] == 20
    between = client.read(StreamCutRange.from_json(metadata["pravega/cuts"]))
    assert sorted(event.data.decode() for event in between) == events("a", 20)


def test_a_retry_compares_with_what_an_older_run_has_written(make_stream, rows, manager, instance, contents):
    stream, days = make_stream(), dg.StaticPartitionsDefinition(["mon"])
    materialize(writer(stream, lambda _: rows("a", 20), days), manager, partition_key="mon", instance=instance)
    tries: list[str] = []

    def fails_once(_: str) -> Any:
        tries.append("try")
        if len(tries) == 1:
            raise RuntimeError("the first try fails before any write")
        return rows("b", 20)

    asset = writer(stream, fails_once, days, dg.RetryPolicy(max_retries=1))
    resources = {"pravega": manager}
    result = dg.materialize([asset], resources=resources, partition_key="mon", instance=instance, raise_on_error=False)

    assert (len(tries), result.success) == (2, False)
    [failure] = result.get_step_failure_events()
    assert "is done already, with other rows" in str(failure.step_failure_data.error)
    assert contents(stream) == events("a", 20)


def test_a_run_that_is_executed_again_adds_nothing(make_stream, rows, manager, instance, contents, metadata_of):
    stream = make_stream()
    asset = writer(stream, lambda _: rows("a", 20))
    definitions = dg.Definitions(
        assets=[asset],
        resources={"pravega": manager},
        jobs=[dg.define_asset_job("write", [asset])],
        executor=dg.in_process_executor,
    )
    job = definitions.resolve_job_def("write")
    first = job.execute_in_process(instance=instance)

    run = instance.create_run_for_job(job, root_run_id=first.run_id, parent_run_id=first.run_id)
    again = execute_run(InMemoryJob(job), run, instance)

    assert again.success
    assert contents(stream) == events("a", 20)
    records = instance.fetch_materializations(asset.key, limit=10).records
    [second, original] = [metadata_of(record.asset_materialization) for record in records]
    assert second["pravega/cuts"] == original["pravega/cuts"]


def test_what_an_asset_has_written_is_what_the_next_one_reads(make_stream, append, rows, manager, instance):
    stream = make_stream()
    append(stream, events("earlier", 10))
    found: list[str] = []

    @dg.asset(ins={"frame": dg.AssetIn("written")})
    def downstream(frame: DataFrame) -> None:
        found.extend(row.event.decode() for row in frame.collect())

    assets = [writer(stream, lambda _: rows("a", 20)), downstream]
    resources = {"pravega": manager, "io_manager": dg.mem_io_manager}
    assert dg.materialize(assets, resources=resources, instance=instance).success

    assert sorted(found) == events("a", 20)


def test_a_partition_is_read_as_it_was_written(make_stream, rows, manager, instance):
    stream = make_stream()
    partitions = dg.StaticPartitionsDefinition(["a", "b"])
    found: list[str] = []

    @dg.asset(ins={"frame": dg.AssetIn("written", input_manager_key="pravega")}, partitions_def=partitions)
    def downstream(frame: DataFrame) -> None:
        found.extend(row.event.decode() for row in frame.collect())

    asset = writer(stream, lambda key: rows(key, 20), partitions)
    for key in ("a", "b"):
        materialize(asset, manager, partition_key=key, instance=instance)
    assets = [asset, downstream]
    resources = {"pravega": manager}
    done = dg.materialize(assets, selection=[downstream], resources=resources, partition_key="a", instance=instance)

    assert done.success
    assert sorted(found) == events("a", 20)


def test_a_new_instance_finds_the_range_of_a_partition_in_the_ledger(make_stream, append, rows, manager):
    stream = make_stream()
    partitions = dg.StaticPartitionsDefinition(["a"])
    asset = writer(stream, lambda key: rows(key, 20), partitions)
    found: list[str] = []

    @dg.asset(ins={"frame": dg.AssetIn("written", input_manager_key="pravega")}, partitions_def=partitions)
    def downstream(frame: DataFrame) -> None:
        found.extend(row.event.decode() for row in frame.collect())

    with dg.DagsterInstance.ephemeral() as forgotten:
        materialize(asset, manager, partition_key="a", instance=forgotten)
    append(stream, events("later", 10))
    with dg.DagsterInstance.ephemeral() as new:
        resources = {"pravega": manager}
        assert dg.materialize([asset, downstream], resources=resources, partition_key="a", instance=new).success

    assert sorted(found) == events("a", 20)


def test_a_write_whose_range_nobody_knows_is_not_read_by_guess(make_stream, rows, manager, instance):
    partitions = dg.StaticPartitionsDefinition(["a"])
    asset = writer(make_stream(), lambda key: rows(key, 20), partitions)

    @dg.asset(ins={"frame": dg.AssetIn("written", input_manager_key="pravega")}, partitions_def=partitions)
    def downstream(frame: DataFrame) -> None:
        raise AssertionError(f"it was read: {frame}")

    # As an account that may write, and not ask where the stream ends, leaves it.
    metadata: dict[str, Any] = {"pravega/write_id": "dagster/written/partition a", "pravega/events": 20}
    instance.report_runless_asset_event(dg.AssetMaterialization("written", partition="a", metadata=metadata))

    with pytest.raises(dg.Failure, match="its materialization are not known.* name the range in the run config"):
        dg.materialize(
            [asset, downstream],
            selection=[downstream],
            resources={"pravega": manager},
            partition_key="a",
            instance=instance,
        )
