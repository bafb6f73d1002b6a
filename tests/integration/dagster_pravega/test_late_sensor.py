"""The sensor of late events: exactly the partitions that have some are requested again, and read them."""

import json
from datetime import timedelta

import dagster as dg
import pyarrow as pa
import pytest
from tests.integration.dagster_pravega.days import DAYS, HOURS, at, key
from tests.pages.blocks import block_with

from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaResource,
    StreamBatches,
    build_late_events_sensor,
    pravega_output,
    pravega_stream_spec,
)

OPTIONS = {"decode": "json", "columns": "at long", "event_time": "at"}


@pytest.fixture
def tick(timed, client, pravega_config, instance):
    """Functions for ticks of a sensor, and for runs of its asset, which is written to another stream."""
    pravega = PravegaResource(controller_uri=pravega_config.controller_uri)
    spec = pravega_stream_spec(str(timed), options=OPTIONS)
    copies = f"{timed.scope}/copies"
    assert client.create_stream(copies)
    found: dict[str, list[int]] = {}

    @dg.asset(
        partitions_def=DAYS,
        ins={"events": dg.AssetIn(spec.key, input_manager_key="arrow")},
        **pravega_output(copies, io_manager_key="arrow"),
    )
    def day(context: dg.AssetExecutionContext, events: pa.Table) -> pa.Table:
        found[context.partition_key] = sorted(events.column("at").to_pylist())
        return events

    resources = {"pravega": pravega, "arrow": PravegaArrowIOManager(pravega=pravega)}

    def run(partition: str, tags: dict[str, str] | None = None) -> list[int]:
        dg.materialize(
            [spec, day], selection=[day], resources=resources, partition_key=partition, tags=tags, instance=instance
        )
        return found[partition]

    def tick(**policy):
        sensor = build_late_events_sensor("late", stream=str(timed), asset=day, options=OPTIONS, **policy)
        whole = dg.Definitions([spec, day], sensors=[sensor], resources=resources)
        given = {"definitions": whole, "instance": instance}
        with dg.build_sensor_context(resources={"pravega": pravega}, **given) as context:
            return sensor.evaluate_tick(context)

    return tick, run


def test_only_partitions_with_late_events_run_again_and_read_them(tick, timed, client):
    tick, run = tick
    assert "has no interval of event times yet" in str(tick(late="rerun").skip_message)
    on_time = {number: run(key(number)) for number in (1, 2, 3)}
    assert "0 late events in 0 of 3 intervals" in str(tick(late="rerun").skip_message)
    with client.writer(timed) as writer:
        writer.write_many([json.dumps({"at": at(2, hour)}).encode() for hour in (7, 8)])

    reported = tick(late="report")
    assert not reported.run_requests
    [observation] = reported.asset_events
    assert (observation.partition, observation.metadata["pravega/late_events"].value) == (key(2), 2)
    assert not tick(late="collect", late_after_events=3).run_requests
    assert not tick(late="collect", late_after=timedelta(days=1)).asset_events

    [request] = tick(late="rerun").run_requests
    assert (request.partition_key, request.tags["pravega/claim"], request.tags["pravega/rebuild"]) == (key(2), "2", "2")
    assert tick(late="rerun").run_requests[0].run_key == request.run_key
    assert run(key(2), request.tags) == sorted([*on_time[2], at(2, 7), at(2, 8)])
    assert not tick(late="rerun").run_requests

    with client.writer(timed) as writer:
        writer.write(json.dumps({"at": at(2, 9)}).encode())
    [request] = tick(late="collect", late_after_events=1).run_requests
    assert (request.tags["pravega/claim"], request.tags["pravega/rebuild"]) == ("3", "3")
    assert len(run(key(2), request.tags)) == len(HOURS) + 3
    records = client.written(f"{timed.scope}/copies", "dagster/day/partition 2013-01-02")
    assert [record.total_events for record in records] == [len(HOURS), len(HOURS) + 2, len(HOURS) + 3]


def test_neighbours_are_requested_once_in_one_run_that_reads_both(timed, client, pravega_config, instance):
    pravega = PravegaResource(controller_uri=pravega_config.controller_uri)
    spec = pravega_stream_spec(str(timed), options=OPTIONS)
    found: list[int] = []

    @dg.asset(
        partitions_def=DAYS,
        backfill_policy=dg.BackfillPolicy.single_run(),
        ins={"events": dg.AssetIn(spec.key, input_manager_key="arrow")},
    )
    def day(events: StreamBatches) -> dg.MaterializeResult[None]:
        found[:] = sorted(events.reader.read_all().column("at").to_pylist())
        return events.done()

    resources = {"pravega": pravega, "arrow": PravegaArrowIOManager(pravega=pravega)}
    sensor = build_late_events_sensor("late", stream=str(timed), asset=day, options=OPTIONS, late="rerun")
    definitions = dg.Definitions([spec, day], sensors=[sensor], resources=resources)

    def run(tags: dict[str, str]) -> list[int]:
        dg.materialize([spec, day], selection=[day], resources=resources, tags=tags, instance=instance)
        return list(found)

    def tick(cursor: str | None) -> tuple[list[dg.RunRequest], dict[str, int]]:
        given = {"definitions": definitions, "instance": instance, "cursor": cursor}
        with dg.build_sensor_context(resources={"pravega": pravega}, **given) as context:
            result = sensor.evaluate_tick(context)
        return list(result.run_requests or ()), json.loads(result.cursor or "")

    whole = {f"dagster/asset_partition_range_{end}": key(number) for end, number in (("start", 1), ("end", 3))}
    on_time = run(whole)
    with client.writer(timed) as writer:
        writer.write_many([json.dumps({"at": at(number, 7)}).encode() for number in (1, 2)])
    [request], asked = tick(None)
    assert request.partition_key is None
    with client.writer(timed) as writer:
        writer.write(json.dumps({"at": at(3, 7)}).encode())
    [other], all_asked = tick(json.dumps(asked))
    assert (other.partition_key, len(asked), len(all_asked)) == (key(3), 2, 3)

    late = [at(number, 7) for number in (1, 2)]
    two_days = [at(number, hour) for number in (1, 2) for hour in HOURS]
    assert run(dict(request.tags)) == sorted([*two_days, *late])
    assert len(on_time) == 3 * len(HOURS)
    requests, left = tick(json.dumps(all_asked))
    assert (requests, list(left)) == ([], [each for each in all_asked if each not in asked])


def test_the_sensor_of_the_page_can_be_defined():
    namespace: dict[str, object] = {}
    block = block_with("late-events", "build_late_events_sensor(")
    exec(compile(block.code, block.name, "exec"), namespace)
    assert isinstance(namespace["late_orders"], dg.SensorDefinition)
