"""A process that runs a DAG with `@task.pravega`, and dies at a step of it: before or after a function of the package.

Arguments: the scope; `call` or `return`, and the function's name; none: it runs to the end. Airflow's database is
there. Python's own profiler watches for the step: no code of ours takes part, and none is replaced.
"""

import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl
from airflow.sdk import DAG, task
from tests.integration.airflow_pravega.dag_bags import store

from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

DAY = datetime(2026, 1, 1, tzinfo=UTC)


def totals(flights: pl.LazyFrame) -> pl.LazyFrame:
    return flights.group_by("carrier").agg(pl.col("delay").sum()).sort("carrier")


def make_dag(scope: str) -> DAG:
    with DAG(f"dag-{scope}", schedule=None) as dag:
        wait = PravegaStreamCutSensor(task_id="wait", stream=f"{scope}/stream", consumer="ada", poke_interval=1)
        read: Any = {"options": {"decode": "json"}, "columns": "carrier string, delay double"}
        cuts: Any = wait.output
        task.pravega(task_id="work", into=f"{scope}/sums", **read)(totals)(cuts)
    return dag


def main(scope: str, event: str = "", function: str = "") -> None:
    def die_there(frame: FrameType, happened: str, _: Any) -> None:
        if happened == event and frame.f_code.co_name == function:
            os.kill(os.getpid(), signal.SIGKILL)

    dags = Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
    dag = make_dag(scope)
    store(dag, dags)
    if event:
        sys.setprofile(die_there)
    dag.test(logical_date=DAY)


if __name__ == "__main__":
    main(*sys.argv[1:])
