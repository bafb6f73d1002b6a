"""A stream starts the runs of a DAG; triggerer and scheduler are killed meanwhile, and each event is read once."""

from itertools import chain, pairwise

import pytest

from aiopravega import StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

DAG_ID = "watched_rides"
STREAM = StreamName("system-watched", "rides")


def test_batched_repeated_and_lost_events_lose_and_double_nothing(airflow, client, make_stream, record_property):
    write = make_stream(str(STREAM))
    api = airflow.api
    written = []

    def batch(text):
        events = [f"{text} {number}" for number in range(5)]
        write(*events)
        written.extend(events)

    def states():
        return [(run_id, api.task(DAG_ID, run_id, "read")["state"]) for run_id in api.runs(DAG_ID)]

    def read():
        done = [run_id for run_id, state in states() if state == "success"]
        return list(chain(*api.results(DAG_ID, done, "read")))

    def all_are_read():
        api.wait(lambda: len(read()) >= len(written), f"{len(written)} events are read")

    batch("before the watcher")
    api.unpause(DAG_ID)
    api.start_watchers(DAG_ID)
    all_are_read()
    batch("after a rest")
    all_are_read()

    airflow.kill("triggerer")
    batch("the triggerer is away")
    airflow.start("triggerer")
    all_are_read()

    batch("the triggerer dies now")  # before or after its event is stored: either must do
    airflow.kill("triggerer")
    airflow.start("triggerer")
    all_are_read()

    airflow.kill("scheduler")
    for number in range(3):
        batch(f"the scheduler is away {number}")
    airflow.start("scheduler")
    all_are_read()

    runs = len(api.runs(DAG_ID))
    api.asset_event(f"pravega://{STREAM}")  # an event without anything to read
    api.wait(lambda: len(api.runs(DAG_ID)) > runs, "the event has started a run")
    for run_id in api.runs(DAG_ID):
        api.wait_for_run(DAG_ID, run_id)
    assert states()[-1][1] == "skipped"
    batch("at last")
    all_are_read()
    for run_id in api.runs(DAG_ID):
        api.wait_for_run(DAG_ID, run_id)

    assert sorted(read()) == sorted(written)
    records = client.cut_ledger(STREAM.scope).records(DAG_ID, STREAM)
    assert {record.state.value for record in records} == {"done"}
    assert all(last.range.end == following.range.start for last, following in pairwise(records))
    assert records[-1].range.end == client.tail(STREAM)
    record_property("runs, and those that found nothing", [len(states()), [s for _, s in states()].count("skipped")])
