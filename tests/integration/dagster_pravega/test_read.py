"""Inputs that are ranges of a stream: exactly the events between two cuts, and numbers about them."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import DataFrame

from aiopravega import StreamName
from aiopravega.errors import SplitProofError
from dagster_pravega import PravegaResource, PravegaSparkIOManager, StreamRead, pravega_stream_spec
from dagster_pravega.partitions.input_range import InputPiece, InputRange
from pravega_jobs.spark.frames import load_counted

READ = "flights"


@pytest.fixture
def three_days(make_stream, append, client):
    """A stream of 300 events, and the cuts around the second hundred."""
    stream = make_stream()
    append(stream, (f"1-{number}" for number in range(100)))
    start = client.tail(stream)
    append(stream, (f"2-{number}" for number in range(100)))
    end = client.tail(stream)
    append(stream, (f"3-{number}" for number in range(100)))
    return stream, {"start": start.to_text(), "end": end.to_text()}


@pytest.fixture
def read(instance, manager) -> Callable[..., list[str]]:
    """Materializes an asset that reads a stream; returns the events it got."""

    def read(stream: StreamName, cuts: dict[str, str] | None = None, **metadata: Any) -> list[str]:
        spec = pravega_stream_spec(str(stream))
        found: list[str] = []

        @dg.asset(ins={READ: dg.AssetIn(spec.key, input_manager_key="pravega", metadata=metadata)})
        def copy(flights: DataFrame) -> None:
            found.extend(row.event.decode() for row in flights.collect())

        config = {"ops": {"copy": {"inputs": {READ: cuts}}}} if cuts else {}
        done = dg.materialize([spec, copy], resources={"pravega": manager}, run_config=config, instance=instance)
        assert done.success
        return sorted(found)

    return read


@pytest.fixture
def read_of(spark, pravega_config) -> Callable[[StreamName], StreamRead]:
    """What an input of all of a stream gets."""

    def read_of(stream: StreamName) -> StreamRead:
        pravega = PravegaResource(controller_uri=pravega_config.controller_uri)
        whole = pravega.fix_range(str(stream))
        pravega.close()
        frame, count = load_counted(spark, pravega_config, stream, whole.cuts, {}, whole.size)
        return StreamRead(InputRange(stream, (InputPiece(whole.cuts, whole.parts),)), count, frame)

    return read_of


def test_the_run_config_of_an_input_says_the_range(read, three_days):
    stream, cuts = three_days
    assert read(stream, cuts) == sorted(f"2-{number}" for number in range(100))


def test_a_range_with_one_end_goes_to_the_head_or_the_tail(read, three_days):
    stream, cuts = three_days
    assert len(read(stream, {"start": cuts["start"]})) == 200
    assert len(read(stream, {"end": cuts["start"]})) == 100
    assert read(stream, {"start": "latest"}) == []


def test_the_metadata_of_an_input_says_the_range(read, three_days):
    stream, cuts = three_days
    assert read(stream, **{"pravega/cuts": cuts}) == sorted(f"2-{number}" for number in range(100))


def test_the_run_config_wins_over_metadata(read, three_days):
    stream, cuts = three_days
    assert len(read(stream, {"start": "earliest", "end": "latest"}, **{"pravega/cuts": cuts})) == 300


def test_without_a_range_the_whole_stream_is_read(read, three_days):
    stream, _ = three_days
    assert len(read(stream)) == 300


def test_the_range_of_a_reported_materialization_is_read(read, three_days, instance):
    stream, cuts = three_days
    key = dg.AssetKey([stream.scope, stream.stream])
    instance.report_runless_asset_event(dg.AssetMaterialization(key, metadata={"pravega/cuts": cuts}))

    assert read(stream) == sorted(f"2-{number}" for number in range(100))


def test_an_empty_range_has_no_rows(read, make_stream):
    assert read(make_stream()) == []


def test_an_input_that_knows_its_range_gives_metadata_and_a_data_version(three_days, instance, manager, metadata_of):
    stream, cuts = three_days
    spec = pravega_stream_spec(str(stream))

    @dg.asset(ins={READ: dg.AssetIn(spec.key, input_manager_key="pravega")})
    def counted(flights: StreamRead) -> dg.MaterializeResult[None]:
        flights.frame.write.format("noop").mode("overwrite").save()
        return dg.MaterializeResult(metadata=flights.metadata(), data_version=flights.data_version)

    config = {"ops": {"counted": {"inputs": {READ: cuts}}}}
    result = dg.materialize([spec, counted], resources={"pravega": manager}, run_config=config, instance=instance)

    [materialization] = result.asset_materializations_for_node("counted")
    metadata = metadata_of(materialization)
    assert metadata.pop("pravega/events_per_second") > 0
    assert "| segment | from offset | to offset | bytes |" in metadata.pop("pravega/segment_ranges")
    assert {end: metadata.pop(f"pravega/{end}") for end in ("start", "end")} == cuts
    assert metadata == {
        "pravega/stream": str(stream),
        "pravega/cuts": cuts,
        "pravega/events": 100,
        "pravega/bytes": sum(8 + len(f"2-{number}") for number in range(100)),
    }
    assert materialization.tags is not None
    assert materialization.tags["dagster/data_version"] == f"{cuts['start']}..{cuts['end']}"


@pytest.mark.parametrize(
    ("use", "events"),
    [
        (lambda _: None, "not known"),
        (lambda frame: frame.limit(5).collect(), "not known"),
        (lambda frame: (frame.limit(5).collect(), frame.count()), "not known"),
        (lambda frame: list(islice(frame.toLocalIterator(), 5)), "not known"),
        (lambda frame: frame.rdd.count(), "not known"),
        (lambda frame: frame.unionAll(frame).count(), 300),
        (lambda frame: frame.filter("length(event) < 4").count(), 300),
        (lambda frame: list(frame.toLocalIterator()), "not known"),
        (lambda frame: frame.count(), 300),
    ],
    ids=["nothing", "limit", "limit and count", "iterator", "rdd", "twice", "filter", "whole iterator", "count"],
)
def test_the_number_of_events_is_that_of_the_whole_range_or_not_known(three_days, read_of, use, events):
    stream, _ = three_days
    read = read_of(stream)

    use(read.frame)

    metadata = read.metadata()
    assert metadata["pravega/events"] == events
    assert ("pravega/events_per_second" in metadata) is (events != "not known")


def test_a_try_after_a_wrong_split_reads_unsplit(make_stream, append, pravega_config, instance):
    stream = make_stream()
    append(stream, (f"event-{number}" for number in range(3000)))
    spec = pravega_stream_spec(str(stream))
    splitting = PravegaSparkIOManager(
        pravega=PravegaResource(controller_uri=pravega_config.controller_uri), options={"split_bytes": "5000"}
    )
    tries: list[int] = []

    @dg.asset(ins={READ: dg.AssetIn(spec.key, input_manager_key="pravega")}, retry_policy=dg.RetryPolicy(max_retries=1))
    def copy(flights: DataFrame) -> None:
        tries.append(flights.rdd.getNumPartitions())
        if len(tries) == 1:
            raise SplitProofError("the stream's segment was split at 7")
        assert flights.count() == 3000

    assert dg.materialize([spec, copy], resources={"pravega": splitting}, instance=instance).success
    assert tries[0] > tries[1]
