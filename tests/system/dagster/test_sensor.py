"""The daemon is killed right after it took a range: the range becomes one partition, one run, and is copied once."""

from itertools import pairwise

import pytest
from tests.faults.process import wait_until
from tests.system.dagster.components import DAEMON

from aiopravega import StreamName

pytestmark = pytest.mark.xdist_group("dagster_processes")

STREAM = StreamName("dagster-sensor", "rides")


def test_a_killed_daemon_loses_and_doubles_nothing(dagster, client, make_streams, contents, records):
    write = make_streams(STREAM.scope, "rides", "copies")
    graphql = dagster.graphql

    written = [f"ride {number}" for number in range(10)]
    write(*written)
    graphql.start_sensor("streams", "dagster_sensor_ranges")
    wait_until(lambda: records(STREAM), lambda: "a range is taken")
    dagster.kill(DAEMON)
    later = [f"later ride {number}" for number in range(10)]
    write(*later)
    dagster.start(DAEMON)
    graphql.wait(lambda: contents(STREAM.scope, "copies") == sorted(written + later), "all rides are copied")

    graphql.wait(lambda: {each.state.value for each in records(STREAM)} == {"done"}, "all ranges are done")
    taken = records(STREAM)
    assert all(last.range.end == following.range.start for last, following in pairwise(taken))
    assert taken[-1].range.end == client.tail(f"{STREAM.scope}/rides")
    ours = [{"key": "pravega/stream", "value": str(STREAM)}]
    graphql.wait(lambda: len(graphql.runs(statuses=["SUCCESS"], tags=ours)) == len(taken), "the runs have ended")
    runs = graphql.runs(tags=ours)
    assert sorted(run["tags"]["dagster/partition"] for run in runs) == [each.interval for each in taken]
    events = graphql.materializations("dagster_sensor", "copies")
    assert {each["partition"]: each["metadata"]["pravega/events"] for each in events} == {
        each.interval: 10 for each in taken
    }
    assert contents(STREAM.scope, "copies") == sorted(written + later)
    assert "fork" not in dagster.said("streams")
