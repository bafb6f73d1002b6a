"""Ranges become partitions whose keys have their event times, once the watermarks show them."""

from datetime import UTC, datetime, timedelta

import dagster as dg
import pyarrow as pa
import pytest
from dagster._core.execution.build_resources import wrap_resources_for_execution
from tests.integration.dagster_pravega.days import at

from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaResource,
    StreamCutPartitions,
    build_cut_backfill,
    build_stream_cut_sensor,
    pravega_stream_spec,
)
from dagster_pravega.partitions import range_keys


@pytest.fixture(autouse=True)
def running_spark():
    """These tests need no Spark."""


@pytest.fixture
def note(client):
    """Notes a time of the stream's only writer at its tail, and waits for the watermark."""

    def note(stream, day):
        client.note_time(stream, "writer", at(day))
        next(mark for mark in client.watermarks(stream, follow=True) if mark.lower == at(day))

    return note


@pytest.fixture
def ranges(make_stream):
    return StreamCutPartitions(str(make_stream()), consumer="billing", ahead=timedelta())


@pytest.fixture
def instance(tmp_path):
    """An instance with files: the partitions that a tick adds count only there."""
    with dg.DagsterInstance.local_temp(str(tmp_path)) as made:
        yield made


@pytest.fixture
def definitions(ranges, pravega_config):
    """An asset that reads ranges without Spark, and the sensor that claims them."""
    pravega = PravegaResource(controller_uri=pravega_config.controller_uri)
    spec = pravega_stream_spec(str(ranges.stream), key="events")

    @dg.asset(partitions_def=ranges, ins={"events": dg.AssetIn("events", input_manager_key="arrow")})
    def bills(events: pa.Table) -> dg.MaterializeResult[None]:
        return dg.MaterializeResult(metadata={"rows": events.num_rows})

    sensor = build_stream_cut_sensor("cuts", partitions_def=ranges, target=[bills], on_open="skip")
    resources = {"pravega": pravega, "arrow": PravegaArrowIOManager(pravega=pravega)}
    return dg.Definitions([spec, bills], sensors=[sensor], resources=resources)


@pytest.fixture
def tick(definitions, instance):
    """One tick of the sensor, without a cursor as after a tick that was killed; its partitions are added."""

    def tick(cursor=None):
        with dg.SensorEvaluationContext(
            instance_ref=instance.get_ref(),  # as in a daemon: Dagster looks there for the partitions
            last_tick_completion_time=None,
            last_run_key=None,
            cursor=cursor,
            repository_name=None,
            repository_def=definitions.get_repository_def(),
            resources=wrap_resources_for_execution(definitions.resources),
        ) as context:
            found = definitions.resolve_sensor_def("cuts").evaluate_tick(context)
        for request in found.dynamic_partitions_requests or ():
            instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
        return found

    return tick


def test_a_range_is_a_partition_when_its_last_time_is_known(tick, ranges, append, note, instance, definitions, client):
    stream = ranges.stream
    note(stream, 1)
    append(stream, ["one", "two"])
    note(stream, 2)
    waiting = tick()
    assert "becomes a partition when the watermarks of its stream have passed it" in waiting.skip_message
    assert waiting.run_requests == []
    note(stream, 3)
    found = tick(waiting.cursor)
    [request] = found.run_requests
    name, _, times = request.partition_key.partition(" @ ")
    assert times == "2013-01-01T00:00:00+00:00/2013-01-03T00:00:00.001000+00:00"
    assert request.tags["pravega/interval"] == name
    assert instance.get_dynamic_partitions(ranges.name) == [request.partition_key]
    note(stream, 4)
    [again] = tick(waiting.cursor).run_requests
    assert (again.run_key, again.partition_key) == (request.run_key, request.partition_key)

    done = definitions.resolve_implicit_global_asset_job_def().execute_in_process(
        partition_key=request.partition_key, instance=instance
    )
    [made] = done.asset_materializations_for_node("bills")
    assert made.metadata["rows"].value == 2
    record = client.cut_ledger(stream.scope).find(ranges.interval(request.partition_key))
    assert (record.interval, record.is_done) == (name, True)


def test_a_range_without_later_watermarks_becomes_a_partition_at_last(tick, ranges, append, monkeypatch):
    append(ranges.stream, ["one"])
    assert tick().run_requests == []
    monkeypatch.setattr(range_keys, "_WAIT", timedelta())
    [request] = tick().run_requests
    assert request.partition_key.endswith(" @ ../..")
    monkeypatch.undo()
    [again] = tick().run_requests
    assert again.partition_key == request.partition_key, "a partition gets no second key"


def test_the_parts_of_a_backfill_have_their_times(ranges, append, note, instance, pravega_config):
    note(ranges.stream, 1)
    append(ranges.stream, [f"event {number}" for number in range(20)])
    for day in (2, 3):
        note(ranges.stream, day)
    resources = {"pravega": PravegaResource(controller_uri=pravega_config.controller_uri)}
    plan = build_cut_backfill("plan", partitions_def=ranges)
    config = {"ops": {"plan": {"config": {"start": "earliest", "end": "latest", "parts": 2}}}}
    definitions = dg.Definitions(jobs=[plan], resources=resources)
    for _ in range(2):
        assert definitions.resolve_job_def("plan").execute_in_process(instance=instance, run_config=config).success
    keys = instance.get_dynamic_partitions(ranges.name)
    assert [key.partition(" @ ")[0] for key in keys] == ["1 of 2", "2 of 2"]
    assert all(key.endswith("/2013-01-03T00:00:00.001000+00:00") for key in keys)
    assert {ranges.interval(key).name for key in keys} == {"1 of 2", "2 of 2"}
    assert datetime(2013, 1, 1, tzinfo=UTC).isoformat() in keys[0]
