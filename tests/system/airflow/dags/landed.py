"""Runs that land a range in two tables, by Spark's tasks that stop amid their rows until the test lets them go."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from airflow.sdk import DAG

from airflow_pravega.operators.land import PravegaLandOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

RIDES = "system-landed/rides"
FOLDER = Path(os.environ["AIRFLOW_HOME"], "landed")
COMMON: dict[str, Any] = {
    "stream": RIDES,
    "master": "local[2]",
    # Several batches for each of Spark's tasks.
    "spark_conf": {"spark.sql.execution.arrow.maxRecordsPerBatch": "50"},
    "retries": 2,
    "retry_delay": 1,
}


def held_up(task_id: str) -> Callable[[Any], Any]:
    """A transformation that notes the process of the driver, and whose tasks pass a batch on and wait for a file."""
    drivers, begun, released = (FOLDER / f"{task_id}-{name}" for name in ("drivers", "begun", "released"))

    def transform(frame: Any) -> Any:
        drivers.mkdir(parents=True, exist_ok=True)
        (drivers / str(os.getpid())).touch()

        def pass_on(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                yield batch
                begun.mkdir(parents=True, exist_ok=True)
                (begun / str(os.getpid())).touch()
                while not released.exists():
                    time.sleep(0.1)

        return frame.selectExpr("cast(event as string) as ride").mapInArrow(pass_on, "ride string")

    return transform


with DAG("landed_rides", schedule=None):
    wait = PravegaStreamCutSensor(task_id="wait", stream=RIDES, deferrable=True, retries=3, retry_delay=1)
    files = PravegaLandOperator(
        task_id="files",
        stream_cuts=wait.output,
        table=f"parquet:{FOLDER}/rides",
        transform=held_up("files"),
        **COMMON,
    )
    rows = PravegaLandOperator(
        task_id="rows",
        stream_cuts=wait.output,
        table="landed_rides",
        postgres_conn_id="warehouse",
        transform=held_up("rows"),
        **COMMON,
    )
    files >> rows
