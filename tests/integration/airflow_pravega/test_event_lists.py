"""Small lists of events, written once and read whole by tasks of a real Airflow."""

import re
from datetime import UTC, datetime
from functools import partial

import pytest
from airflow.sdk import DAG

from aiopravega import StreamCut, StreamCutRange
from aiopravega.ledger import Interval, IntervalState
from airflow_pravega.operators.events import PravegaReadEventsOperator, PravegaWriteEventsOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

FIRST, SECOND = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2))


@pytest.fixture
def fails_for_good(run_task, capsys):
    """Runs a task that is to fail at its first try, and gives what it printed."""

    def fails_for_good(make, *date):
        run = run_task(make, *date)
        assert (run.state(), run.tries()) == ("failed", 1)
        return capsys.readouterr().out

    return fails_for_good


@pytest.fixture
def everything(client, stream):
    """The range of all events of the stream."""
    return lambda: StreamCutRange(client.head(stream), client.tail(stream))


@pytest.fixture
def events(client, everything):
    """All events of the stream, sorted."""
    return lambda: sorted(event.data for event in client.read(everything()))


def test_a_list_is_written_once_per_run(run_task, client, stream, events):
    write = partial(PravegaWriteEventsOperator, stream=str(stream), events=["{{ 'é' }}", b"\x00", {"a": [1, None]}])
    first = run_task(write, FIRST).result()
    assert events() == [b"\x00", b'{"a":[1,null]}', "é".encode()]
    assert (first["events"], first["bytes"], first["written"]) == (3, 2 + 1 + 14 + 3 * 8, True)
    again = run_task(write, FIRST).result()
    assert again == first | {"written": False}
    assert sorted(event.data for event in client.read(StreamCutRange.from_json(first["cuts"]))) == events()
    assert run_task(write, SECOND).result()["written"] is True
    assert len(events()) == 6


def test_other_events_under_the_same_name_are_refused(run_task, fails_for_good, stream, events):
    write = partial(PravegaWriteEventsOperator, stream=str(stream), write_id="fixed")
    run_task(partial(write, events=["a"])).result()
    assert "WriteIdReusedError" in fails_for_good(partial(write, events=["b"]))
    assert "WriteIdReusedError" in fails_for_good(partial(write, events=["a"], routing_keys="k"))
    assert events() == [b"a"]


def test_no_events_are_a_write_too(run_task, stream, events):
    write = partial(PravegaWriteEventsOperator, stream=str(stream), events=[])
    assert run_task(write, FIRST).result()["written"] is True
    assert run_task(write, FIRST).result()["written"] is False
    assert events() == []


def test_events_of_a_key_stay_in_their_order(run_task, client, stream, everything):
    numbers = [str(number) for number in range(50)]
    run_task(partial(PravegaWriteEventsOperator, stream=str(stream), events=numbers, routing_keys="k")).result()
    assert [event.data.decode() for event in client.read(everything())] == numbers


@pytest.mark.parametrize(
    ("events", "keys", "message"),
    [
        ("a text", None, "must be a list of events"),
        ([True], None, "event 0 is of type bool"),
        ([{"a": b"bytes"}], None, "event 0 cannot be written as JSON"),
        (["a"], ["k", "l"], "one for each of the 1 events"),
        (["a"], [True], "routing_keys[0] is of type bool"),
    ],
)
def test_what_is_not_a_list_of_events_is_refused(fails_for_good, stream, events, keys, message):
    write = partial(PravegaWriteEventsOperator, stream=str(stream), events=events, routing_keys=keys)
    assert message in fails_for_good(write)


def test_a_stream_that_is_not_there_gets_neither_events_nor_a_ledger(fails_for_good, client, scope):
    fails_for_good(partial(PravegaWriteEventsOperator, stream=f"{scope}/missing", events=["a"]))
    assert client.list_tables(scope) == []


def test_a_write_that_the_stream_refuses_is_no_success(fails_for_good, client, stream, events):
    client.seal_stream(stream)
    write = partial(PravegaWriteEventsOperator, stream=str(stream), events=["a"], write_id="refused")
    fails_for_good(write)
    assert events() == []
    ledger = client.commit_ledger(stream.scope)
    ledger.create()
    assert ledger.lookup(stream, "refused") is None


def test_a_sensor_s_range_is_read_and_done(run, client, stream, write, capsys):
    write(b"a", b"b")
    with DAG(f"dag-{stream.scope}", schedule=None) as dag:
        wait = PravegaStreamCutSensor(task_id="wait", stream=str(stream))
        PravegaReadEventsOperator(task_id="read", stream=str(stream), stream_cuts=wait.output)
    done = run(dag)
    wait_result, read_result = done.result("wait"), done.result("read")
    assert sorted(read_result["events"]) == ["a", "b"]
    assert (read_result["start"], read_result["end"]) == (wait_result["start"], wait_result["end"])
    assert read_result["bytes"] == 2 * (8 + 1)
    log = re.sub(r"[\s│]+", " ", capsys.readouterr().out)
    span = f"from {StreamCut.from_text(wait_result['start'])} to {StreamCut.from_text(wait_result['end'])}"
    assert f"Range of {stream} {span}, interval {wait_result['interval']!r} of {wait_result['consumer']!r}" in log
    assert f"Read {stream} {span}: 2 events, 18 bytes" in log
    interval = Interval(wait_result["consumer"], stream, wait_result["interval"])
    found = client.cut_ledger(stream.scope).find(interval)
    assert found is not None
    assert found.state is IntervalState.DONE


def test_a_range_that_is_too_large_is_recorded_as_failed(run, client, stream, write):
    write(b"a", b"b")
    with DAG(f"dag-{stream.scope}", schedule=None) as dag:
        wait = PravegaStreamCutSensor(task_id="wait", stream=str(stream))
        PravegaReadEventsOperator(task_id="read", stream=str(stream), stream_cuts=wait.output, max_events=1)
    done = run(dag)
    assert done.state("read") == "failed"
    wait_result = done.result("wait")
    found = client.cut_ledger(stream.scope).find(Interval(wait_result["consumer"], stream, wait_result["interval"]))
    assert found is not None
    assert found.state is IntervalState.FAILED


@pytest.mark.parametrize(
    ("form", "data", "shown"),
    [("text", "é".encode(), "é"), ("json", b'{"a": 1}', {"a": 1}), ("base64", b"\xff", "/w==")],
)
def test_events_are_given_in_a_form(run_task, write, stream, everything, form, data, shown):
    write(data)
    read = partial(PravegaReadEventsOperator, stream=str(stream), stream_cuts=everything().to_json(), form=form)
    assert run_task(read).result()["events"] == [shown]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"form": "json"}, "is not json"),
        ({"form": "text"}, "is not text"),
        ({"max_events": "{{ 1 }}"}, "more than max_events=1 events"),
        ({"max_bytes": 10}, "more than max_bytes=10"),
        ({"max_events": -1}, "max_events is -1, but must be a whole number"),
    ],
)
def test_what_cannot_be_given_whole_is_refused(fails_for_good, write, stream, everything, arguments, message):
    write(b"\xff", b"\xff")
    read = partial(PravegaReadEventsOperator, stream=str(stream), stream_cuts=everything().to_json())
    assert message in fails_for_good(partial(read, **arguments))


def test_a_range_of_event_times_is_refused(fails_for_good, stream, everything):
    cuts = everything().to_json() | {"since": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"}
    assert "PravegaSparkReadOperator" in fails_for_good(
        partial(PravegaReadEventsOperator, stream=str(stream), stream_cuts=cuts)
    )
