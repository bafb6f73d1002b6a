"""Functions that process ranges, in real DAG runs: the end of the function decides about the interval."""

from datetime import UTC, datetime
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException
from airflow.sdk import DAG, task

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.blocking.intervals import TakenRange
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.operators.stream_cut import PravegaFinishRangeOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor
from pravega_jobs.frames import read_polars

DAYS = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)]


def events_of(taken: TakenRange) -> list[str]:
    return sorted(event.data.decode() for event in taken.events())


def in_block(cuts):
    with PravegaHook().range(cuts) as taken:
        return sorted(event.decode() for event in read_polars(taken)["event"])


def without_record(cuts):
    with PravegaHook().get_client() as client:
        return sorted(event.data.decode() for event in client.read(StreamCutRange.from_json(cuts)))


@pytest.fixture
def dag(stream: StreamName):
    """A DAG whose sensor waits for the stream; the test adds the tasks that take `wait.output`."""
    with DAG(f"dag-{stream.scope}", schedule=None) as dag:
        PravegaStreamCutSensor(task_id="wait", stream=str(stream), consumer="ada", poke_interval=1)
        yield dag


@pytest.fixture
def cuts(dag) -> Any:
    return dag.get_task("wait").output


@pytest.fixture
def states(client: PravegaClient, stream: StreamName):
    def states() -> list[str]:
        return [record.state.value for record in client.cut_ledger(stream.scope).records("ada", stream)]

    return states


@pytest.fixture
def reason(client: PravegaClient, stream: StreamName):
    def reason() -> str:
        [record] = client.cut_ledger(stream.scope).records("ada", stream)
        return record.reason or ""

    return reason


@pytest.mark.parametrize(
    ("decorator", "function", "first"),
    [(task.pravega_range, events_of, "done"), (task, in_block, "done"), (task, without_record, "open")],
    ids=["decorator", "block", "plain"],
)
def test_a_second_run_has_what_is_new(run, dag, cuts, write, states, decorator, function, first):
    decorator(task_id="work")(function)(cuts)
    write(b"a", b"b")
    assert run(dag, DAYS[0]).result("work") == ["a", "b"]
    assert states() == [first]
    write(b"c")
    assert run(dag, DAYS[1]).result("work") == ["c"]  # Airflow knows that the first run has succeeded
    assert states() == ["done", first]
    assert run(dag, DAYS[0]).result("work") == ["a", "b"]


@pytest.mark.parametrize("decorator", [task.pravega_range, task], ids=["decorator", "block"])
def test_a_try_that_fails_leaves_its_range_to_the_next(run, dag, cuts, write, states, reason, decorator):
    tries: list[list[str]] = []

    def fail(taken: TakenRange) -> None:
        tries.append(events_of(taken))
        raise RuntimeError(f"broken in try {len(tries)}, when the interval was {states()}")

    def fail_in_block(given):
        with PravegaHook().range(given) as taken:
            fail(taken)

    decorator(task_id="work", retries=1, retry_delay=0)(fail if decorator is task.pravega_range else fail_in_block)(
        cuts
    )
    write(b"a")
    assert run(dag, DAYS[0]).tries("work") == 2
    assert tries == [["a"], ["a"]]
    assert states() == ["failed"]
    assert reason() == "broken in try 2, when the interval was ['open']"


@pytest.mark.parametrize(
    ("error", "state", "why"),
    [(AirflowFailException("no more"), "failed", "no more"), (AirflowSkipException("nothing to do"), "done", "")],
)
def test_errors_of_airflow_mean_what_they_say(run, dag, cuts, write, states, reason, error, state, why):
    def work(_: TakenRange) -> None:
        raise error

    task.pravega_range(task_id="work", retries=1, retry_delay=0)(work)(cuts)
    write(b"a")
    assert run(dag, DAYS[0]).tries("work") == 1
    assert (states(), reason()) == ([state], why)


@pytest.mark.parametrize("way", ["decorator", "parts"])
def test_a_range_of_two_tasks_is_done_when_both_are(run, dag, cuts, write, states, way):
    seen: list[list[str]] = []

    def work(given):
        if way == "decorator":
            seen.append(states())
        else:
            with PravegaHook().range(given, parts=("left", "right")):
                seen.append(states())

    decorator = task.pravega_range if way == "decorator" else task
    left, right = (decorator(task_id=name)(work)(cuts) for name in ("left", "right"))
    left >> right
    write(b"a")
    assert run(dag, DAYS[0]).state("right") == "success"
    assert seen == [["open"], ["open"]]
    assert states() == ["done"]


def test_mapped_tasks_on_one_range_leave_it_to_the_task_after_them(run, dag, stream, cuts, write, states):
    seen: list[list[str]] = []

    def work(taken: TakenRange, number: int) -> None:
        assert taken.interval is not None
        seen.append([*events_of(taken), *states(), str(number)])

    mapped = task.pravega_range(task_id="work")(work).partial(taken=cuts).expand(number=[1, 2])
    mapped >> PravegaFinishRangeOperator(task_id="done", stream=str(stream), stream_cuts=cuts)
    write(b"a")
    assert run(dag, DAYS[0]).state("done") == "success"
    assert sorted(seen) == [["a", "open", "1"], ["a", "open", "2"]]
    assert states() == ["done"]


@pytest.mark.parametrize("given", [None, {}, {"start": "nonsense", "end": "nonsense"}])
def test_what_is_no_range_fails_the_task_at_once(run_task, given):
    def make(**arguments: Any) -> Any:
        return task.pravega_range(**arguments)(events_of)(given).operator

    done = run_task(make)
    assert (done.state(), done.tries()) == ("failed", 1)
