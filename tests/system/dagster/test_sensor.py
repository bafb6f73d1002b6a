"""The daemon is killed right after it took a range: the range becomes one partition, one run, and is copied once."""

from itertools import pairwise

import pytest
from tests.faults.process import wait_until
from tests.system.dagster.components import DAEMON

from aiopravega import StreamName
from aiopravega.errors import TableNotFoundError

# Beside the tests that have a Spark of their own, a third one at a time would be too much for a small machine.
pytestmark = pytest.mark.xdist_group("dagster_pravega")

STREAM = StreamName("dagster-sensor", "rides")


def test_a_killed_daemon_loses_and_doubles_nothing(dagster, client, make_streams, contents):
    write = make_streams(STREAM.scope, "rides", "copies")
    graphql = dagster.graphql

    def records():
        try:
            return client.cut_ledger(STREAM.scope).records("copies", STREAM)
        except TableNotFoundError:
            return []

    written = [f"ride {number}" for number in range(10)]
    write(*written)
    graphql.start_sensor("streams", "dagster_sensor_ranges")
    wait_until(records, lambda: "a range is taken")
    dagster.kill(DAEMON)
    later = [f"later ride {number}" for number in range(10)]
    write(*later)
    dagster.start(DAEMON)
    graphql.wait(lambda: contents(STREAM.scope, "copies") == sorted(written + later), "all rides are copied")

    graphql.wait(lambda: {each.state.value for each in records()} == {"done"}, "all ranges are done")
    taken = records()
    assert all(last.range.end == following.range.start for last, following in pairwise(taken))
    assert taken[-1].range.end == client.tail(STREAM.scope, "rides")
    graphql.wait(lambda: len(graphql.runs(statuses=["SUCCESS"])) == len(taken), "the runs have ended")
    runs = graphql.runs()
    assert sorted(run["tags"]["dagster/partition"] for run in runs) == [each.interval for each in taken]
    events = graphql.materializations("dagster_sensor", "copies")
    assert {each["partition"]: each["metadata"]["pravega/events"] for each in events} == {
        each.interval: 10 for each in taken
    }
    assert contents(STREAM.scope, "copies") == sorted(written + later)
