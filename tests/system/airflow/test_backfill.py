"""`airflow backfill create` goes through the past backwards, two runs at a time, and each event is read once."""

import json
from datetime import UTC, datetime, timedelta

import pyarrow.parquet
import pytest

from aiopravega import ScalingPolicy, StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

DAG_ID = "backfilled_rides"
STREAM = StreamName("system-backfill", "rides")
FIRST = datetime(2013, 1, 1, tzinfo=UTC)
DAYS = [FIRST + timedelta(days=number) for number in range(4)]
AT_ONCE = 2


def test_a_backfill_goes_backwards_two_runs_at_a_time(airflow, client):
    assert client.create_scope(STREAM.scope)
    patience = timedelta(minutes=5)
    assert client.create_stream(STREAM, ScalingPolicy.fixed(2), timestamp_aggregation_timeout=patience)
    client.note_time(STREAM, "source", FIRST)
    next(iter(client.watermarks(STREAM, follow=True)))
    rides = {day: [f"{day:%A} {number}" for number in range(24)] for day in DAYS}
    with client.writer(STREAM) as writer:
        for number in range(24):  # the days' events are mixed
            for day in DAYS:
                at = int((day + timedelta(hours=number)).timestamp() * 1000)
                writer.write(json.dumps({"at": at, "ride": rides[day][number]}).encode(), f"{day} {number}")

    api = airflow.api
    api.unpause(DAG_ID)
    dates = ["--from-date", f"{DAYS[0]:%Y-%m-%d}", "--to-date", f"{DAYS[-1]:%Y-%m-%d}"]
    airflow.run("backfill", "create", "--dag-id", DAG_ID, *dates, "--run-backwards", "--max-active-runs", str(AT_ONCE))

    def of_backfill():
        return [run for run in api.all_runs(DAG_ID) if run["run_type"] == "backfill"]

    def waiting():
        runs = [run["dag_run_id"] for run in of_backfill() if run["state"] == "running"]
        return [run_id for run_id in runs if api.task(DAG_ID, run_id, "wait")["state"] == "deferred"]

    # No watermark says yet that a day is complete: two runs wait for theirs, and the others for these two.
    api.wait(lambda: len(waiting()) == AT_ONCE, f"{AT_ONCE} runs of the backfill wait")
    assert [run["state"] for run in of_backfill()].count("queued") == len(DAYS) - AT_ONCE

    client.note_time(STREAM, "source", DAYS[-1] + timedelta(days=1))
    for run_id in api.runs(DAG_ID):
        api.wait_for_run(DAG_ID, run_id)

    runs = sorted(of_backfill(), key=lambda run: run["start_date"])
    days = [datetime.fromisoformat(run["data_interval_start"]) for run in runs]
    assert sorted(days) == DAYS  # the schedule itself has made no run: the DAG has ended
    assert set(days[:AT_ONCE]) == set(DAYS[-AT_ONCE:])
    assert days[-1] == DAYS[0]
    for day in DAYS:
        table = pyarrow.parquet.read_table(airflow.home / "backfilled" / f"{day:%Y-%m-%d}")
        assert sorted(table["ride"].to_pylist()) == sorted(rides[day])
    states = [record.state.value for record in client.cut_ledger(STREAM.scope).records(f"{DAG_ID}/wait", STREAM)]
    assert states == ["done"] * len(DAYS)
