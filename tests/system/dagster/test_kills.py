"""A run is killed in its step and executed again; the stream is made again, and the sensor says what to do."""

import os
import signal
from contextlib import suppress

import pytest

from aiopravega import ScalingPolicy, StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("dagster_processes")]

STREAM = StreamName("dagster-again", "rides")
SENSOR = ("streams", "dagster_again_ranges")


def test_a_killed_run_is_executed_again_and_a_stream_that_was_made_again_is_noticed(
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

    assert client.delete_stream(STREAM.scope, "rides")
    assert client.create_stream(STREAM.scope, "rides", ScalingPolicy.fixed(2))
    write("a new ride")

    def refused():
        return [tick for tick in graphql.ticks(*SENSOR) if tick["status"] == "FAILURE"]

    graphql.wait(refused, "a tick has failed")
    causes = [cause["message"] for cause in refused()[0]["error"]["causes"]]
    assert any(f"stream {STREAM} was deleted and made again on" in cause for cause in causes), causes
    assert contents(STREAM.scope, "copies") == sorted(written)
    client.cut_ledger(STREAM.scope).forget("copies", STREAM)
    graphql.wait(lambda: contents(STREAM.scope, "copies") == sorted([*written, "a new ride"]), "it is copied")
