"""The Spark operators on a standalone cluster, which a connection of Spark's provider names; its workers die."""

import httpx
import pytest
from tests.system.spark_cluster import SparkCluster

from aiopravega import UNBOUNDED, StreamCutRange, StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

DAG_ID = "clustered_rides"
RIDES, COPIES = StreamName("system-cluster", "rides"), StreamName("system-cluster", "copies")
# Spark draws its first page slowly, and a history server reads the log of a job before.
PAGE_SECONDS = 120.0
EVENTS = [f"ride {number}" for number in range(500)]


@pytest.fixture
def cluster(tmp_path):
    with SparkCluster(tmp_path) as started:
        yield started


def test_a_job_survives_the_death_of_its_worker(airflow, client, make_stream, cluster):
    write = make_stream(str(RIDES))
    assert client.create_stream(COPIES)
    api = airflow.api
    api.add_connection("spark_cluster", "spark", host=f"spark://{cluster.host}", port=cluster.port)
    api.unpause(DAG_ID)
    write(*EVENTS)
    worker = cluster.start_worker()
    history = f"http://127.0.0.1:{cluster.start_history(airflow.home / 'clustered' / 'events')}"
    run_id = api.trigger(DAG_ID, conf={"history": history.rpartition(":")[2]})

    for phase in ("read", "write"):
        begun = airflow.home / "clustered" / f"{phase}-begun"

        def working(begun=begun, phase=phase):
            state = api.task(DAG_ID, run_id, phase)["state"]
            assert state not in {"failed", "upstream_failed"}, api.log(DAG_ID, run_id, phase)
            return begun.exists() and list(begun.iterdir())

        api.wait(working, f"Spark works on the {phase}")
        processes = {int(file.name) for file in begun.iterdir()}
        assert processes & set(worker.pids()), "the work is not done by the worker"
        pages = api.links(DAG_ID, run_id, phase)["Spark"]
        if phase == "read":
            assert pages is not None
            assert DAG_ID in httpx.get(f"{pages}/jobs/", timeout=PAGE_SECONDS).raise_for_status().text
        else:
            assert pages is None
        worker.kill()
        worker = cluster.start_worker()
        (begun.parent / f"{phase}-released").touch()
        api.wait_for_task(DAG_ID, run_id, phase, "success")
        assert {int(file.name) for file in begun.iterdir()} - processes, "nothing was done by the second worker"

    api.wait_for_run(DAG_ID, run_id)
    for phase in ("read", "write"):
        assert api.task(DAG_ID, run_id, phase)["try_number"] == 1
    kept = api.links(DAG_ID, run_id, "read")["Spark"]
    assert kept is not None
    assert kept.startswith(f"{history}/history/app-")
    api.wait(lambda: httpx.get(f"{kept}/jobs/", timeout=PAGE_SECONDS).is_success, "the history server shows the read")
    assert api.links(DAG_ID, run_id, "write")["Spark"] is None
    read = api.result(DAG_ID, run_id, "read")
    assert read["events"] == read["rows"] == len(EVENTS)
    written = api.result(DAG_ID, run_id, "write")
    assert (written["written"], written["events"]) == (True, len(EVENTS))
    copies = client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), COPIES)
    assert sorted(event.data.decode() for event in copies) == sorted(EVENTS)
