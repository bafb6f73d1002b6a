"""What deferred sensors wait for, in one run on real processes: events, a cut, a watermark, any of two, and no more."""

from datetime import timedelta

import pytest

from aiopravega import ScalingPolicy, StreamCut, StreamCutRange

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

DAG_ID, SCOPE = "conditions", "system-conditions"
AT_THIRD = ("events", "reach", "any")
STATES = {"proceed": "success", "skip": "skipped", "fail": "failed"}


def test_each_condition_wakes_its_deferred_sensor(airflow, client):
    api = airflow.api

    def write(stream, *events):
        with client.writer(f"{SCOPE}/{stream}") as writer:
            writer.write_many(events)

    def events_of(task_id):
        range_ = StreamCutRange.from_json(api.result(DAG_ID, run, task_id))
        return [event.data for event in client.read(range_)]

    client.create_scope(SCOPE)
    for stream in ("rides", "timed", "rest"):
        patience = timedelta(minutes=5)
        client.create_stream(f"{SCOPE}/{stream}", ScalingPolicy.fixed(1), timestamp_aggregation_timeout=patience)
    head = client.head(f"{SCOPE}/rides")
    write("rest", b"left")
    write("timed", b"early")
    client.note_time(f"{SCOPE}/timed", "writer", 1_000)
    next(iter(client.watermarks(f"{SCOPE}/timed", follow=True)))  # a stream without any is refused
    after_two = {segment: offset + 2 * len(b"\0\0\0\0\0\0\0\0one") for segment, offset in head.positions.items()}
    ahead = StreamCut(head.stream, {segment: offset + 1 for segment, offset in after_two.items()})

    api.unpause(DAG_ID)
    run = api.trigger(DAG_ID, conf={"reach": ahead.to_text()})
    for task_id in ("bounded", "watermark", *AT_THIRD):
        api.wait_for_task(DAG_ID, run, task_id, "deferred")

    write("rides", b"one", b"two")
    api.wait_for_task(DAG_ID, run, "bounded", "success")
    assert [api.task(DAG_ID, run, task_id)["state"] for task_id in AT_THIRD] == ["deferred"] * 3
    write("rides", b"six")
    for task_id in AT_THIRD:
        api.wait_for_task(DAG_ID, run, task_id, "success")
        assert events_of(task_id) == [b"one", b"two", b"six"]
    assert events_of("bounded") == [b"one", b"two"]

    assert api.task(DAG_ID, run, "watermark")["state"] == "deferred"
    client.note_time(f"{SCOPE}/timed", "writer", 2_000)
    api.wait_for_task(DAG_ID, run, "watermark", "success")
    assert events_of("watermark") == [b"early"]

    api.wait_for_run(DAG_ID, run, "failed")
    assert {task_id: api.task(DAG_ID, run, task_id)["state"] for task_id in STATES} == STATES
    assert events_of("proceed") == [b"left"]
    for task_id in ("skip", "fail"):
        assert "was given up after 0:00:30" in api.log(DAG_ID, run, task_id)
