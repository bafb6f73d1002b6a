"""Dagster materializes assets when streams have something new, or enough of it: each event is read once."""

import json
import os
import signal
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from tests.integration.dagster_pravega.days import at, key, write_days
from tests.system.dagster.components import DAEMON, Components
from tests.system.dagster.watched_streams import MANY

from aiopravega import StreamName
from aiopravega.bounded import each

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("dagster_processes")]

STREAM = StreamName("dagster-observed", "rides")
SENSOR = ("observed", "automation")
CONSUMER = "dagster/copies"


@pytest.fixture
def dagster(pravega_config, tmp_path):
    """Dagster's processes, with the observed stream."""
    environment = {"PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri}
    with Components(tmp_path, {"observed": Path(__file__).with_name("observed.py")}, environment) as components:
        yield components


def test_observations_start_runs_that_read_each_event_once(dagster, client, make_streams, contents):
    write = make_streams(STREAM.scope, "rides", "copies")
    graphql = dagster.graphql
    gate = dagster.home / "gate"
    written: list[str] = []

    def append(name):
        events = [f"{name} {number}" for number in range(10)]
        written.extend(events)
        write(*events)

    def runs_of(asset, **filters):
        return [run for run in graphql.runs(**filters) if run["assets"] == [asset]]

    def wait_for_copies():
        graphql.wait(lambda: contents(STREAM.scope, "copies") == sorted(written), "all rides are copied")

    append("first")
    graphql.start_sensor(*SENSOR)
    wait_for_copies()
    graphql.wait(lambda: runs_of("copies", statuses=["SUCCESS"]), "the run has ended")
    before, looks = len(runs_of("copies")), len(runs_of("rides", statuses=["SUCCESS"]))
    graphql.wait(lambda: len(runs_of("rides", statuses=["SUCCESS"])) >= looks + 2, "it was observed again")
    assert len(runs_of("copies")) == before, "nothing new, and yet a run"

    dagster.kill(DAEMON)
    append("second")
    dagster.start(DAEMON)
    wait_for_copies()

    gate.touch()
    known = {run["runId"] for run in graphql.runs()}
    processes = set(dagster.pids("observed"))
    append("third")
    graphql.wait((dagster.home / "waiting").exists, "the asset is at work")
    [killed] = [run for run in runs_of("copies") if run["runId"] not in known]
    for pid in set(dagster.pids("observed")) - processes:
        with suppress(ProcessLookupError):  # one of them ends with another
            os.kill(pid, signal.SIGKILL)
    graphql.wait_for_run(killed["runId"], "FAILURE")
    gate.unlink()
    append("fourth")
    wait_for_copies()

    graphql.wait(lambda: not runs_of("copies", statuses=["STARTED"]), "the last run has ended")
    records = client.cut_ledger(STREAM.scope).records(CONSUMER, STREAM)
    taken = [record for record in records if record.state.value != "given back"]
    assert {record.state.value for record in taken} == {"done"}, records
    assert all(last.range.end == following.range.start for last, following in pairwise(taken))
    assert taken[-1].range.end == client.tail(f"{STREAM.scope}/rides")
    assert contents(STREAM.scope, "copies") == sorted(written)


def test_a_daemon_runs_an_asset_when_enough_bytes_wait(pravega_config, tmp_path, make_streams, contents):
    write = make_streams("dagster-waiting", "rides", "copies")
    environment = {"PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri}
    locations = {"waiting": Path(__file__).with_name("waiting.py")}
    with Components(tmp_path, locations, environment) as dagster:
        graphql, sensor = dagster.graphql, ("waiting", "pravega_automation")
        write("one ride")
        graphql.start_sensor(*sensor)
        graphql.wait(lambda: len(graphql.ticks(*sensor)) > 1, "the sensor has looked twice")
        assert graphql.runs() == [], "less than the limit waits, and yet a run"
        rides = sorted(["one ride", *(f"ride {number}" for number in range(20))])
        write(*rides[1:])
        graphql.wait(lambda: contents("dagster-waiting", "copies") == rides, "all rides are copied")
        [run] = graphql.runs()
        graphql.wait_for_run(run["runId"], "SUCCESS")
        ticks = len(graphql.ticks(*sensor))
        graphql.wait(lambda: len(graphql.ticks(*sensor)) > ticks + 1, "the sensor has looked again")
        assert len(graphql.runs()) == 1, "nothing waits, and yet a run"
        away = [tick for tick in graphql.ticks(*sensor) if tick["status"] == "FAILURE"]
        assert away == []


def test_a_daemon_runs_complete_days_and_again_those_with_late_events(pravega_config, tmp_path, client):
    assert client.create_scope("dagster-late")
    timed = write_days(client, "dagster-late")
    assert client.create_stream("dagster-late/copies")
    environment = {"PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri}
    locations = {"late_days": Path(__file__).with_name("late_days.py")}

    def generations(number):
        written = client.written("dagster-late/copies", f"dagster/day/partition {key(number)}")
        return [record.total_events for record in written]

    with Components(tmp_path, locations, environment) as dagster:
        graphql = dagster.graphql
        graphql.start_sensor("late_days", "pravega_automation")
        graphql.wait(lambda: len(graphql.runs(statuses=["SUCCESS"])) == 4, "the complete days are done")
        with client.writer(timed) as writer:
            writer.write_many([json.dumps({"at": at(2, hour)}).encode() for hour in (7, 8)])
        graphql.start_sensor("late_days", "search")
        graphql.wait(lambda: len(graphql.runs(statuses=["SUCCESS"])) == 5, "the day with late events ran again")
        ticks = len(graphql.ticks("late_days", "pravega_automation"))
        graphql.wait(
            lambda: len(graphql.ticks("late_days", "pravega_automation")) > ticks + 1, "the sensor has looked again"
        )
        assert len(graphql.runs()) == 5, "a day ran again that has no late events any more"
    assert [generations(number) for number in (1, 2, 3)] == [[4], [4, 6], [4]]


def test_one_sensor_keeps_five_hundred_streams_fresh(pravega_config, tmp_path, client):
    client.create_scope("dagster-many")
    names = [StreamName("dagster-many", f"stream-{number}") for number in range(MANY)]
    client.run(each(client.asynchronous.create_stream, names, 32))
    environment = {"PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri, "FRESHNESS_DAEMON_INTERVAL_SECONDS": "5"}
    locations = {"watched": Path(__file__).with_name("watched_streams.py")}
    with Components(tmp_path, locations, environment) as dagster:
        graphql, sensor = dagster.graphql, ("watched", "observation")

        def seen(number):
            return len(graphql.materializations(f"stream_{number}"))

        graphql.start_sensor(*sensor)
        graphql.start_sensor("watched", "default_automation_condition_sensor")
        graphql.wait(lambda: seen(MANY - 1) == 1, "the last stream is reported")
        graphql.wait(lambda: graphql.freshness("stream_7") == "HEALTHY", "its policy holds")
        ticks = len(graphql.ticks(*sensor))
        graphql.wait(lambda: len(graphql.ticks(*sensor)) > ticks + 2, "the sensor has looked again")
        graphql.wait(lambda: graphql.runs(statuses=["SUCCESS"]), "the follower has run")
        runs = len(graphql.runs())
        with client.writer(names[7]) as writer:
            writer.write(b"one")
        graphql.wait(lambda: len(graphql.runs(statuses=["SUCCESS"])) > runs, "the follower has run again")
        assert [seen(number) for number in (6, 7, 8)] == [1, 2, 1], "a stream that stands was reported"
        newest = graphql.materializations("stream_7")[0]["metadata"]
        assert newest["pravega/new_bytes"] == 11
        assert {tick["status"] for tick in graphql.ticks(*sensor)} <= {"SUCCESS", "SKIPPED", "STARTED"}
