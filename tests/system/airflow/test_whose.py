"""Whose range is it? Runs that share names, lists, keys or ranges, and runs that are tested, marked or deleted."""

import re

import airflow.sdk
import pytest

from aiopravega import StreamCutRange, StreamName
from aiopravega.ledger import Interval, IntervalState

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

SCOPE = "system-whose"
DATE = "2026-01-02T00:00:00Z"
KEYS = hasattr(airflow.sdk, "CronPartitionTimetable")


@pytest.fixture(scope="module")
def api(airflow):
    airflow.api.unpause("whose_one")  # all DAGs are in one file
    for name in ("two", "mapped", "partition", "again", "slow", "timed", "timeout", "readers", "plain", "killed"):
        airflow.api.unpause(f"whose_{name}")
    return airflow.api


@pytest.fixture
def write(client):
    """Writes an event to a stream of the scope, which is made at first."""

    def write(stream, event):
        client.create_scope(SCOPE)
        client.create_stream(StreamName(SCOPE, stream))
        with client.writer(StreamName(SCOPE, stream)) as writer:
            writer.write(event.encode())

    return write


@pytest.fixture
def states(client):
    def states(consumer, stream):
        records = client.cut_ledger(SCOPE).records(consumer, StreamName(SCOPE, stream))
        return [record.state.value for record in records]

    return states


@pytest.fixture
def read(api):
    """Starts a run, waits for its end, and returns what its task has read."""

    def read(dag_id, task_id="read", **fields):
        run_id = api.trigger(dag_id, **fields)
        api.wait_for_run(dag_id, run_id)
        return api.result(dag_id, run_id, task_id)

    return read


def test_two_dags_of_one_consumer_and_date_share_no_events(airflow, write, states, read):
    write("shared", "a")
    assert read("whose_one", logical_date=DATE) == ["a"]
    write("shared", "b")

    said = airflow.run("tasks", "test", "whose_one", "wait", "2026-01-03")

    assert "a test of a task records nothing" in re.sub(r"\s+", " ", said)
    assert states("whose", "shared") == ["done"]
    assert read("whose_two", logical_date=DATE) == ["b"]
    assert states("whose", "shared") == ["done", "done"]


def test_a_list_that_grows_at_its_front_begins_no_stream_again(api, client, write, read):
    def mapped(*names):
        return read("whose_mapped", "read_all", conf={"streams": [f"{SCOPE}/{name}" for name in names]})

    for stream in ("m1", "m2", "m3"):
        write(stream, f"old {stream}")
    former, ledger = (
        Interval("whose_mapped/wait/7", StreamName(SCOPE, "m3"), "of an older release"),
        client.cut_ledger(SCOPE),
    )
    ledger.create()
    ledger.record(former, StreamCutRange(client.head(former.stream), client.tail(former.stream)), None)
    ledger.finish(former)

    assert mapped("m1", "m2") == ["old m1", "old m2"]
    for stream in ("m0", "m1", "m2", "m3"):
        write(stream, f"new {stream}")
    assert mapped("m0", "m1", "m2", "m3") == ["new m0", "new m1", "new m2", "new m3"]

    write("m1", "newer m1")
    twice = api.trigger("whose_mapped", conf={"streams": [f"{SCOPE}/m1"] * 2})
    api.wait_for_run("whose_mapped", twice, "failed")
    assert api.request("GET", f"dags/whose_mapped/dagRuns/{twice}/taskInstances/wait/listMapped")["total_entries"] == 2


@pytest.mark.skipif(not KEYS, reason="partition keys have come with Airflow 3.2")
def test_a_partition_key_that_comes_again_gets_new_events(write, read):
    write("partition", "first")
    assert read("whose_partition", partition_key="eu") == ["first"]
    write("partition", "second")
    assert read("whose_partition", partition_key="eu") == ["second"]


def test_a_cleared_run_reads_the_stream_that_its_setup_makes_again(api, client, read):
    client.create_scope(SCOPE)
    assert read("whose_again") == ["again"]
    [run_id] = api.runs("whose_again")
    api.clear("whose_again", run_id)
    api.wait(lambda: api.task("whose_again", run_id, "drop")["try_number"] == 2, "the run runs again")
    api.wait_for_run("whose_again", run_id)
    assert api.result("whose_again", run_id, "read") == ["again"]


