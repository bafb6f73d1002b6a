"""Days, halves of days, ranges of a plan: asked for by sensors and backfills, claimed and written again by will."""

import json
from pathlib import Path

import pytest
from tests.integration.dagster_pravega.days import HOURS, at, key, write_days
from tests.system.dagster.components import Components

from aiopravega import ScalingPolicy, StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("dagster_processes")]

SCOPE = "dagster-partitioned"
LOCATION = "partitioned"
# The sensors begin with the day before the first watermark.
COMPLETE = ["2012-12-31", *map(key, (1, 2, 3))]


@pytest.fixture(scope="module")
def dagster(pravega_config, tmp_path_factory):
    """Dagster's processes, with partitions of all kinds."""
    locations = {LOCATION: Path(__file__).with_name("partitioned.py")}
    environment = {"PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri}
    with Components(tmp_path_factory.mktemp("dagster"), locations, environment) as components:
        yield components


@pytest.fixture
def scope(client):
    client.create_scope(SCOPE)
    return SCOPE


@pytest.fixture
def make_sink(client, scope):
    def make(*names):
        for name in names:
            assert client.create_stream(f"{scope}/{name}", ScalingPolicy.fixed(1))

    return make


def row(time):
    return f'{{"at":{time}}}'


def test_complete_days_and_halves_are_requested_and_can_be_claimed_again(dagster, client, scope, make_sink, contents):
    make_sink("days", "halves")
    timed = write_days(client, scope)
    graphql = dagster.graphql
    on_time = sorted(row(at(day, hour)) for day in (1, 2, 3) for hour in HOURS)

    def partitions_of(asset):
        return sorted(event["partition"] for event in graphql.materializations(asset))

    def newest(asset):
        return graphql.materializations(asset)[0]["metadata"]

    for asset in ("days", "halves"):
        graphql.start_sensor(LOCATION, f"complete_{asset}")
    graphql.wait(lambda: len(partitions_of("days")) >= len(COMPLETE), "all days are materialized")
    graphql.wait(lambda: len(partitions_of("halves")) >= 2 * len(COMPLETE), "all halves are materialized")
    assert partitions_of("days") == COMPLETE
    assert partitions_of("halves") == [f"{day}|{half}" for day in COMPLETE for half in ("am", "pm")]
    assert contents(scope, "days") == contents(scope, "halves") == on_time
    by_partition = {event["partition"]: event["metadata"] for event in graphql.materializations("halves")}
    assert by_partition[f"{key(2)}|pm"]["pravega/consumer"] == "dagster/halves half=pm"
    assert by_partition[f"{key(2)}|pm"]["dagster/partition_row_count"] == 2

    def late(hour):
        with client.writer(timed) as writer:
            writer.write(json.dumps({"at": at(2, hour)}).encode())
        return [row(at(2, each)) for each in (*HOURS, *range(7, hour + 1))]

    expected = on_time + late(7)
    tags = {"pravega/claim": "2", "pravega/rebuild": "2"}
    graphql.wait_for_backfill(graphql.backfill([key(2)], "days", tags=tags))
    assert contents(scope, "days") == sorted(expected)
    assert newest("days")["pravega/claim"] == newest("days")["pravega/generation"] == 2
    expected += late(8)
    config = {"ops": {"days": {"inputs": {"timed": {"claim": 3}}, "outputs": {"result": {"rebuild": 3}}}}}
    run = graphql.launch(LOCATION, "__ASSET_JOB", config, assets=["days"], tags={"dagster/partition": key(2)})
    graphql.wait_for_run(run)
    assert contents(scope, "days") == sorted(expected)
    assert newest("days")["pravega/claim"] == newest("days")["pravega/generation"] == 3
    graphql.wait_for_backfill(graphql.backfill([key(3)], "days"))
    assert contents(scope, "days") == sorted(expected)

    [counted] = graphql.wait_for_backfill(graphql.backfill(list(map(key, (1, 2, 3))), "counts_of_days"))
    events = graphql.materializations("counts_of_days")
    assert {event["runId"] for event in events} == {counted["runId"]}
    assert {event["partition"]: event["metadata"]["pravega/events_of_run"] for event in events} == dict.fromkeys(
        map(key, (1, 2, 3)), len(on_time)
    )

    [refused] = graphql.wait_for_backfill(graphql.backfill(["north"], "regions"), "COMPLETED_FAILED")
    assert any(
        "partition 'north' (StaticPartitionsDefinition) does not say which part of" in message
        for message in graphql.messages(refused["runId"])
    )


def test_a_job_plans_a_range_and_the_page_backfills_its_partitions(dagster, client, scope, make_sink, contents):
    make_sink("rides", "copies")
    stream = StreamName(scope, "rides")
    graphql = dagster.graphql
    written = [f"ride {number:02}" for number in range(40)]

    def write(*events):
        with client.writer(f"{scope}/rides") as writer:
            writer.write_many([event.encode() for event in events])

    write("before")
    start = client.tail(f"{scope}/rides").to_text()
    write(*written)
    end = client.tail(f"{scope}/rides").to_text()
    write("after")

    config = {"ops": {"plan_history": {"config": {"start": start, "end": end, "parts": 3}}}}
    graphql.wait_for_run(graphql.launch(LOCATION, "plan_history", config))
    keys = graphql.partitions("copies")
    assert keys == [f"{number} of 3" for number in (1, 2, 3)]
    assert len(graphql.wait_for_backfill(graphql.backfill(keys[1:], "copies"))) == 2
    graphql.wait_for_backfill(graphql.backfill(keys[:1], "copies"))
    assert contents(scope, "copies") == written
    records = client.cut_ledger(scope).records("history", stream)
    assert [(record.interval, record.is_done) for record in records] == [(each, True) for each in keys]


def test_a_day_depends_on_the_ranges_with_events_of_its_times(pravega_config, tmp_path, client):
    client.create_scope("dagster-event-ranges")
    timed = write_days(client, "dagster-event-ranges")

    def note(day):
        client.note_time(timed, "writer", at(day))
        next(mark for mark in client.watermarks(timed, follow=True) if mark.lower == at(day))

    note(5)
    environment = {"PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri}
    locations = {"ranges": Path(__file__).with_name("event_ranges.py")}
    with Components(tmp_path, locations, environment) as dagster:
        graphql = dagster.graphql

        def wait_for_ranges(count):
            graphql.wait(lambda: len(graphql.materializations("counts")) == count, f"{count} ranges are counted")
            return graphql.partitions("counts")

        def ranges_of(day):
            [run] = graphql.wait_for_backfill(graphql.backfill([key(day)], "report"))
            assert run["status"] == "SUCCESS"
            return json.loads(graphql.materializations("report")[0]["metadata"]["names"])

        graphql.start_sensor("ranges", "cuts")
        [first] = wait_for_ranges(1)
        assert first.endswith(" @ 2013-01-01T00:00:00+00:00/2013-01-05T00:00:00.001000+00:00")
        note(6)
        with client.writer(timed) as writer:
            writer.write(json.dumps({"at": at(6, 1)}).encode())
        for day in (7, 8):
            note(day)
        _, second = wait_for_ranges(2)
        assert " @ 2013-01-06T00:00:00+00:00/" in second
        assert ranges_of(2) == [first]
        assert ranges_of(6) == [second]

        both = graphql.backfill_of({("counts",): [first, second], ("report",): [key(3), key(7)]})
        runs = graphql.wait_for_backfill(both)
        assert {run["status"] for run in runs} == {"SUCCESS"}
        ended = [run["assets"] for run in reversed(runs)]
        assert ended == [["counts"], ["counts"], ["report"], ["report"]], "the ranges come before the days"
        newest = graphql.materializations("report")[:2]
        assert {each["partition"]: json.loads(each["metadata"]["names"]) for each in newest} == {
            key(3): [first],
            key(7): [second],
        }
