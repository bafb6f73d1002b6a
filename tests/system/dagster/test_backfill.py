"""Partitions that were recorded elsewhere are backfilled as the page does it: one run each, or one run for all."""

import pytest

from aiopravega import StreamCutRange, StreamName
from aiopravega.ledger import Interval

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200), pytest.mark.xdist_group("dagster_processes")]

STREAM = StreamName("dagster-backfill", "rides")
COUNT = 24


@pytest.fixture
def partitions(dagster, client, make_streams):
    """The names of recorded ranges of five events each, which are partitions, too."""
    write = make_streams(STREAM.scope, "rides", "copies", "spark-copies")
    ledger = client.cut_ledger(STREAM.scope)
    ledger.create()
    tail = client.tail(f"{STREAM.scope}/rides")
    for number in range(COUNT):
        write(*(f"{number} {each}" for each in range(5)))
        start, tail = tail, client.tail(f"{STREAM.scope}/rides")
        ledger.claim(interval(number), StreamCutRange(start, tail))
    names = [interval(number).name for number in range(COUNT)]
    for name in names:
        dagster.graphql.add_partition("streams", f"pravega {STREAM} copies", name)
    return names


def interval(number):
    return Interval("copies", STREAM, f"range {number:02}")


def test_each_partition_is_copied_once_by_its_run_and_one_run_counts_all(
    dagster, partitions, contents, client, records
):
    graphql = dagster.graphql
    written = sorted(f"{number} {each}" for number in range(COUNT) for each in range(5))

    runs = graphql.wait_for_backfill(graphql.backfill(partitions, "dagster_backfill", "copies"))
    assert len(runs) == COUNT
    assert contents(STREAM.scope, "copies") == written
    again = graphql.wait_for_backfill(graphql.backfill(partitions[:2], "dagster_backfill", "copies"))
    assert len(again) == 2
    assert contents(STREAM.scope, "copies") == written
    assert {record.state.value for record in records(STREAM)} == {"done"}

    [run] = graphql.wait_for_backfill(graphql.backfill(partitions, "dagster_backfill", "counts"))
    events = graphql.materializations("dagster_backfill", "counts")
    assert sorted(event["partition"] for event in events) == partitions
    assert {event["runId"] for event in events} == {run["runId"]}
    assert {event["metadata"]["pravega/events_of_run"] for event in events} == {5 * COUNT}
    by_name = {record.interval: record for record in records(STREAM)}
    for event in events:
        record = by_name[event["partition"]]
        assert event["metadata"]["pravega/start"] == record.start
        assert event["metadata"]["pravega/bytes"] == client.distance(record.range.start, record.range.end)

    spark = graphql.wait_for_backfill(graphql.backfill(partitions[:2], "dagster_backfill", "spark_copies"))
    assert len(spark) == 2
    assert len(contents(STREAM.scope, "spark-copies")) == 10
