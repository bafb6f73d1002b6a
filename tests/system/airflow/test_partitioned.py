"""`airflow backfill create` makes hours; another DAG follows each of them, and a day runs when all are there."""

import json
import random
from datetime import UTC, datetime, timedelta

import airflow.sdk
import pytest

from aiopravega import ScalingPolicy, StreamName

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.xdist_group("airflow_processes"),
    pytest.mark.skipif(
        not hasattr(airflow.sdk, "CronPartitionTimetable"), reason="partitions have come with Airflow 3.2"
    ),
]

HOURLY, DAILY = "orders_by_hour", "orders_by_day"
STREAM = StreamName("system-partitioned", "orders")
DAY = datetime(2026, 1, 5, tzinfo=UTC)
HOURS = [DAY + timedelta(hours=number) for number in range(24)]
LAST = 2400  # the id of an order after the day
DAYS_OF_HOURS = hasattr(airflow.sdk, "RollupMapper")  # they have come with Airflow 3.3
FOLLOWED = StreamName("system-followed", "orders")


def test_another_dag_follows_each_hour_with_its_key_and_its_range(airflow, client):
    assert client.create_scope(FOLLOWED.scope)
    assert client.create_stream(FOLLOWED, timestamp_aggregation_timeout=timedelta(minutes=5))
    client.note_time(FOLLOWED, "shop", DAY)
    next(iter(client.watermarks(FOLLOWED, follow=True)))
    for number in range(3):
        with client.writer(FOLLOWED) as writer:
            writer.write(f"order {number}".encode())
        client.note_time(FOLLOWED, "shop", HOURS[number + 1])
        next(iter(client.watermarks(FOLLOWED, since=HOURS[number + 1], follow=True)))

    api = airflow.api
    api.unpause("hours_taken", "hours_followed")
    # Before Airflow 3.3, these are the dates of runs: an hour runs when it ends.
    first, last = (HOURS[0], HOURS[2]) if DAYS_OF_HOURS else (HOURS[1], HOURS[3])
    dates = ["--from-date", first.isoformat(), "--to-date", last.isoformat()]
    airflow.run("backfill", "create", "--dag-id", "hours_taken", *dates)

    def done(dag_id):
        return {run["partition_key"]: run["dag_run_id"] for run in api.all_runs(dag_id) if run["state"] == "success"}

    keys = [f"2026-01-05T0{number}:00:00" for number in range(3)]
    for dag_id in ("hours_taken", "hours_followed"):
        api.wait(lambda dag_id=dag_id: len(done(dag_id)) == 3, f"the hours of {dag_id} are done")
        assert sorted(done(dag_id)) == keys
    for number, key in enumerate(keys):
        cuts = api.result("hours_followed", done("hours_followed")[key], "range_of_hour")
        assert (cuts["since"], cuts["until"]) == (HOURS[number].isoformat(), HOURS[number + 1].isoformat())
        taken = api.result("hours_taken", done("hours_taken")[key], "take")
        assert f"order {number}" in taken
        assert api.result("hours_followed", done("hours_followed")[key], "read") == taken


@pytest.mark.skipif(not DAYS_OF_HOURS, reason="days of hours have come with Airflow 3.3")
def test_a_day_runs_when_all_hours_of_a_backfill_are_there(airflow, client, record_property):
    assert client.create_scope(STREAM.scope)
    patience = timedelta(minutes=5)
    assert client.create_stream(STREAM, ScalingPolicy.fixed(2), timestamp_aggregation_timeout=patience)
    client.note_time(STREAM, "shop", DAY)
    next(iter(client.watermarks(STREAM, follow=True)))
    orders = [
        (100 * hour + number, HOURS[hour] + timedelta(minutes=number)) for hour in range(24) for number in (0, 59)
    ]
    orders.append((LAST, DAY + timedelta(days=1)))
    random.Random(49).shuffle(orders)
    with client.writer(STREAM) as writer:
        for number, at in orders:
            writer.write(json.dumps({"id": number, "ordered_at": at.isoformat()}).encode(), str(number))
    client.note_time(STREAM, "shop", HOURS[-1])

    api = airflow.api
    api.unpause(HOURLY, DAILY)
    dates = ["--from-date", HOURS[0].isoformat(), "--to-date", HOURS[-1].isoformat()]
    airflow.run("backfill", "create", "--dag-id", HOURLY, *dates)
    with pytest.raises(AssertionError, match="non-periodic schedule that does not support"):
        airflow.run("backfill", "create", "--dag-id", DAILY, *dates)

    def runs(*states):
        return [run["dag_run_id"] for run in api.all_runs(HOURLY) if run["state"] in states]

    api.wait(lambda: len(runs("success")) == 23, "23 hours are there")
    [last] = runs("queued", "running")
    api.wait_for_task(HOURLY, last, "wait", "deferred")
    assert api.runs(DAILY) == []

    client.note_time(STREAM, "shop", DAY + timedelta(days=1))
    api.wait_for_run(HOURLY, last)
    day = api.only_run(DAILY)
    api.wait_for_run(DAILY, day)
    assert api.request("GET", f"dags/{DAILY}/dagRuns/{day}")["partition_key"] == "2026-01-05"
    cuts = api.result(DAILY, day, "day")
    assert (cuts["since"], cuts["until"]) == (DAY.isoformat(), (DAY + timedelta(days=1)).isoformat())
    assert api.result(DAILY, day, "report") == sorted(number for number, _ in orders if number != LAST)
    assert api.results(HOURLY, runs("success"), "count") == [2] * 24
    states = [record.state.value for record in client.cut_ledger(STREAM.scope).records(f"{HOURLY}/wait", STREAM)]
    assert states == ["done"] * 24
    record_property("day", cuts)
