"""A run is killed in its step, or its JVM alone, and executed again; a stream is made again, and the sensor says so."""

import os
import signal
from contextlib import suppress

import psutil
import pytest

from aiopravega import ScalingPolicy, StreamCutRange, StreamName
from aiopravega.ledger import Interval

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("dagster_processes")]

STREAM = StreamName("dagster-again", "rides")
SENSOR = ("streams", "dagster_again_ranges")


def test_a_killed_run_is_executed_again_and_a_recreated_stream_noticed(
    dagster, client, make_streams, contents, records
):
    write = make_streams(STREAM.scope, "rides", "copies")
    graphql = dagster.graphql
    gate = dagster.home / "gate"
    ours = [{"key": "pravega/stream", "value": str(STREAM)}]
    written = [f"ride {number}" for number in range(10)]

    gate.touch()
    write(*written)
    before = set(dagster.pids("streams"))
    graphql.start_sensor(*SENSOR)
    graphql.wait((dagster.home / "waiting").exists, "the asset is at work")
    [run] = graphql.runs(tags=ours)
    for pid in set(dagster.pids("streams")) - before:
        with suppress(ProcessLookupError):  # one of them ends with another
            os.kill(pid, signal.SIGKILL)
    graphql.wait_for_run(run["runId"], "FAILURE")
    gate.unlink()
    assert contents(STREAM.scope, "copies") == []
    again = graphql.execute_again(run["runId"], "ALL_STEPS")
    graphql.wait_for_run(again)
    assert contents(STREAM.scope, "copies") == sorted(written)
    assert [record.state.value for record in records(STREAM)] == ["done"]

    assert client.delete_stream(f"{STREAM.scope}/rides")
    assert client.create_stream(f"{STREAM.scope}/rides", ScalingPolicy.fixed(2))
    write("a new ride")

    def refused():
        return [tick for tick in graphql.ticks(*SENSOR) if tick["status"] == "FAILURE"]

    graphql.wait(refused, "a tick has failed")
    causes = [cause["message"] for cause in refused()[0]["error"]["causes"]]
    assert any(f"stream {STREAM} was deleted and made again on" in cause for cause in causes), causes
    assert contents(STREAM.scope, "copies") == sorted(written)
    client.cut_ledger(STREAM.scope).forget("copies", STREAM)
    graphql.wait(lambda: contents(STREAM.scope, "copies") == sorted([*written, "a new ride"]), "it is copied")


def test_a_step_with_a_killed_jvm_is_retried_in_a_new_jvm_writing_once(
    dagster, client, make_streams, contents, records
):
    stream = StreamName("dagster-jvm", "rides")
    write = make_streams(stream.scope, "rides", "spark-copies")
    graphql = dagster.graphql
    gate, waiting = dagster.home / "gate", dagster.home / "waiting"
    written = [f"ride {number}" for number in range(10)]
    start = client.tail(f"{stream.scope}/rides")
    write(*written)
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    ledger.claim(Interval("copies", stream, "first"), StreamCutRange(start, client.tail(f"{stream.scope}/rides")))
    write("a ride after the range")
    graphql.add_partition("streams", f"pravega {stream} copies", "first")

    waiting.unlink(missing_ok=True)
    gate.touch()
    before = set(dagster.pids("streams"))
    backfill = graphql.backfill(["first"], "dagster_jvm", "spark_copies")
    graphql.wait(waiting.exists, "the asset is at work")
    started = map(psutil.Process, set(dagster.pids("streams")) - before)
    [jvm] = [process for process in started if process.name() == "java"]
    jvm.kill()
    gate.unlink()
    [run] = graphql.wait_for_backfill(backfill)

    kinds = [message.partition(":")[0] for message in graphql.messages(run["runId"])]
    assert kinds.count("ExecutionStepUpForRetryEvent") == 1, kinds
    assert contents(stream.scope, "spark-copies") == sorted(written)
    [event] = graphql.materializations("dagster_jvm", "spark_copies")
    assert event["metadata"]["pravega/events"] == 10
    assert [record.state.value for record in records(stream)] == ["done"]
