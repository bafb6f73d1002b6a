"""The sensor in real DAG runs: when it waits, what it hands on, and what a repeated run gets."""

import logging
import time
import uuid
from datetime import UTC, datetime
from functools import partial

import pytest
from airflow.sdk import DAG

from aiopravega import ScalingPolicy, StreamCutRange
from aiopravega.blocking import PravegaClient
from aiopravega.errors import TableNotFoundError
from aiopravega.ledger import CUT_TABLE
from airflow_pravega.operators.stream_cut import PravegaStreamCutOperator
from airflow_pravega.polling import shared_client
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

FIRST, SECOND, THIRD = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3))
# Bytes of an event's header, which count as the stream's.
HEADER = 8
# A trigger that is on its way does not check again for so long: tests do not wait for a usual interval.
SOON = 0.1


def until(condition, seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)


def a_trigger_waits() -> bool:
    return any(shared.opening.done() for clients in list(shared_client._shared.values()) for shared in clients.values())


def has_cut_ledger(client, scope: str) -> bool:
    try:
        client.table(scope, CUT_TABLE).get(bytes(32))
    except TableNotFoundError:
        return False
    return True


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_stream_that_has_moved_already_is_not_waited_for(run_task, stream, write, read, deferrable):
    write(b"a", b"b")
    sensor = partial(PravegaStreamCutSensor, stream=str(stream), since="earliest", deferrable=deferrable)
    assert read(run_task(sensor).result()) == [b"a", b"b"]


def test_it_defers_until_enough_is_written(run_task, stream, write, read, meanwhile):
    write(b"old")
    wanted = 3 * (HEADER + 3)

    def slowly() -> None:
        until(a_trigger_waits)  # so the sensor has deferred
        write(b"one")
        write(b"two")

    sensor = partial(
        PravegaStreamCutSensor, stream=str(stream), min_bytes=wanted, deferrable=True, poll_interval=SOON, timeout=600
    )
    with meanwhile(slowly):
        run = run_task(sensor)
    assert read(run.result()) == [b"old", b"one", b"two"]


def test_it_pokes_where_it_may_not_defer(run_task, client, stream, write, read, meanwhile):
    def later() -> None:
        until(lambda: has_cut_ledger(client, stream.scope))  # the sensor makes it with its first check
        write(b"new")

    sensor = partial(PravegaStreamCutSensor, stream=str(stream), deferrable=False, poke_interval=SOON, timeout=600)
    with meanwhile(later):
        run = run_task(sensor)
    assert read(run.result()) == [b"new"]


def test_it_waits_across_a_scaling(run_task, client, stream, write, read, meanwhile):
    write(b"before")

    def scale() -> None:
        until(a_trigger_waits)
        client.scale_stream(stream, 3)
        write(b"after", b"after")

    wanted = 3 * HEADER + len(b"before") + 2 * len(b"after")
    sensor = partial(
        PravegaStreamCutSensor, stream=str(stream), min_bytes=wanted, deferrable=True, poll_interval=SOON, timeout=600
    )
    with meanwhile(scale):
        run = run_task(sensor)
    assert read(run.result()) == [b"after", b"after", b"before"]


def test_a_repeated_run_gets_the_same_range_and_the_next_one_continues(run_task, stream, write, read, finish):
    sensor = partial(PravegaStreamCutSensor, stream=str(stream))
    write(b"a")
    first = run_task(sensor, FIRST).result()
    finish(first)
    write(b"b")
    assert run_task(sensor, FIRST).result() == first
    second = run_task(sensor, SECOND).result()
    assert second["start"] == first["end"]
    assert (read(first), read(second)) == ([b"a"], [b"b"])
    write(b"c")
    assert run_task(sensor, FIRST).result() == first
    assert run_task(sensor, SECOND).result() == second


def test_another_task_has_intervals_of_its_own(run, stream, write, read):
    write(b"a")
    with DAG(f"dag-{stream.scope}", schedule=None) as dag:
        PravegaStreamCutSensor(task_id="one", stream=str(stream))
        PravegaStreamCutSensor(task_id="two", stream=str(stream))
    done = run(dag)
    assert read(done.result("one")) == read(done.result("two")) == [b"a"]


