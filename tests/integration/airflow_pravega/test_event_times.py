"""Event time in real DAG runs: the sensor waits for watermarks, reads keep the events of an interval and finish it."""

import json
import re
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.timetables.interval import CronDataIntervalTimetable

from aiopravega import ScalingPolicy, StreamCutRange, StreamName
from aiopravega.intervals import interval_name
from aiopravega.ledger import CUT_TABLE, Interval
from airflow_pravega.operators.backfill import PravegaBackfillPlanOperator
from airflow_pravega.operators.spark import PravegaSparkReadOperator
from airflow_pravega.operators.stream import PravegaCreateStreamOperator
from airflow_pravega.polling import shared_client
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor

pytestmark = pytest.mark.usefixtures("spark")
SOON = 0.1
SCHEMA = {"type": "object", "properties": {"at": {"type": "integer"}}}
OPTIONS = {"decode": "json", "schema_text": json.dumps(SCHEMA), "event_time": "at"}


def day(number: int) -> datetime:
    return datetime(2013, 1, number, tzinfo=UTC)


def millis(number: int, hour: int = 0) -> int:
    return int((day(number) + timedelta(hours=hour)).timestamp() * 1000)


@pytest.fixture
def timed(client, scope):
    """A stream with a mark of January 1, into which `write` writes four events a day, in no order."""
    assert client.create_stream(
        f"{scope}/timed", ScalingPolicy.fixed(2), timestamp_aggregation_timeout=timedelta(minutes=5)
    )
    client.note_time(f"{scope}/timed", "writer", day(1))
    next(iter(client.watermarks(f"{scope}/timed", follow=True)))
    return StreamName(scope, "timed")


@pytest.fixture
def write(client, timed):
    def write(*days: int) -> None:
        times = sorted((millis(number, hour) for hour in (0, 6, 12, 23) for number in days), key=lambda at: at % 7)
        with client.writer(timed) as writer:
            writer.write_many([json.dumps({"at": time}).encode() for time in times], map(str, times))

    return write


def wait_and_read(dag_id: str, stream: StreamName, folder, **sensor) -> DAG:
    every_day = CronDataIntervalTimetable("@daily", timezone="UTC")
    with DAG(dag_id, schedule=every_day, start_date=day(1), catchup=False) as dag:
        wait = PravegaEventTimeSensor(
            task_id="wait", stream=str(stream), poll_interval=SOON, poke_interval=SOON, timeout=600, **sensor
        )
        PravegaSparkReadOperator(
            task_id="read",
            stream=str(stream),
            stream_cuts=wait.output,
            options=OPTIONS,
            output_path=f"{folder}/{{{{ data_interval_start | ds }}}}",
            digest=True,
        )
    return dag


def until_a_trigger_waits() -> None:
    deadline = time.monotonic() + 60
    while not any_trigger_waits():
        assert time.monotonic() < deadline, "the sensor has not deferred"
        time.sleep(0.01)


def any_trigger_waits() -> bool:
    return any(shared.opening.done() for clients in list(shared_client._shared.values()) for shared in clients.values())


@pytest.mark.parametrize("deferrable", [True, False])
def test_the_data_interval_is_waited_for_read_and_done(
    client, timed, write, run, spark, meanwhile, tmp_path, deferrable
):
    write(1, 2)

    def complete() -> None:
        if deferrable:
            until_a_trigger_waits()
        client.note_time(timed, "writer", day(2))

    dag = wait_and_read(f"times-{timed.scope}", timed, tmp_path, deferrable=deferrable)
    with meanwhile(complete):
        first = run(dag, day(2))  # whose data interval, as that of any run by hand, is the last one before it

    taken = first.result("wait")
    assert (taken["since"], taken["until"]) == (day(1).isoformat(), day(2).isoformat())
    assert taken["consumer"] == f"times-{timed.scope}/wait"
    rows = [row.at for row in spark.read.parquet(f"{tmp_path}/2013-01-01").collect()]
    assert sorted(rows) == [millis(1, hour) for hour in (0, 6, 12, 23)]
    ledger = client.cut_ledger(timed.scope)
    [record] = ledger.records(taken["consumer"], timed)
    assert record.is_done
    assert (record.since, record.until) == (day(1), day(2))

    write(1)  # too late, after the watermark: the interval keeps its range
    again = run(dag, day(2))
    assert again.result("wait") == taken
    assert again.result("read")["digest"] == first.result("read")["digest"]


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_stream_without_a_watermark_is_waited_for(client, scope, run_task, meanwhile, capsys, deferrable):
    silent = StreamName(scope, "silent")
    client.create_stream(silent)

    def note() -> None:
        if deferrable:
            until_a_trigger_waits()
        with client.writer(silent) as writer:
            writer.write(b"event")
        client.note_time(silent, "writer", day(2))

    sensor = partial(PravegaEventTimeSensor, stream=str(silent), since=day(1), until=day(2), deferrable=deferrable)
    with meanwhile(note):
        done = run_task(partial(sensor, poll_interval=SOON, poke_interval=SOON))
    assert done.tries() == 1
    assert [event.data for event in client.read(StreamCutRange.from_json(done.result()))] == [b"event"]
    said = re.sub(r"[\s│]+", " ", capsys.readouterr().out)
    assert said.count(f"waiting: {silent} is not complete up to {day(2).isoformat()} yet: stream {silent} has no") == 1


