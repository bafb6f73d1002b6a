"""Partitions of time as intervals of event times: ranges that stay, rows of one partition each, runs when complete."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import DataFrame
from tests.integration.dagster_pravega.days import DAYS, HOURS, OPTIONS, at, interval_of, key

from aiopravega import ScalingPolicy, StreamName
from aiopravega.ledger import CUT_TABLE, Interval
from dagster_pravega import (
    PravegaResource,
    PravegaSparkIOManager,
    StreamRead,
    build_complete_partitions_sensor,
    pravega_stream_spec,
)


@pytest.fixture
def day_asset(timed):
    """The stream, and an asset of its days that keeps what it has read in `found`."""
    spec = pravega_stream_spec(str(timed), options=OPTIONS)
    found: dict[str, list[int]] = {}

    @dg.asset(partitions_def=DAYS, ins={"events": dg.AssetIn(spec.key, input_manager_key="pravega_spark")})
    def day(context: dg.AssetExecutionContext, events: StreamRead) -> dg.MaterializeResult[None]:
        found[context.partition_key] = sorted(row.at for row in events.frame.collect())
        return events.done({"rows": len(found[context.partition_key])})

    return [spec, day], found


@pytest.fixture
def materialize(manager, tmp_path):
    """Materializes one partition."""
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:

        def materialize(assets, partition: str, **more) -> dg.ExecuteInProcessResult:
            return dg.materialize(
                assets,
                selection=[assets[-1].key],
                resources={"pravega_spark": manager},
                partition_key=partition,
                **({"instance": instance} | more),
            )

        yield materialize


def test_partitions_in_parallel_share_no_row_and_miss_none(day_asset, timed, client, materialize, metadata_of):
    assets, found = day_asset

    with ThreadPoolExecutor(3) as pool:
        results = dict(zip((1, 2, 3), pool.map(lambda day: materialize(assets, key(day)), (1, 2, 3)), strict=True))

    assert found == {key(day): [at(day, hour) for hour in HOURS] for day in (1, 2, 3)}
    records = client.cut_ledger(timed.scope).records("dagster/day", timed)
    assert [(record.since.day, record.is_done) for record in records] == [(1, True), (2, True), (3, True)]
    [materialization] = results[2].asset_materializations_for_node("day")
    metadata = metadata_of(materialization)
    assert metadata["pravega/cuts"] == records[1].range.to_json()
    assert metadata["pravega/events"] == metadata["rows"] == len(HOURS)
    assert metadata["pravega/bytes"] == client.distance(records[1].range.start, records[1].range.end)
    assert metadata["pravega/event_times"] == {
        "since": "2013-01-02T00:00:00+00:00",
        "until": "2013-01-03T00:00:00+00:00",
    }
    assert metadata["pravega/watermarks"] == {
        "lower": "2013-01-01T00:00:00+00:00",
        "upper": "2013-01-04T00:00:00+00:00",
    }
    assert metadata["pravega/consumer"] == "dagster/day"
    versions = {
        result.asset_materializations_for_node("day")[0].tags["dagster/data_version"] for result in results.values()
    }
    assert len(versions) == 3  # the same range, and other rows of it

    with client.writer(timed) as writer:
        writer.write(json.dumps({"at": at(2)}).encode())  # late: after the watermark
    again = materialize(assets, key(2))
    assert found[key(2)] == [at(2, hour) for hour in HOURS]
    [same] = again.asset_materializations_for_node("day")
    assert same.tags["dagster/data_version"] == materialization.tags["dagster/data_version"]


def test_a_partition_before_the_first_watermark_is_read_from_the_head(
    client, scope, day_asset, materialize, metadata_of
):
    early = StreamName(scope, "early")
    assert client.create_stream(f"{scope}/early", ScalingPolicy.fixed(2))
    written = [at(1) - hours * 3_600_000 for hours in (1, 5, 25, 30)]
    with client.writer(f"{scope}/early") as writer:
        writer.write_many([json.dumps({"at": time}).encode() for time in written], map(str, written))
    client.note_time(f"{scope}/early", "writer", at(2))
    next(iter(client.watermarks(f"{scope}/early", follow=True)))
    spec = pravega_stream_spec(str(early), options=OPTIONS)
    found: list[int] = []

    @dg.asset(partitions_def=DAYS, ins={"events": dg.AssetIn(spec.key, input_manager_key="pravega_spark")})
    def early_day(events: StreamRead) -> dg.MaterializeResult[None]:
        found.extend(sorted(row.at for row in events.frame.collect()))
        return events.done()

    result = materialize([spec, early_day], "2012-12-30")

    assert found == sorted(written[2:])
    [materialization] = result.asset_materializations_for_node("early_day")
    metadata = metadata_of(materialization)
    assert "before the first watermark" in metadata["pravega/from_head"]
    assert metadata["pravega/events"] == 2
    assets, _ = day_asset
    [materialization] = materialize(assets, key(2)).asset_materializations_for_node("day")
    assert "pravega/from_head" not in metadata_of(materialization)


def test_a_frame_that_is_written_on_is_done(timed, client, materialize):
    spec = pravega_stream_spec(str(timed))
    given = dg.AssetIn(spec.key, input_manager_key="pravega_spark", metadata={"pravega/options": OPTIONS})

    @dg.asset(
        partitions_def=DAYS,
        ins={"events": given},
        io_manager_key="pravega_spark",
        metadata={"pravega/stream": f"{timed.scope}/hours"},
    )
    def hours(events: DataFrame) -> DataFrame:
        return events.selectExpr("cast(at as string) as event")

    assert materialize([spec, hours], key(1)).success

    # Another instance has written the second day, and died before it said so: the same rows are not written again.
    ledger = client.cut_ledger(timed.scope)
    with dg.DagsterInstance.ephemeral() as other:
        assert materialize([spec, hours], key(2), instance=other).success
    second = ledger.records("dagster/hours", timed)[-1]
    ledger.reopen(Interval("dagster/hours", timed, second.interval), "its instance died")
    before = client.tail(f"{timed.scope}/hours")
    assert materialize([spec, hours], key(2)).success
    assert client.tail(f"{timed.scope}/hours") == before

    records = ledger.records("dagster/hours", timed)
    assert [(record.since.day, record.is_done) for record in records] == [(1, True), (2, True)]


def test_an_impossible_read_is_reported_and_retried_only_if_it_can_pass(timed, materialize):
    def failure_of(partition: str, **options: str) -> tuple[str, bool]:
        spec = pravega_stream_spec(str(timed), options=OPTIONS | options)

        @dg.asset(
            partitions_def=DAYS,
            ins={"events": dg.AssetIn(spec.key, input_manager_key="pravega_spark")},
            retry_policy=dg.RetryPolicy(max_retries=1),
        )
        def day(events: DataFrame) -> None:
            events.count()

        result = materialize([spec, day], partition, raise_on_error=False)
        [failure] = [event for event in result.all_events if event.is_step_failure]
        return str(failure.step_failure_data.error), any(event.is_step_up_for_retry for event in result.all_events)

    for partition, options, error, tried_again in (
        (key(4), {}, "NotYetError: the stream is not complete up to", True),
        (key(1), {"event_time": "when"}, "names column 'when'", False),
        (key(1), {"decode": "raw", "schema_text": ""}, "read raw: give option 'decode'", False),
        (key(1), {"event_time_ahead_ms": "soon"}, "must be a whole number of milliseconds", False),
    ):
        said, again = failure_of(partition, **options)
        assert error in said
        assert again is tried_again


def test_a_record_of_a_deleted_stream_or_of_another_release_is_reported(timed, day_asset, client, materialize):
    assets, _ = day_asset
    assert materialize(assets, key(1)).success
    cuts = client.cut_ledger(timed.scope).records("dagster/day", timed)[0].range
    client.cut_ledger(timed.scope).claim(Interval("dagster/day", timed, interval_of(2)), cuts)
    client.delete_stream(timed)
    client.create_stream(timed, ScalingPolicy.fixed(2))

    def failure() -> str:
        result = materialize(assets, key(2), raise_on_error=False)
        [failure] = [event for event in result.all_events if event.is_step_failure]
        return str(failure.step_failure_data.error)

    text = failure()
    assert f"stream {timed} was deleted and made again on" in text
    assert f"; the range of interval '{interval_of(2)}' of 'dagster/day'" in text
    client.table(timed.scope, CUT_TABLE).put(Interval("dagster/day", timed, interval_of(2)).key, b'{"version": 6}')
    assert "LedgerError: a record of version 6 of a cut ledger" in failure()


def test_a_sensor_runs_partitions_when_they_are_complete(day_asset, timed, client, scope, pravega_config):
    (spec, day), _ = day_asset
    pravega = PravegaResource(controller_uri=pravega_config.controller_uri)
    sensor = build_complete_partitions_sensor("complete", stream=str(timed), partitions_def=DAYS, target=[day])
    definitions = dg.Definitions(
        assets=[spec, day],
        sensors=[sensor],
        resources={"pravega": pravega, "pravega_spark": PravegaSparkIOManager(pravega=pravega)},
    )

    def check(cursor: str | None) -> Any:
        with dg.build_sensor_context(cursor=cursor, resources={"pravega": pravega}, definitions=definitions) as context:
            return sensor.evaluate_tick(context)

    first = check(None)
    # The first mark declares the last day of 2012 complete, but not the day before.
    assert [request.partition_key for request in first.run_requests] == ["2012-12-31", key(1), key(2), key(3)]
    nothing = check(first.cursor)
    assert "not complete up to the end of the next partition" in str(nothing.skip_message)
    client.note_time(timed, "writer", at(5))
    next(mark for mark in client.watermarks(timed, follow=True) if mark.lower == at(5))
    assert [request.partition_key for request in check(first.cursor).run_requests] == [key(4)]

    hours = dg.HourlyPartitionsDefinition(start_date="2000-01-01-00:00")

    @dg.asset(partitions_def=hours)
    def hour() -> None: ...

    hourly = build_complete_partitions_sensor("hourly", stream=str(timed), partitions_def=hours, target=[hour])
    of_hours = dg.Definitions([hour], sensors=[hourly])
    with dg.build_sensor_context(resources={"pravega": pravega}, definitions=of_hours) as context:
        found = hourly.evaluate_tick(context)
    hourly_keys = [request.partition_key for request in found.run_requests or ()]
    assert (hourly_keys[:2], len(hourly_keys)) == (["2012-12-31-23:00", "2013-01-01-00:00"], 50)

    def tick_of(regions: dg.PartitionsDefinition) -> Any:
        by_region = dg.MultiPartitionsDefinition({"day": DAYS, "region": regions})

        @dg.asset(partitions_def=by_region)
        def day_of_region() -> None: ...

        regional = build_complete_partitions_sensor(
            "regional", stream=str(timed), partitions_def=by_region, target=[day_of_region]
        )
        given: dict[str, Any] = {"definitions": dg.Definitions([day_of_region], sensors=[regional]), "cursor": key(2)}
        with (
            dg.DagsterInstance.ephemeral() as instance,
            dg.build_sensor_context(instance=instance, resources={"pravega": pravega}, **given) as context,
        ):
            return regional.evaluate_tick(context)

    found = tick_of(dg.StaticPartitionsDefinition(["north", "south"]))
    days_of_regions = [f"{key(number)}|{region}" for number in (3, 4) for region in ("north", "south")]
    assert [request.partition_key for request in found.run_requests] == days_of_regions
    assert found.cursor == key(4)
    nobody = tick_of(dg.DynamicPartitionsDefinition(name="regions"))
    assert "has no partitions yet" in str(nobody.skip_message)
    assert nobody.cursor in (None, key(2))  # nothing is ignored

    past = dg.DailyPartitionsDefinition(start_date="2010-01-01", end_date="2010-02-01")

    @dg.asset(partitions_def=past)
    def past_day() -> None: ...

    ended = build_complete_partitions_sensor("ended", stream=str(timed), partitions_def=past, target=[past_day])
    of_past = dg.Definitions([past_day], sensors=[ended])
    with dg.build_sensor_context(resources={"pravega": pravega}, definitions=of_past) as context:
        skipped = ended.evaluate_tick(context)
    assert not skipped.run_requests
    assert "all partitions end before its first watermark, at 2013-01-01" in str(skipped.skip_message)

    assert client.create_stream(f"{scope}/silent", ScalingPolicy.fixed(1))
    silent = build_complete_partitions_sensor("silent", stream=f"{scope}/silent", partitions_def=DAYS, target=[day])
    with dg.build_sensor_context(resources={"pravega": pravega}) as context:
        assert "no watermarks" in str(silent.evaluate_tick(context).skip_message)
