"""Each component dies while sensors wait, and is started again: all runs end green, and each event is read once."""

from itertools import chain, pairwise

import pytest

from aiopravega import StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

DAG_ID = "killed_rides"


def test_a_killed_component_loses_and_doubles_nothing(airflow, client, make_stream):
    write = make_stream("system-kills/rides")
    api = airflow.api
    api.unpause(DAG_ID)
    runs, written = [], []

    def batch(text):
        events = [f"{text} {number}" for number in range(5)]
        write(*events)
        written.extend(events)

    for component in ("triggerer", "scheduler", "dag-processor", "api-server"):
        waiting = [api.trigger(DAG_ID) for _ in range(2)]
        for run_id in waiting:
            api.wait_for_task(DAG_ID, run_id, "wait", "deferred")
        airflow.kill(component)
        batch(f"{component} is away")
        airflow.start(component)
        api.wait_for_any_run(DAG_ID, waiting)
        batch(f"{component} is back")
        for run_id in waiting:
            api.wait_for_run(DAG_ID, run_id)
        runs += waiting

    assert sorted(chain(*api.results(DAG_ID, runs, "read"))) == sorted(written)
    records = client.cut_ledger("system-kills").records(f"{DAG_ID}/wait", StreamName("system-kills", "rides"))
    assert [record.state.value for record in records] == ["done"] * len(runs)
    ranges = [
        client.head("system-kills/rides"),
        *chain(*((record.range.start, record.range.end) for record in records)),
    ]
    for end, start in list(pairwise(ranges))[::2]:
        assert end == start