def test_a_backfill_of_event_times_is_read_by_mapped_tasks(client, timed, write, run, spark, tmp_path):
    write(1, 2, 3)
    client.seal_stream(timed)

    def one_read(interval):
        return {"stream_cuts": interval, "output_path": f"{tmp_path}/{interval['since'][:10]}"}

    with DAG("days", schedule=None) as dag:
        plan = PravegaBackfillPlanOperator(
            task_id="plan", stream=str(timed), since="2013-01-01T00:00Z", until=day(4), every="1d", consumer="days"
        )
        read = PravegaSparkReadOperator.partial(task_id="read", stream=str(timed), options=OPTIONS)
        read.expand_kwargs(plan.output.map(one_read))
    run(dag, day(1)).result("plan")

    for number in (1, 2, 3):
        rows = [row.at for row in spark.read.parquet(f"{tmp_path}/2013-01-0{number}").collect()]
        assert sorted(rows) == [millis(number, hour) for hour in (0, 6, 12, 23)]
    assert [record.is_done for record in client.cut_ledger(timed.scope).records("days", timed)] == [True] * 3
    assert run(dag, day(1)).result("plan") == []


def test_a_sensor_without_records_needs_no_ledger(timed, client, run_task):
    client.seal_stream(timed)
    sensor = partial(PravegaEventTimeSensor, stream=str(timed), since=day(1), until=day(2), record=False)

    assert run_task(sensor).result().keys() == {"start", "end", "since", "until"}
    assert client.list_streams(timed.scope) == [timed]


def test_what_cannot_work_fails_without_retries(timed, run_task, capsys):
    for wrong, error in (
        ({"since": "2013-01-01T00:00:00"}, "ConfigurationError: since is 2013-01-01T00:00:00, which has no zone"),
        ({"since": "{{ logical_date }}", "until": ""}, "ConfigurationError: until is '', but must be a time"),
        ({"until": day(1)}, "is empty: it must start before it ends"),
        ({"since": day(1) - timedelta(days=9), "until": day(1) - timedelta(days=1)}, "BeforeHistoryError"),
        ({"stream": f"{timed.scope}/missing"}, "StreamNotFoundError"),
        ({"unit": "h"}, "'h' is not a unit of event times"),
    ):
        given: dict[str, Any] = {"stream": str(timed), "since": day(1), "until": day(2)} | wrong
        run = run_task(partial(PravegaEventTimeSensor, **given))
        assert (run.state(), run.tries()) == ("failed", 1)
        assert error in capsys.readouterr().out


def test_a_record_of_a_deleted_stream_or_of_another_release_is_reported(timed, client, write, run_task, capsys):
    write(1)
    sensor = partial(PravegaEventTimeSensor, stream=str(timed), since=day(1), until=day(2), consumer="ada")
    client.seal_stream(timed)
    run_task(sensor).result()
    client.delete_stream(timed)
    client.create_stream(timed, ScalingPolicy.fixed(2))

    assert run_task(sensor).state() == "failed"
    assert f"stream {timed} was deleted and made again on" in capsys.readouterr().out

    interval = Interval("ada", timed, interval_name(day(1), day(2)))
    client.table(timed.scope, CUT_TABLE).put(interval.key, b'{"version": 99}')
    assert run_task(sensor).state() == "failed"
    assert "LedgerError: a record of version 99 of a cut ledger" in capsys.readouterr().out


def test_a_range_of_event_times_needs_the_column_with_the_times(timed, client, run_task, tmp_path, capsys):
    head = client.head(timed).to_text()
    cuts = {"start": head, "end": head, "since": day(1).isoformat(), "until": day(2).isoformat()}

    def read(**common):
        return PravegaSparkReadOperator(stream=str(timed), stream_cuts=cuts, output_path=str(tmp_path), **common)

    run = run_task(read)
    assert (run.state(), run.tries()) == ("failed", 1)
    assert "its range also has events of other times: name their column" in capsys.readouterr().out


def test_a_stream_is_made_whose_marks_wait_for_its_writers(client, scope, run_task):
    minutes = timedelta(minutes=5)
    create = partial(PravegaCreateStreamOperator, stream=f"{scope}/patient", timestamp_aggregation_timeout=minutes)

    assert run_task(create).result() is True
    found = client.run(client.controller.stream_configuration(StreamName(scope, "patient")))
    assert found.timestamp_aggregation_timeout == minutes
