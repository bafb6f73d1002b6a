"""A landing is killed amid its rows, and tried again by Airflow: each row is there once, and no password shows."""

import signal
from collections import Counter
from contextlib import suppress

import psutil
import psycopg2
import pytest
from pyarrow import parquet
from tests.system.canaries import command_lines_watched, files_with, has

from aiopravega import StreamName
from pravega_jobs.landing import LandingTable, ParquetFolder, Postgres

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

DAG_ID = "landed_rides"
RIDES = StreamName("system-landed", "rides")
EVENTS = [f"ride {number}" for number in range(500)]
PASSWORD = "canary-of-a-warehouse"


def kill(pid: int) -> None:
    """Kill a driver and all that it has started: its JVM, and the workers of Spark."""
    driver = psutil.Process(pid)
    for process in (*driver.children(recursive=True), driver):
        with suppress(psutil.NoSuchProcess):  # it may have ended with its parent
            process.send_signal(signal.SIGKILL)


def test_a_killed_landing_is_tried_again_and_lands_each_row_once(airflow, client, database, make_stream):
    write = make_stream(str(RIDES))
    api = airflow.api
    dsn = database.url("psycopg2").replace("+psycopg2", "")
    fields = psycopg2.extensions.parse_dsn(dsn)
    api.add_connection(
        "warehouse",
        "postgres",
        host=fields["host"],
        port=int(fields["port"]),
        login=fields["user"],
        schema=fields["dbname"],
        password=PASSWORD,
    )
    write(*EVENTS)
    folder = airflow.home / "landed"
    files = ParquetFolder(f"{folder}/rides")
    tables: dict[str, LandingTable] = {"files": files, "rows": Postgres(dsn, "landed_rides")}

    with command_lines_watched([PASSWORD.encode()]) as lines:
        api.unpause(DAG_ID)
        run_id = api.trigger(DAG_ID)
        for task_id, table in tables.items():
            begun = folder / f"{task_id}-begun"

            def working(begun=begun, task_id=task_id):
                state = api.task(DAG_ID, run_id, task_id)["state"]
                assert state not in {"failed", "upstream_failed"}, api.log(DAG_ID, run_id, task_id)
                return begun.exists() and list(begun.iterdir())

            api.wait(working, f"Spark has landed some rows of {task_id}")
            assert table.holdings() == []
            [driver] = (folder / f"{task_id}-drivers").iterdir()
            kill(int(driver.name))
            (folder / f"{task_id}-released").touch()
            api.wait_for_task(DAG_ID, run_id, task_id, "success")
            assert api.task(DAG_ID, run_id, task_id)["try_number"] == 2
        api.wait_for_run(DAG_ID, run_id)

    [interval] = client.cut_ledger(RIDES.scope).records(f"{DAG_ID}/wait", RIDES)
    assert interval.state.value == "done"
    for task_id, table in tables.items():
        assert table.rows() == {(interval.consumer, interval.interval): len(EVENTS)}
        [held] = table.holdings()
        assert held.range == interval.range
        result = api.result(DAG_ID, run_id, task_id)
        assert (result["action"], result["rows"]) == ("append", len(EVENTS))
    with psycopg2.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute("select ride from landed_rides")
        assert Counter(ride for (ride,) in cursor.fetchall()) == Counter(EVENTS)
    landed = parquet.read_table(files.path, columns=["ride"])
    assert Counter(landed["ride"].to_pylist()) == Counter(EVENTS)

    # A run that is cleared changes nothing.
    before = {task_id: table.holdings() for task_id, table in tables.items()}
    api.clear(DAG_ID, run_id, "rows")
    api.wait(lambda: api.task(DAG_ID, run_id, "rows")["try_number"] == 3, "the task is tried again")
    api.wait_for_task(DAG_ID, run_id, "rows", "success")
    assert api.result(DAG_ID, run_id, "rows")["action"] == "nothing"
    assert {task_id: table.holdings() for task_id, table in tables.items()} == before

    secrets = [PASSWORD.encode()]
    assert any(b"org.apache.spark.deploy.SparkSubmit" in line for line in lines.seen)
    assert not has(secrets, database.dump())
    assert files_with(secrets, airflow.home) == []
    assert lines.with_secret == set()
