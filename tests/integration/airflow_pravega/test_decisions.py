"""People of a real Airflow decide about lost and failed intervals, and about writes that are half visible."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from airflow.models import DagModel, DagRun
from airflow.models.hitl import HITLDetail
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, task
from airflow.utils.session import create_session

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.blocking.intervals import next_start
from aiopravega.errors import StreamTruncatedError
from aiopravega.ledger import CommitState, Interval, IntervalState
from airflow_pravega.operators.decision import MOST_ASKED
from airflow_pravega.operators.interval_decision import PravegaIntervalDecisionOperator
from airflow_pravega.operators.rebuild_decision import PravegaRebuildDecisionOperator
from airflow_pravega.operators.write_decision import PravegaWriteDecisionOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor
from pravega_jobs.frames import write_arrow

CONSUMER = "orders/wait"


@pytest.fixture
def ledger(client, stream):
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    return ledger


@pytest.fixture
def taken(client, stream, ledger, write):
    """Records a range of new events as an interval of the consumer."""

    def taken(name: str, *events: bytes, state: IntervalState = IntervalState.OPEN) -> Interval:
        interval = Interval(CONSUMER, stream, name)
        last = ledger.last(interval)
        start = client.head(stream) if last is None else last.end
        write(*events)
        ledger.record(interval, StreamCutRange(start, client.tail(stream)), last, chained=True)
        if state is IntervalState.FAILED:
            ledger.fail(interval, "it was so")
        if state is IntervalState.DONE:
            ledger.finish(interval)
        return interval

    return taken


@pytest.fixture
def decide(run, stream, answered):
    """Runs a DAG with the operator and a task after it; somebody chooses the answer. None: nothing is asked."""

    def decide(choice: str | None, operator: Any = PravegaIntervalDecisionOperator, **arguments: Any):
        if operator is PravegaIntervalDecisionOperator:
            arguments = {"stream": str(stream), "consumer": CONSUMER, "open_for": timedelta(0), **arguments}
        with DAG(f"dag-{uuid.uuid4().hex}", schedule=None) as dag:
            operator(task_id="decide", **arguments) >> EmptyOperator(task_id="next")
        if choice is None:
            return run(dag), None
        with answered(dag.dag_id, choice) as asked:
            ran = run(dag)
        return ran, asked[0]

    return decide


def test_nothing_is_asked_if_nothing_has_to_be_decided(decide, taken):
    assert decide(None)[0].result("decide") == {"decision": None}
    taken("one", b"a", state=IntervalState.DONE)
    taken("two", b"b")
    ran, _ = decide(None, open_for=timedelta(hours=1))
    assert (ran.result("decide"), ran.state("next")) == ({"decision": None}, "success")


def test_a_loss_is_accepted_and_the_chain_goes_on_from_the_new_head(client, decide, taken, ledger, stream):
    first = taken("one", b"abcd", b"efgh", state=IntervalState.DONE)
    lost = taken("two", b"ijkl", b"mnop", b"qrst")
    client.truncate_stream(client.tail(stream))
    following = Interval(CONSUMER, stream, "three")

    ran, asked = decide("Accept the loss")

    assert asked.options == ["Accept the loss", "Leave it as it is"]
    assert asked.subject == f"Intervals of '{CONSUMER}' on {stream}: 1 lost"
    assert "interval 'two' is open: 36 bytes of it are gone" in asked.body
    result = ran.result("decide")
    assert (result["skipped"], result["decision"]["by"]) == (["two"], "Ann")
    record = ledger.find(lost)
    assert record.state is IntervalState.SKIPPED
    assert record.changed_by.startswith("Ann, asked by dag-")
    assert ledger.find(first).is_done
    assert next_start(client, ledger, following, client.head(stream)).cut == client.head(stream)


def test_a_loss_that_is_left_stays_and_what_follows_is_skipped(client, decide, taken, ledger, stream, write):
    taken("one", b"a", state=IntervalState.DONE)
    write(b"b")
    client.truncate_stream(client.tail(stream))

    ran, asked = decide("Leave it as it is")

    assert [ran.state(each) for each in ("decide", "next")] == ["skipped", "skipped"]
    assert "9 bytes after it are gone" in asked.body
    with pytest.raises(StreamTruncatedError):
        next_start(client, ledger, Interval(CONSUMER, stream, "two"), client.head(stream))


def test_a_failed_interval_is_skipped_with_the_numbers_beside_the_choice(decide, taken, ledger):
    failed = taken("one", b"abcd", b"efgh", state=IntervalState.FAILED)
    ran, asked = decide("Skip")
    assert asked.options == ["Run again", "Skip", "Leave it as it is"]
    assert "| one | failed: it was so |" in asked.body
    assert "| 24 | 2 |" in asked.body
    assert ran.result("decide")["skipped"] == ["one"]
    record = ledger.find(failed)
    assert (record.state, record.reason) == (IntervalState.SKIPPED, "Ann has decided: Skip")


def test_people_decide_only_about_intervals_that_the_question_shows(decide, taken, ledger):
    failed = [taken(f"number {number:02}", state=IntervalState.FAILED) for number in range(MOST_ASKED + 1)]
    ran, asked = decide("Skip")
    assert "1 later intervals are asked about when these are decided" in asked.body
    assert "number 50" not in asked.body
    assert len(ran.result("decide")["skipped"]) == MOST_ASKED
    states = [ledger.find(each).state for each in failed]
    assert states == [IntervalState.SKIPPED] * MOST_ASKED + [IntervalState.FAILED]


def test_an_interval_of_no_run_is_open_again_and_named(decide, taken, ledger):
    failed = taken("one", b"a", state=IntervalState.FAILED)
    result = decide("Run again")[0].result("decide")
    assert (result["reopened"], result["cleared"]) == (["one"], [])
    assert "its record names no run" in result["not_cleared"]["one"]
    assert ledger.find(failed).state is IntervalState.OPEN


@pytest.fixture
def failed(run, stream, write):
    """The id of a DAG whose run has failed after it had taken a range."""
    write(b"a")
    with DAG(f"failing-{uuid.uuid4().hex}", schedule=None) as dag:
        wait = PravegaStreamCutSensor(task_id="wait", stream=str(stream), poke_interval=0.1, timeout=60)

        @task.pravega_range
        def read(stream_cuts):  # noqa: ARG001 - the sensor knows by it that the task takes the range
            raise ValueError("it cannot be read")

        read(wait.output)
    ran = run(dag, datetime(2026, 1, 1, tzinfo=UTC))
    assert ran.state("read") == "failed"
    return dag.dag_id


def test_the_run_of_a_failed_interval_is_cleared(decide, failed, stream, ledger):
    result = decide("Run again", consumer=f"{failed}/wait")[0].result("decide")

    [cleared] = result["cleared"]
    assert (cleared["dag_id"], result["not_cleared"]) == (failed, {})
    with create_session() as session:
        [cleared_run] = session.query(DagRun).filter(DagRun.dag_id == failed)
        assert (cleared_run.run_id, str(cleared_run.state)) == (cleared["run_id"], "queued")
    [record] = ledger.records(f"{failed}/wait", stream)
    assert (record.state, record.reason) == (IntervalState.OPEN, "Ann has decided: Run again")


def test_a_run_that_airflow_does_not_clear_is_named(decide, failed, stream, ledger):
    with create_session() as session:
        session.query(DagModel).filter(DagModel.dag_id == failed).update({"has_import_errors": True})

    result = decide("Run again", consumer=f"{failed}/wait")[0].result("decide")

    [record] = ledger.records(f"{failed}/wait", stream)
    assert (result["reopened"], result["cleared"]) == ([record.interval], [])
    assert f"Airflow refuses to clear {record.claimant.run} of {failed}" in result["not_cleared"][record.interval]
    assert record.state is IntervalState.OPEN
    with create_session() as session:
        [left] = session.query(DagRun).filter(DagRun.dag_id == failed)
        assert str(left.state) == "failed"


def test_a_try_never_asks_the_question_of_an_earlier_one(run, stream, taken, ledger, capsys):
    """Airflow shows the first question of a task instance, which the next try after a failed start may share."""
    failed = taken("one", b"a", state=IntervalState.FAILED)

    def ask_before(context: Any) -> None:
        choices = ["Run again", "Skip", "Leave it as it is"]
        ti_id = HITLDetail.ti_id.type.python_type(str(context["ti"].id))  # a text before Airflow 3.2
        with create_session() as session:
            session.add(HITLDetail(ti_id=ti_id, subject="an older one", body="", options=choices))

    with DAG(f"dag-{uuid.uuid4().hex}", schedule=None) as dag:
        PravegaIntervalDecisionOperator(
            task_id="decide",
            stream=str(stream),
            consumer=CONSUMER,
            open_for=timedelta(0),
            on_execute_callback=ask_before,
        )
    assert run(dag).state("decide") == "failed"
    assert "Airflow shows the question of an earlier try, which differs: an older one" in capsys.readouterr().out
    assert ledger.find(failed).state is IntervalState.FAILED


def test_lost_and_failed_intervals_are_decided_about_together(client, decide, taken, ledger, stream):
    lost = taken("one", b"a")
    client.truncate_stream(client.tail(stream))
    failed = taken("two", b"b", state=IntervalState.FAILED)

    ran, asked = decide("Accept the loss, and run the others again")

    assert len(asked.options) == 3
    assert asked.subject.endswith("1 lost, 1 not done")
    assert ran.result("decide")["skipped"] == ["one"]
    assert [ledger.find(each).state for each in (lost, failed)] == [IntervalState.SKIPPED, IntervalState.OPEN]


@pytest.fixture
def half(client, stream, leave_decided):
    """A write of which one partition is in the stream, and another one is lost."""
    leave_decided(stream, b"abcd", b"ef", write_id="half", committed=[0], lost=1)

    def record():
        return next((stored.record for stored in client.commit_ledger(stream.scope).records()), None)

    return record


def test_a_half_visible_write_is_accepted_as_it_is(decide, half, stream, client):
    ran, asked = decide("Accept what is there", PravegaWriteDecisionOperator, ledger=stream.scope)

    assert asked.options == ["Accept what is there", "Write it again", "Leave it as it is"]
    assert f"write 'half' to {stream}" in asked.body
    assert "| 1 of 2 partitions, 1 events, 12 bytes | 1 of 2 partitions, 1 events, 10 bytes |" in asked.body
    assert ran.result("decide")["resolved"] == [f"write 'half' to {stream}"]
    record = half()
    assert (record.state, record.resolved, record.total_events) == (CommitState.DONE, True, 1)
    assert "; accept by Ann, asked by dag-" in record.by
    assert [each.data for each in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)] == [b"abcd"]
    assert decide(None, PravegaWriteDecisionOperator, ledger=stream.scope)[0].result("decide") == {"decision": None}


def test_a_half_visible_write_is_forgotten_or_left(decide, half, stream):
    given = {"ledger": stream.scope, "stream": str(stream), "write_id": "half"}
    assert decide("Leave it as it is", PravegaWriteDecisionOperator, **given)[0].state("decide") == "skipped"
    assert half().state is CommitState.PREPARED
    others = {**given, "write_id": "another"}
    assert decide(None, PravegaWriteDecisionOperator, **others)[0].result("decide") == {"decision": None}
    assert decide("Write it again", PravegaWriteDecisionOperator, **given)[0].result("decide")["left"] == []
    assert half() is None


def test_no_ledger_needs_no_decision(decide, scope):
    assert decide(None, PravegaWriteDecisionOperator, ledger=scope)[0].result("decide") == {"decision": None}


def test_a_write_is_written_again_only_if_people_say_so(decide, client, stream):
    given = {"operator": PravegaRebuildDecisionOperator, "stream": str(stream), "write_id": "totals/1"}
    assert decide(None, **given, rebuild=2)[0].result("decide") == {"decision": None}  # it has no rows yet
    write_arrow(client, pa.table({"event": [b"abcd", b"efgh"]}), stream, "totals/1")
    for generation in (1, "1"):
        assert decide(None, **given, rebuild=generation)[0].state("next") == "success"

    ran, asked = decide("Leave it as it is", **given, rebuild="2")
    assert asked.subject == f"Write 'totals/1' to {stream} again, as generation 2?"
    assert "| 1 | 2 | 24 |" in asked.body
    assert [ran.state(each) for each in ("decide", "next")] == ["skipped", "skipped"]

    ran, _ = decide("Write it again", **given, rebuild=2)
    assert (ran.result("decide")["decision"]["by"], ran.state("next")) == ("Ann", "success")


def test_a_write_is_named_by_its_task_or_by_its_id(decide, stream):
    def rebuild(**more):
        given = {"stream": str(stream), "rebuild": 2, **more}
        return PravegaRebuildDecisionOperator(task_id="decide", **given)

    for names in ({}, {"of_task": "write", "write_id": "totals"}):
        with pytest.raises(AirflowFailException, match="by one of them"):
            rebuild(**names)
    assert decide(None, PravegaRebuildDecisionOperator, stream=str(stream), rebuild=2, of_task="write")[0].state("next")
