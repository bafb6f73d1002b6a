"""A Spark Connect server works on while the worker or the triggerer dies, and is away itself; all is written once."""

import asyncio
import os
import re

import pytest
from tests.faults.process import wait_until
from tests.spark_connect import SparkConnect
from tests.system.servers import free_ports

from aiopravega import UNBOUNDED, StreamCutRange, StreamName
from aiopravega.errors import PravegaConnectionError
from pravega_jobs.spark.connect import Following, Operation

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

DAG_ID, SCOPE = "deferred_connect", "system-connect"
RIDES = [f"ride {number}" for number in range(20)]


@pytest.fixture
def begun(airflow, make_stream, tmp_path):
    """Starts a run with new rides; returns its id and its folder, once its operation has begun on the server."""
    write = make_stream(f"{SCOPE}/rides")

    def begun(name):
        folder = tmp_path / name
        folder.mkdir()
        write(*RIDES)
        run_id = airflow.api.trigger(DAG_ID, conf={"folder": str(folder)})
        began(folder, 1)
        return run_id, folder

    return begun


def began(folder, count):
    wait_until(lambda: len(list(folder.glob("began *"))) == count, lambda: f"{count} have begun in {folder}", 900)


def is_ended(operation):
    """True if the server has ended the session; asking takes the operation from a trigger, which asks again."""

    async def end():
        async with asyncio.timeout(5):
            return await Following(operation, (), lambda _: None).end()

    try:
        return "SESSION_CLOSED" in asyncio.run(end()).message
    except (TimeoutError, PravegaConnectionError):
        return False


def test_an_operation_outlives_worker_triggerer_and_server(airflow, client, begun, tmp_path):
    api, [port] = airflow.api, free_ports(1)
    copies = StreamName(SCOPE, "copies")

    def written():
        return len(list(client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), copies)))

    def deferred(run_id):
        api.wait_for_task(DAG_ID, run_id, "copy", "deferred")
        # Spark's progress is in the log once a triggerer follows the operation.
        api.wait(lambda: "Stage " in api.log(DAG_ID, run_id, "copy"), "the triggerer follows")

    def tries(run_id):
        return api.task(DAG_ID, run_id, "copy")["try_number"]

    api.add_connection("spark_connect", "spark_connect", host="127.0.0.1", port=port)
    api.unpause(DAG_ID)
    with SparkConnect(tmp_path, port) as server:
        survives, folder = begun("the triggerer dies")
        deferred(survives)
        airflow.kill("triggerer")
        airflow.start("triggerer")
        (folder / "go").touch()
        api.wait_for_run(DAG_ID, survives)
        assert (tries(survives), written()) == (1, len(RIDES))

        repeated, folder = begun("the worker dies")
        airflow.kill("scheduler")  # with the worker, which waits for the server's first answer, or has just deferred
        airflow.start("scheduler")
        (folder / "go").touch()
        api.wait_for_run(DAG_ID, repeated)
        assert written() == 2 * len(RIDES)

        lost, folder = begun("the server dies")
        deferred(lost)
        server.tree.kill()
    with SparkConnect(tmp_path / "the server dies", port):
        began(folder, 2)
        (folder / "go").touch()
        api.wait_for_run(DAG_ID, lost)
        assert (tries(lost), written()) == (2, 3 * len(RIDES))
        assert "does not know the operation any more" in api.log(DAG_ID, lost, "copy")

        ended, _ = begun("a person ends it")
        deferred(ended)
        api.end_task(DAG_ID, ended, "copy")
        [found] = set(re.findall(r"operation (\S+) of session (\S+) on (sc:[\w:/.]+)", api.log(DAG_ID, ended, "copy")))
        user = os.environ.get("SPARK_USER", os.environ.get("USER", ""))
        operation = Operation(found[2], user, found[1], found[0])
        wait_until(lambda: is_ended(operation), lambda: f"{operation} is ended", 300, every=1.0)
