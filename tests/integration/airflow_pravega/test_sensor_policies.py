"""What a sensor does about what it does not find as it left it: runs that never finished, and ranges that are gone."""

import re
import threading
import time
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from airflow.sdk import DAG

from aiopravega import ScalingPolicy, StreamCutRange
from aiopravega.errors import LedgerError
from aiopravega.ledger import Claimant, Interval
from airflow_pravega.polling import shared_client
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

FIRST, SECOND, THIRD = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3))
# A trigger that is on its way does not check again for so long: tests do not wait for a usual interval.
SOON = 0.1


class Announced(PravegaStreamCutSensor):
    """A sensor that says when it checks for the first time."""

    checked = threading.Event()

    def poke(self, context):
        self.checked.set()
        return super().poke(context)


@pytest.fixture
def shown(capsys):
    """What the tasks have logged, as one line: Airflow breaks long ones, inside a frame."""
    return lambda: re.sub(r"[\s│]+", " ", capsys.readouterr().out)


@pytest.fixture
def taken(client, stream):
    """Takes the range from the last one to the tail as another program does: nobody can be asked for its state."""

    def taken() -> dict[str, str]:
        interval, ledger = Interval("shop", stream, f"{time.monotonic()}"), client.cut_ledger(stream.scope)
        ledger.create()
        last = ledger.last(interval)
        range_ = StreamCutRange(client.head(stream) if last is None else last.end, client.tail(stream))
        ledger.record(interval, range_, last, chained=True, by="ada@laptop")
        return {**range_.to_json(), "consumer": interval.consumer, "interval": interval.name}

    return taken


def until(condition, seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)


def a_trigger_waits() -> bool:
    return any(shared.opening.done() for clients in list(shared_client._shared.values()) for shared in clients.values())


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_run_waits_for_the_one_before_it_to_be_processed(
    run_task, stream, write, read, finish, taken, meanwhile, deferrable
):
    write(b"a")
    first = taken()
    write(b"b")
    Announced.checked.clear()

    def process() -> None:
        until(Announced.checked.is_set)
        finish(first)

    with meanwhile(process):
        announced = partial(
            Announced,
            stream=str(stream),
            consumer="shop",
            deferrable=deferrable,
            poll_interval=SOON,
            poke_interval=SOON,
        )
        assert read(run_task(announced, SECOND).result()) == [b"b"]


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_run_that_waited_too_long_fails_and_names_the_open_interval(
    run_task, stream, write, taken, shown, deferrable
):
    waiting = partial(
        PravegaStreamCutSensor, stream=str(stream), consumer="shop", deferrable=deferrable, poll_interval=SOON
    )
    write(b"a")
    first = taken()
    write(b"b")
    failed = run_task(partial(waiting, open_timeout=timedelta(seconds=0.2), poke_interval=SOON), SECOND)
    assert failed.state() == "failed"
    assert failed.tries() == 1
    log = shown()
    assert f"interval '{first['interval']}' of '{first['consumer']}' on {stream} is not done" in log
    assert f"pravega cuts skip {stream} --consumer 'shop'" in log


def test_the_range_of_a_run_that_failed_is_taken_over_at_once(run_task, client, stream, write, read):
    sensor = partial(PravegaStreamCutSensor, stream=str(stream), on_open="take_over", deferrable=True)
    write(b"a")
    first = run_task(sensor, FIRST).result()
    ledger = client.cut_ledger(stream.scope)
    failed = Interval(first["consumer"], stream, first["interval"])
    ledger.fail(failed, "no space left")
    write(b"b")
    second = run_task(sensor, SECOND).result()
    assert read(second) == [b"a", b"b"]
    with pytest.raises(LedgerError, match="given back"):
        ledger.finish(failed)
    ledger.finish(Interval(second["consumer"], stream, second["interval"]))
    write(b"c")
    assert read(run_task(sensor, FIRST).result()) == [b"c"]  # cleared: its old range is another run's


def test_the_range_of_an_open_run_is_taken_over_after_a_time_or_never(run_task, stream, write, read, taken):
    sensor = partial(PravegaStreamCutSensor, stream=str(stream), consumer="shop", open_timeout=timedelta())
    write(b"a")
    taken()
    write(b"b")
    left = run_task(partial(sensor, on_open="skip"), FIRST).result()
    assert read(left) == [b"b"]
    write(b"c")
    taken()
    write(b"d")
    assert read(run_task(partial(sensor, on_open="take_over"), THIRD).result()) == [b"c", b"d"]


def test_a_run_that_has_succeeded_has_processed_its_range(run_task, client, stream, write, read):
    sensor = partial(PravegaStreamCutSensor, stream=str(stream), deferrable=True, poll_interval=SOON)
    write(b"a")
    first = run_task(sensor, FIRST).result()
    write(b"b")
    assert read(run_task(sensor, SECOND).result()) == [b"b"]
    assert client.cut_ledger(stream.scope).find(Interval(first["consumer"], stream, first["interval"])).is_done


def test_a_test_records_nothing_in_the_chain_of_another_airflow(run_task, client, stream, write, read, shown):
    write(b"a")
    ledger, interval = client.cut_ledger(stream.scope), Interval("shop", stream, "monday")
    ledger.create()
    production = Claimant(host="airflow", instance="production", job="dag", run="run 1", task="task")
    range_ = StreamCutRange(client.head(stream), client.tail(stream))
    ledger.record(interval, range_, None, by="airflow/dag/task/run 1", claimant=production)
    write(b"b")

    result = run_task(partial(PravegaStreamCutSensor, stream=str(stream), consumer="shop")).result()

    assert (read(result), set(result)) == ([b"b"], {"start", "end"})
    assert "another Airflow reads the chain of shop" in shown()
    assert len(ledger.records("shop", stream)) == 1


