"""A partition that is written again: the run names the generation, and the ledger has the cuts of each."""

from typing import Any

import dagster as dg
import pytest
from pyspark.sql import DataFrame, SparkSession

from aiopravega import StreamName

KEY = "monday"


def writer(spark: SparkSession, stream: StreamName, events: range) -> dg.AssetsDefinition:
    """An asset with a partition, which writes these numbers to a stream."""

    @dg.asset(
        io_manager_key="pravega",
        metadata={"pravega/stream": str(stream)},
        partitions_def=dg.StaticPartitionsDefinition([KEY]),
    )
    def totals() -> DataFrame:
        return spark.range(events.start, events.stop).selectExpr("cast(id as string) as event")

    return totals


def rebuild(generation: int) -> dict[str, Any]:
    """The run config that names a generation."""
    return {"ops": {"totals": {"outputs": {"result": {"rebuild": generation}}}}}


@pytest.fixture
def materialize(manager, instance, metadata_of):
    """Materializes the partition; returns the metadata of it."""

    def materialize(asset: dg.AssetsDefinition, **settings: Any) -> dict[str, Any]:
        result = dg.materialize(
            [asset], resources={"pravega": manager}, partition_key=KEY, instance=instance, **settings
        )
        [materialization] = result.asset_materializations_for_node("totals")
        metadata: dict[str, Any] = metadata_of(materialization)
        return metadata

    return materialize


def test_a_run_that_names_the_next_generation_rewrites_a_partition(
    spark, make_stream, materialize, manager, contents, client
):
    stream = make_stream()
    first = materialize(writer(spark, stream, range(3)))
    mended = writer(spark, stream, range(3, 7))

    second, again = materialize(mended, run_config=rebuild(2)), materialize(mended, tags={"pravega/rebuild": "2"})

    assert [found["pravega/generation"] for found in (first, second, again)] == [1, 2, 2]
    assert first["pravega/cuts"] != second["pravega/cuts"] == again["pravega/cuts"]
    assert contents(stream) == list("0123456")
    generations = manager.pravega.written(str(stream), second["pravega/write_id"])
    found = [sorted(event.data.decode() for event in client.read(record.cuts)) for record in generations]
    assert found == [list("012"), list("3456")]
    assert [record.cuts.to_json() for record in generations] == [first["pravega/cuts"], second["pravega/cuts"]]


def test_what_is_downstream_reads_the_newest_generation(spark, make_stream, materialize, manager, instance):
    stream = make_stream()
    materialize(writer(spark, stream, range(3)))
    mended = writer(spark, stream, range(3, 7))
    materialize(mended, run_config=rebuild(2))
    found: list[str] = []

    @dg.asset(
        ins={"frame": dg.AssetIn("totals", input_manager_key="pravega")},
        partitions_def=dg.StaticPartitionsDefinition([KEY]),
    )
    def downstream(frame: DataFrame) -> None:
        found.extend(row.event.decode() for row in frame.collect())

    assets = [mended, downstream]
    resources = {"pravega": manager}
    assert dg.materialize(
        assets, selection=[downstream], resources=resources, partition_key=KEY, instance=instance
    ).success

    assert sorted(found) == list("3456")


@pytest.mark.parametrize(
    ("generation", "complaint"), [(2, "GenerationError.*knows no generation"), (0, "rebuild is 0, but must be")]
)
def test_a_generation_that_cannot_follow_fails_the_step(spark, make_stream, materialize, generation, complaint):
    asset = writer(spark, make_stream(), range(3))

    with pytest.raises(dg.Failure, match=complaint):
        materialize(asset, run_config=rebuild(generation))
