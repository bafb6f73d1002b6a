"""Runs that meet, on Dagster's processes: each reads, judges and finishes what is its own, whatever others do."""

from pathlib import Path

import pytest
from tests.system.dagster.components import Components

from aiopravega import ScalingPolicy, StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("dagster_processes")]

SCOPE = "dagster-identities"
LOCATION = "identities"


@pytest.fixture(scope="module")
def dagster(pravega_config, tmp_path_factory):
    """Dagster's processes, with assets that share streams."""
    locations = {LOCATION: Path(__file__).with_name("identities.py")}
    environment = {"PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri}
    with Components(tmp_path_factory.mktemp("dagster"), locations, environment) as components:
        yield components


@pytest.fixture(autouse=True)
def streams(client):
    """All streams but `right`, which one test makes late."""
    client.create_scope(SCOPE)
    for name in ("source", "days", "parted", "left", "copies"):
        client.create_stream(f"{SCOPE}/{name}", ScalingPolicy.fixed(1))


@pytest.fixture
def failing(dagster):
    """Lets something fail until it is to work again."""

    def failing(what, *, now=True):
        file = dagster.home / f"fail {what}"
        if now:
            file.touch()
        else:
            file.unlink()

    return failing


@pytest.fixture
def run(dagster):
    """Launches assets, and waits for the end of the run; its id."""

    def run(*assets, rows="", partition=None, status="SUCCESS"):
        tags = {"rows": rows, **({} if partition is None else {"dagster/partition": partition})}
        run_id = dagster.graphql.launch(LOCATION, "__ASSET_JOB", {}, assets=assets, tags=tags)
        dagster.graphql.wait_for_run(run_id, status)
        return run_id

    return run


@pytest.fixture
def again(dagster):
    def again(run_id, status="SUCCESS"):
        new = dagster.graphql.execute_again(run_id)
        dagster.graphql.wait_for_run(new, status)
        return new

    return again


@pytest.fixture
def said(dagster):
    return lambda run_id: " ".join(dagster.graphql.messages(run_id))


@pytest.fixture
def append(client):
    """Writes events to the source."""

    def append(*events):
        with client.writer(f"{SCOPE}/source") as writer:
            writer.write_many([event.encode() for event in events])

    return append


@pytest.fixture
def reads(dagster):
    """What the materializations of an asset say that they have read, the newest first."""
    return lambda asset: [each["metadata"]["read"] for each in dagster.graphql.materializations(asset)]


def test_a_run_reads_what_it_wrote_itself(run, again, failing, reads):
    failing("report")
    first = run("days", "report", rows="a b", status="FAILURE")
    failing("report", now=False)
    run("days", "report", rows="c")
    again(first)
    assert reads("report") == ["a b", "c"]


def test_a_check_judges_the_partition_of_its_run(dagster, run, again):
    bad = run("parted", "after", rows="a", partition="bad", status="FAILURE")
    run("parted", rows="b c", partition="good")
    again(bad, "FAILURE")
    assert dagster.graphql.materializations("after") == []


def test_a_retry_takes_no_write_of_another_run_for_its_own(run, failing, said):
    run("parted", rows="b c", partition="good")
    failing("first try")
    run_id = run("parted", rows="x y z", partition="good", status="FAILURE")
    failing("first try", now=False)
    assert "WriteIdReusedError" in said(run_id)


def test_an_interval_is_done_when_all_outputs_are(client, run, again, failing, append, said, contents):
    append("a", "b")
    failing("between the outputs")
    broken = run("left", "right", status="FAILURE")
    failing("between the outputs", now=False)
    append("c")
    refused = said(run("left", "right", status="FAILURE"))
    assert "sides.left" in refused
    assert "is processed in part" in refused
    assert "Re-execute the run in Dagster" in refused
    again(broken, "FAILURE")  # the stream is not there
    client.create_stream(f"{SCOPE}/right", ScalingPolicy.fixed(1))
    again(broken)
    run("left", "right")
    assert contents(SCOPE, "left") == contents(SCOPE, "right")
    assert len(contents(SCOPE, "left")) == len(set(contents(SCOPE, "left")))
    assert {"a", "b", "c"} <= set(contents(SCOPE, "right"))


def test_neither_a_selection_nor_a_neighbour_takes_ranges_away(client, run, append, reads):
    append("one of a selection")
    written = client.distance(client.head(f"{SCOPE}/source"), client.tail(f"{SCOPE}/source"))
    assert written
    run("one")
    run("one", "two")
    run("two")
    assert reads("one")[0] == 0
    assert reads("two") == [0, 0]
    run("graph_a", "graph_b")
    assert reads("graph_a") == reads("graph_b") == [reads("one")[-1]]
    records = client.cut_ledger(SCOPE).records("dagster/graph_a/extract_graph_a.events", StreamName(SCOPE, "source"))
    assert [record.state.value for record in records] == ["done"]


def test_a_run_that_is_killed_after_its_write_doubles_nothing(run, failing, append, contents):
    append("before the death")
    failing("after the write")
    run("copies", status="FAILURE")
    failing("after the write", now=False)
    append("after the death")
    run("copies")
    assert contents(SCOPE, "copies") == contents(SCOPE, "source")


def test_a_second_sensor_of_a_consumer_is_refused(dagster, append, reads):
    graphql = dagster.graphql
    append("of the sensors")
    graphql.start_sensor(LOCATION, "first_ranges")
    graphql.wait(lambda: reads("first"), "the first sensor has a range")
    graphql.start_sensor(LOCATION, "second_ranges")

    def refusals():
        ticks = graphql.ticks(LOCATION, "second_ranges")
        errors = [each["error"] for each in ticks if each["error"]]
        return [text for error in errors for text in (error["message"], *(one["message"] for one in error["causes"]))]

    graphql.wait(refusals, "the second sensor is refused")
    assert any("sensor 'first_ranges' claims the ranges of" in text for text in refusals())
