"""Eight runs of one DAG wait at the same time for one stream."""

from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise

import pytest

from aiopravega import StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

DAG_ID = "eight_rides"
STREAM = StreamName("system-eight", "rides")
DAYS = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number) for number in range(8)]


def test_eight_active_runs_share_a_stream(airflow, client, make_stream, record_property):
    write = make_stream(str(STREAM))
    api = airflow.api
    api.unpause(DAG_ID)
    waiting = [api.trigger(DAG_ID, logical_date=day.isoformat()) for day in DAYS]
    for run_id in waiting:
        api.wait_for_task(DAG_ID, run_id, "wait", "deferred")

    written, order = [], []
    for number in range(len(DAYS)):
        events = [f"batch {number}, event {event}" for event in range(3)]
        write(*events)
        written.extend(events)
        ended = api.wait_for_any_run(DAG_ID, waiting)
        waiting.remove(ended)
        order.append(ended)
        api.wait_for_run(DAG_ID, ended)

    # Each run has one batch, and none shares an event with another.
    results = api.results(DAG_ID, order, "read")
    assert list(chain(*map(sorted, results))) == written
    ranges = api.results(DAG_ID, order, "wait")
    assert all(last["end"] == following["start"] for last, following in pairwise(ranges))
    states = [record.state.value for record in client.cut_ledger(STREAM.scope).records(f"{DAG_ID}/wait", STREAM)]
    assert states == ["done"] * len(DAYS)
    # By their dates; and the others sleep until it is their turn.
    assert [range_["interval"] for range_ in ranges] == [day.isoformat() for day in DAYS]
    record_property("task starts", api.task_starts(DAG_ID))