def test_a_timeout_is_a_failure_and_what_was_marked_or_deleted_is_over(api, client, write, states):
    def started(dag_id):
        run_id = api.trigger(dag_id, conf={"seconds": 600})
        api.wait_for_task(dag_id, run_id, "read", "running")
        return run_id

    def events(dag_id, run_id):
        api.wait_for_run(dag_id, run_id)
        return api.result(dag_id, run_id, "read")["events"]

    def mark(run_id, state):
        api.request("PATCH", f"dags/whose_slow/dagRuns/{run_id}", json={"state": state})

    write("timed", "late")
    write("slow", "marked")
    marked = started("whose_slow")
    api.wait_for_run("whose_timed", started("whose_timed"), "failed")
    [late] = client.cut_ledger(SCOPE).records("whose_timed/wait", StreamName(SCOPE, "timed"))
    assert late.state is IntervalState.FAILED
    assert "AirflowTaskTimeout" in late.reason
    assert events("whose_timed", api.trigger("whose_timed")) == ["late"]  # taken over at once

    write("slow", "after it")
    waits = api.trigger("whose_slow")
    api.wait(lambda: "waiting for interval" in api.log("whose_slow", waits, "wait"), "the wait is explained")
    path = f"dags/whose_slow/dagRuns/{waits}/taskInstances/wait/xcomEntries/waits_for"
    assert "pravega cuts skip" in api.request("GET", path, params={"deserialize": False})["value"]
    mark(marked, "success")
    assert events("whose_slow", waits) == ["after it"]
    assert states("whose_slow/wait", "slow") == ["done", "done"]

    write("slow", "deleted")
    deleted = started("whose_slow")
    mark(deleted, "failed")
    api.delete_run("whose_slow", deleted)
    write("slow", "next")
    assert events("whose_slow", api.trigger("whose_slow")) == ["deleted", "next"]


def test_a_deferred_sensor_keeps_its_execution_timeout(api, write):
    write("empty", "to make the stream")
    run_id = api.trigger("whose_timeout")
    api.wait_for_run("whose_timeout", run_id)
    late = api.trigger("whose_timeout")
    api.wait_for_run("whose_timeout", late, "failed")
    assert "AirflowTaskTimeout" in api.log("whose_timeout", late, "wait")


def test_a_range_with_two_readers_is_done_when_both_are(api, write, states):
    write("readers", "a")
    half = api.trigger("whose_readers", conf={"fails": ["right"]})
    api.wait_for_run("whose_readers", half, "failed")
    assert states("whose_readers/wait", "readers") == ["failed"]
    write("readers", "b")
    refused = api.trigger("whose_readers")
    api.wait_for_run("whose_readers", refused, "failed")
    assert "is processed in part" in re.sub(r"\s+", " ", api.log("whose_readers", refused, "wait"))

    api.clear("whose_readers", half, "right")
    api.wait_for_run("whose_readers", half)
    assert states("whose_readers/wait", "readers") == ["done"]
    api.clear("whose_readers", refused)
    api.wait(lambda: api.run_state("whose_readers", refused) == "success", "the refused run has its range")
    for task_id in ("left", "right"):
        assert api.result("whose_readers", refused, task_id)["events"] == ["b"]
    assert states("whose_readers/wait", "readers") == ["done", "done"]


def test_a_range_that_no_task_finishes_is_done_when_its_run_succeeds(write, states, read):
    write("plain", "first")
    assert read("whose_plain", "plain") == ["first"]
    assert states("whose_plain/wait", "plain") == ["open"]
    write("plain", "second")
    assert read("whose_plain", "plain") == ["second"]
    assert states("whose_plain/wait", "plain") == ["done", "open"]


def test_a_kill_after_the_work_gives_the_next_try_the_same_range(write, states, read):
    write("killed", "first")
    assert read("whose_killed", "killed") == {"events": ["first"], "try": 2}
    write("killed", "second")
    assert read("whose_killed", "killed") == {"events": ["second"], "try": 1}
    assert states("whose_killed/wait", "killed") == ["done", "done"]
