"""Real processes of Airflow run exactly the day with late events again, and a DAG downstream reads what landed."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from pyarrow import parquet

from aiopravega import StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

DAG_ID, SEARCH, DOWNSTREAM = "late_rides", "late_rides_search", "late_rides_downstream"
RIDES = StreamName("system-late", "rides")


def day(number: int) -> datetime:
    return datetime(2013, 1, number, tzinfo=UTC)


def test_late_events_run_their_day_again_and_no_other_one(airflow, client, record_property):
    api = airflow.api
    assert client.create_scope(RIDES.scope)
    assert client.create_stream(RIDES, timestamp_aggregation_timeout=timedelta(minutes=5))

    def write(number, *ids):
        with client.writer(RIDES) as writer:
            writer.write_many([json.dumps({"id": each, "taken_at": day(number).isoformat()}).encode() for each in ids])

    def search():
        run_id = api.trigger(SEARCH)
        api.wait_for_run(SEARCH, run_id)
        return api.result(SEARCH, run_id, "search")

    def table():
        return sorted(parquet.read_table(airflow.home / "late_rides")["id"].to_pylist())

    client.note_time(RIDES, "shop", day(1))
    next(iter(client.watermarks(RIDES, follow=True)))
    write(1, 1, 2)
    write(2, 3)
    client.note_time(RIDES, "shop", day(3))
    api.unpause(DAG_ID, SEARCH, DOWNSTREAM)
    first, second = (api.trigger(DAG_ID, logical_date=day(number).isoformat()) for number in (1, 2))
    for run_id in (first, second):
        api.wait_for_run(DAG_ID, run_id)
    assert table() == [1, 2, 3]
    assert search()["rerun"] == []
    before = api.task(DAG_ID, second, "wait")

    write(1, 4)
    found = search()
    assert (found["events"], found["not_rerun"]) == (1, {})
    [again] = found["rerun"]
    assert (again["dag_id"], again["run_id"], again["claim"]) == (DAG_ID, first, 2)
    api.wait(lambda: table() == [1, 2, 3, 4], "the late event has landed")
    api.wait_for_run(DAG_ID, first)
    assert api.result(DAG_ID, first, "wait")["claim"] == "2"
    assert api.task(DAG_ID, second, "wait") == before
    assert search()["rerun"] == []

    def landings():
        runs = api.runs(DOWNSTREAM)
        done = [run_id for run_id in runs if api.run_state(DOWNSTREAM, run_id) == "success"]
        return api.result(DOWNSTREAM, done[-1], "landings") if done else []

    api.wait(lambda: len(landings()) == 3, "the events of three landings are read")
    interval = again["interval"]
    of_day = [(each["rows"], each["generation"], each["events"]) for each in landings() if each["interval"] == interval]
    assert of_day == [(2, 1, 3), (3, 2, 4)]
    assert {each["kind"] for each in landings()} == {"land"}
    record_property("landings", landings())