def test_it_waits_since_the_cut_of_another_task(run, stream, write, read):
    write(b"a")
    with DAG(f"dag-{stream.scope}", schedule=None) as dag:
        cuts = PravegaStreamCutOperator(task_id="cuts", stream=str(stream))
        PravegaStreamCutSensor(task_id="range", stream=str(stream), since=cuts.output, min_bytes=0)
        PravegaStreamCutSensor(task_id="text", stream=str(stream), since=cuts.output["start"])  # type: ignore[index]  # plain outputs are
        PravegaStreamCutSensor(
            task_id="template",
            stream=f"{stream.scope}/{{{{ 'stream' }}}}",
            since="{{ ti.xcom_pull('cuts')['start'] }}",
            min_bytes="{{ 1 + 2 }}",
        ).set_upstream(cuts)
    done = run(dag)
    assert read(done.result("range")) == []
    assert read(done.result("text")) == read(done.result("template")) == [b"a"]


def test_another_start_for_the_same_run_is_another_range(run_task, stream, write, read):
    write(b"a")
    first = run_task(partial(PravegaStreamCutSensor, stream=str(stream)), FIRST).result()
    write(b"b")
    since = partial(PravegaStreamCutSensor, stream=str(stream), since=first["end"])
    again = run_task(since, FIRST).result()
    assert read(again) == [b"b"]
    write(b"c")
    assert run_task(since, FIRST).result() == again


def test_without_records_an_account_that_may_only_read_is_enough(
    run_task, pravega_emulator_secure, monkeypatch, connection_json
):
    scope = f"airflow-{uuid.uuid4().hex}"
    with PravegaClient(pravega_emulator_secure.config) as owner:
        owner.create_scope(scope)
        owner.create_stream(f"{scope}/stream", ScalingPolicy.fixed(1))
        with owner.writer(f"{scope}/stream") as writer:
            writer.write(b"event")
    reader = pravega_emulator_secure.config_for("reader")
    monkeypatch.setenv("AIRFLOW_CONN_PRAVEGA_READER", connection_json(reader))
    sensor = partial(
        PravegaStreamCutSensor, stream=f"{scope}/stream", since="earliest", pravega_conn_id="pravega_reader"
    )
    found = run_task(partial(sensor, record=False)).result()
    with PravegaClient(reader) as client:
        assert [event.data for event in client.read(StreamCutRange.from_json(found))] == [b"event"]
    refused = run_task(sensor)
    assert refused.state() == "failed"
    assert refused.tries() == 1


def test_a_timeout_ends_the_waiting_without_a_retry(run_task, stream):
    run = run_task(partial(PravegaStreamCutSensor, stream=str(stream), poke_interval=SOON, timeout=0.2))
    assert run.state() == "failed"
    assert run.tries() == 1


@pytest.mark.parametrize("deferrable", [True, False])
def test_an_outage_is_waited_out(run_task, stream, write, read, meanwhile, away, deferrable):
    write(b"a")
    sensor = partial(
        PravegaStreamCutSensor,
        stream=str(stream),
        deferrable=deferrable,
        poll_interval=SOON,
        poke_interval=SOON,
        pravega_conn_id=away.connection,
    )

    def return_later() -> None:
        until(lambda: away.refused > 3)
        away.ends()

    with meanwhile(return_later):
        run = run_task(sensor)

    assert run.tries() == 1
    assert read(run.result()) == [b"a"]


def test_an_outage_is_waited_out_until_the_sensor_s_timeout(run_task, stream, away, caplog):
    caplog.set_level(logging.DEBUG, "aiopravega.retry")
    sensor = partial(
        PravegaStreamCutSensor, stream=str(stream), poke_interval=SOON, timeout=3, pravega_conn_id=away.connection
    )

    run = run_task(sensor)

    assert run.state() == "failed"
    assert run.tries() == 1  # as Airflow has it for sensors that have timed out
    assert away.refused > 1
    levels = [record.levelno for record in caplog.records if "trying again" in record.getMessage()]
    assert levels.count(logging.INFO) == 1  # one line, and not one for each check
