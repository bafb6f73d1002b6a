"""A worker dies while it submits a program, and the triggerer while it waits: one driver does the work, once."""

import asyncio

import pytest
from tests.faults.process import wait_until
from tests.system.rest_proxy import RestProxy
from tests.system.spark_cluster import SparkCluster

from aiopravega import UNBOUNDED, StreamCutRange, StreamName
from airflow_pravega.spark.standalone import StandaloneDrivers
from pravega_jobs.remote.reports import TABLE, Submission

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

DAG_ID, SCOPE = "deferred_spark", "system-deferred"
RIDES = [f"ride {number}" for number in range(20)]


def driver_in(client):
    """The driver that the report's entry names, if there is one."""
    try:
        [entry] = client.table(SCOPE, TABLE).entries()
    except (ValueError, LookupError):
        return None
    return Submission.of(entry).driver


def test_a_driver_outlives_worker_and_triggerer_but_not_its_task(airflow, client, make_stream, tmp_path):
    write = make_stream(f"{SCOPE}/rides")
    write(*RIDES)
    api = airflow.api

    def trigger(name):
        folder = tmp_path / name
        folder.mkdir()
        return folder, api.trigger(DAG_ID, conf={"folder": str(folder)})

    def dies():
        wait_until(lambda: driver_in(client) is not None, lambda: "the program begins", 600, every=0.5)
        airflow.kill("scheduler")  # with the worker, which waits for the answer of the master

    (tmp_path / "cluster").mkdir()
    with SparkCluster(tmp_path / "cluster", takes_drivers=True) as cluster, RestProxy(cluster.rest_url, dies) as proxy:
        cluster.start_worker()
        extra = f'{{"deploy-mode": "cluster", "rest-port": {proxy.port}}}'
        host = f"spark://{cluster.host}"
        api.add_connection("spark_standalone", "spark", host=host, port=cluster.port, extra=extra)
        api.unpause(DAG_ID)
        folder, run_id = trigger("survives")
        wait_until(proxy.lost.is_set, lambda: "the worker is dead", 900, every=1.0)
        airflow.start("scheduler")
        api.wait_for_task(DAG_ID, run_id, "submit", "deferred")
        [driver] = cluster.drivers()
        airflow.kill("triggerer")
        airflow.start("triggerer")
        (folder / "go").touch()
        api.wait_for_run(DAG_ID, run_id)
        assert cluster.drivers() == [driver]

        write(*RIDES)
        _, ended = trigger("is ended")
        wait_until(lambda: len(cluster.drivers()) == 2, lambda: "another driver runs", 600, every=0.5)
        api.wait_for_task(DAG_ID, ended, "submit", "deferred")
        drivers, killed = StandaloneDrivers([cluster.rest_url]), cluster.drivers()[1].name
        # Airflow tells a trigger that a person has ended its task, once a triggerer runs the trigger.
        api.wait(lambda: f"{killed} is " in api.log(DAG_ID, ended, "submit"), f"the triggerer waits for {killed}")
        api.end_task(DAG_ID, ended, "submit")
        wait_until(lambda: asyncio.run(drivers.status(killed)).state == "KILLED", lambda: f"{killed} is killed", 300)

    assert f"Found again: {driver.name}" in api.log(DAG_ID, run_id, "submit")
    found = api.result(DAG_ID, run_id, "submit")
    assert found["output"]["events"] == len(RIDES)
    assert found["output"]["write_id"].startswith(f"airflow/{DAG_ID}/submit/")
    whole = StreamCutRange(UNBOUNDED, UNBOUNDED)
    assert sorted(event.data.decode() for event in client.read(whole, StreamName(SCOPE, "copies"))) == sorted(RIDES)
