"""A backfill of several partitions as one run: ranges that touch are read as one, others one after the other."""

import dagster as dg
import pytest
from tests.integration.dagster_pravega.days import DAYS, HOURS, OPTIONS, at, key

from aiopravega import StreamCutRange
from aiopravega.ledger import Interval
from dagster_pravega import StreamCutPartitions, StreamRead, pravega_stream_spec
from dagster_pravega.partitions.input_range import InputPiece

SINGLE_RUN = dg.BackfillPolicy.single_run()


def tags(first: str, last: str) -> dict[str, str]:
    """What Dagster gives the run of a backfill."""
    return {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}


@pytest.fixture
def run(manager, instance, metadata_of):
    """Materializes several partitions of an asset in one run; the metadata of each."""

    def run(spec, asset, first: str, last: str, **settings):
        result = dg.materialize(
            [spec, asset],
            selection=[asset],
            resources={"pravega_spark": manager},
            tags=tags(first, last),
            instance=instance,
            raise_on_error=False,
            **settings,
        )
        if not result.success:
            [failure] = result.get_step_failure_events()
            return str(failure.step_failure_data.user_failure_data or failure.step_failure_data.error)
        materializations = [event.materialization for event in result.get_asset_materialization_events()]
        return {each.partition: metadata_of(each) for each in materializations}

    return run


def test_days_that_follow_each_other_are_one_range(timed, client, run):
    spec = pravega_stream_spec(str(timed), options=OPTIONS)
    found: list[int] = []
    pieces: list[InputPiece] = []

    @dg.asset(
        partitions_def=DAYS,
        backfill_policy=SINGLE_RUN,
        ins={"events": dg.AssetIn(spec.key, input_manager_key="pravega_spark")},
    )
    def day(events: StreamRead) -> dg.MaterializeResult[None]:
        found.extend(row.at for row in events.frame.collect())
        pieces.extend(events.ranges.pieces)
        return events.done()

    metadata = run(spec, day, key(1), key(2))

    assert sorted(found) == [at(number, hour) for number in (1, 2) for hour in HOURS]
    assert len(pieces) == 1
    records = client.cut_ledger(timed.scope).records("dagster/day", timed)
    assert [(record.since.day, record.is_done) for record in records] == [(1, True), (2, True)]
    for number, record in enumerate(records, 1):
        mine = metadata[key(number)]
        assert mine["pravega/cuts"] == record.range.to_json()
        assert mine["pravega/interval"] == record.interval
        assert mine["pravega/bytes"] == client.distance(record.range.start, record.range.end)
        assert mine["pravega/events_of_run"] == 2 * len(HOURS)
        assert "pravega/events" not in mine
        assert len(mine["pravega/ranges"]) == 1


def test_ranges_of_the_ledger_are_joined_where_they_touch(client, make_stream, append, run, instance):
    stream = make_stream()
    spec = pravega_stream_spec(str(stream))
    ranges = StreamCutPartitions(str(stream), consumer="copies")
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    cuts = [client.tail(stream)]
    for number in range(4):
        append(stream, [f"{number}-{each}" for each in range(5)])
        cuts.append(client.tail(stream))
    for name, (first, last) in {"a": (0, 1), "b": (1, 2), "d": (3, 4)}.items():
        ledger.claim(ranges.interval(name), StreamCutRange(cuts[first], cuts[last]))
    instance.add_dynamic_partitions(ranges.name, ["a", "b", "d"])
    found: list[str] = []
    pieces: list[StreamCutRange] = []

    @dg.asset(
        partitions_def=ranges,
        backfill_policy=SINGLE_RUN,
        ins={"events": dg.AssetIn(spec.key, input_manager_key="pravega_spark")},
    )
    def copies(events: StreamRead) -> dg.MaterializeResult[None]:
        found.extend(bytes(row.event).decode() for row in events.frame.collect())
        pieces.extend(piece.cuts for piece in events.ranges.pieces)
        return events.done()

    metadata = run(spec, copies, "a", "d")

    assert sorted(found) == [f"{number}-{each}" for number in (0, 1, 3) for each in range(5)]
    assert pieces == [StreamCutRange(cuts[0], cuts[2]), StreamCutRange(cuts[3], cuts[4])]
    assert {name: each["pravega/events_of_run"] for name, each in metadata.items()} == dict.fromkeys("abd", 15)
    assert all(record.is_done for record in ledger.records("copies", stream))

    one_range = StreamCutRange(cuts[0], cuts[4]).to_json()
    said = run(spec, copies, "a", "b", run_config={"ops": {"copies": {"inputs": {"events": one_range}}}})
    assert "names one range for 2 partitions" in said
    ledger.forget("copies", stream, "b")
    assert f"the cut ledger has no {Interval('copies', stream, 'b')}" in run(spec, copies, "a", "d")


def test_a_stream_that_several_partitions_are_written_to_is_refused(spark, make_stream, run):
    stream = make_stream()

    @dg.asset(
        key=[stream.scope, stream.stream],
        partitions_def=dg.StaticPartitionsDefinition(["a", "b"]),
        backfill_policy=SINGLE_RUN,
        io_manager_key="pravega_spark",
    )
    def written():
        return spark.range(3).selectExpr("cast(id as string) as event")

    said = run(pravega_stream_spec(f"{stream.scope}/other"), written, "a", "b")

    assert "2 partitions in one run cannot be separated in a stream" in said
    assert "BackfillPolicy.multi_run(1)" in said
