"""Runs whose Spark works on a cluster, in tasks that are held up until the test lets them go.

The read has Spark's pages, and logs its events for a history server, whose port the run is given.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from airflow.sdk import DAG

from airflow_pravega.operators.spark import PravegaSparkReadOperator, PravegaSparkWriteOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

RIDES = "system-cluster/rides"
FOLDER = Path(os.environ["AIRFLOW_HOME"], "clustered")
SMALL = {"spark.executor.memory": "512m"}
SHOWN = {
    "spark.ui.enabled": "true",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.dir": (FOLDER / "events").as_uri(),
    "spark.yarn.historyServer.address": "127.0.0.1:{{ dag_run.conf.history }}",
}


def held_up(phase: str) -> Callable[[Any], Any]:
    """A transformation whose tasks note their processes, and wait for a file before they pass rows on."""
    begun, released = FOLDER / f"{phase}-begun", FOLDER / f"{phase}-released"

    def transform(frame: Any) -> Any:
        def pass_on(batches: Iterator[Any]) -> Iterator[Any]:
            begun.mkdir(parents=True, exist_ok=True)
            (begun / str(os.getpid())).touch()
            while not released.exists():
                time.sleep(0.1)
            yield from batches

        return frame.select("event").mapInArrow(pass_on, "event binary")

    return transform


with DAG("clustered_rides", schedule=None):
    wait = PravegaStreamCutSensor(task_id="wait", stream=RIDES, deferrable=True, retries=3, retry_delay=1)
    read = PravegaSparkReadOperator(
        task_id="read",
        stream=RIDES,
        stream_cuts=wait.output,
        transform=held_up("read"),
        output_path=f"{FOLDER}/rides",
        digest=True,
        spark_conn_id="spark_cluster",
        spark_conf=SMALL | SHOWN,
    )
    write = PravegaSparkWriteOperator(
        task_id="write",
        source="{{ ti.xcom_pull('read')['path'] }}",
        transform=held_up("write"),
        stream="system-cluster/copies",
        spark_conn_id="spark_cluster",
        spark_conf=SMALL,
    )
    read >> write