def test_two_tasks_of_a_consumer_share_its_chain(run, stream, write, read, finish):
    write(b"a")

    def run_of(dag_id: str):
        with DAG(f"{dag_id}-{stream.scope}", schedule=None) as dag:
            PravegaStreamCutSensor(task_id="wait", stream=str(stream), consumer="shop/orders")
        return run(dag).result("wait")

    first = run_of("one")
    assert first["consumer"] == "shop/orders"
    finish(first)
    write(b"b")
    assert read(run_of("two")) == [b"b"]


def test_two_deployments_with_the_same_dag_share_no_chain(run_task, stream, write, read, finish, monkeypatch):
    sensor = partial(PravegaStreamCutSensor, stream=str(stream))
    write(b"a")
    for deployment in ("production", "staging"):
        monkeypatch.setenv("AIRFLOW__PRAVEGA__DEPLOYMENT", deployment)
        found = run_task(sensor, FIRST).result()
        assert found["consumer"].startswith(f"{deployment}/dag-")
        assert read(found) == [b"a"]
        finish(found)


def test_a_first_run_can_start_at_the_tail(run_task, stream, write, read, finish, meanwhile):
    write(b"old")

    def later() -> None:
        until(a_trigger_waits)
        write(b"new")

    sensor = partial(PravegaStreamCutSensor, stream=str(stream), since="latest", deferrable=True, poll_interval=SOON)
    with meanwhile(later):
        first = run_task(sensor, FIRST).result()
    assert read(first) == [b"new"]
    finish(first)
    write(b"next")
    assert read(run_task(sensor, SECOND).result()) == [b"next"]


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_run_without_data_can_be_skipped_but_waits_for_an_open_range(
    run_task, stream, write, read, finish, taken, meanwhile, deferrable
):
    sensor = partial(
        PravegaStreamCutSensor,
        stream=str(stream),
        consumer="shop",
        if_empty="skip",
        deferrable=deferrable,
        poll_interval=SOON,
        poke_interval=SOON,
    )
    assert run_task(sensor, FIRST).state() == "skipped"
    write(b"a")
    first = taken()
    write(b"b")
    Announced.checked.clear()

    def process() -> None:
        until(Announced.checked.is_set)
        finish(first)

    with meanwhile(process):
        second = run_task(partial(Announced, **sensor.keywords), SECOND).result()
    assert read(second) == [b"b"]
    finish(second)
    assert run_task(sensor, THIRD).state() == "skipped"
    assert run_task(sensor, SECOND).result() == second


def test_what_was_truncated_is_reported_or_skipped(run_task, client, stream, write, read, finish, shown):
    sensor = partial(PravegaStreamCutSensor, stream=str(stream))
    write(b"a")
    finish(run_task(sensor, FIRST).result())
    write(b"gone")
    client.truncate_stream(client.tail(stream))
    write(b"b")
    assert run_task(sensor, SECOND).tries() == 1
    assert "12 bytes after the range of interval" in shown()
    assert read(run_task(partial(sensor, on_truncated="skip"), SECOND).result()) == [b"b"]


def test_a_stream_that_was_made_again_is_reported_or_begun_again(run_task, client, stream, write, read, finish, shown):
    sensor = partial(PravegaStreamCutSensor, stream=str(stream))
    write(b"a")
    finish(run_task(sensor, FIRST).result())
    client.delete_stream(stream)
    client.create_stream(stream, ScalingPolicy.fixed(2))
    write(b"b")
    for date in (FIRST, SECOND):
        assert run_task(sensor, date).tries() == 1
        log = shown()
        assert f"stream {stream} was deleted and made again on {datetime.now(UTC).date().isoformat()}T" in log
        assert "; the range of interval '2026-01-01T00:00:00+00:00'" in log
        assert "does the end lie before the start" not in log
    skipping = partial(sensor, on_truncated="skip")
    again = run_task(skipping, FIRST).result()  # it was done, and is cleared
    assert read(again) == [b"b"]
    finish(again)
    write(b"c")
    assert read(run_task(skipping, SECOND).result()) == [b"c"]


def test_a_connection_that_is_not_there_fails_at_once(run_task, stream, shown):
    run = run_task(partial(PravegaStreamCutSensor, stream=str(stream), pravega_conn_id="nowhere"))
    assert (run.state(), run.tries()) == ("failed", 1)
    assert "make the connection, or name another one" in shown()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"on_open": "{{ 'ignore' }}"}, "on_open is 'ignore', but must be one of 'wait', 'take_over', 'skip'"),
        ({"on_truncated": "{{ 'ignore' }}"}, "on_truncated is 'ignore', but must be one of 'fail', 'skip'"),
        ({"if_empty": "{{ 'ignore' }}"}, "if_empty is 'ignore', but must be one of 'wait', 'skip'"),
        ({"consumer": "{{ none }}"}, "consumer is 'None', which is not a name"),
        ({"since": "latest", "record": False}, "needs the records of earlier runs"),
    ],
)
def test_what_a_policy_cannot_be_fails_at_once(run_task, stream, shown, arguments, message):
    run = run_task(partial(PravegaStreamCutSensor, stream=str(stream), **arguments))
    assert (run.state(), run.tries()) == ("failed", 1)
    assert message in shown()
