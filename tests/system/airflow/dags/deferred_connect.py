"""A task that waits without a worker for a Spark Connect server; its run's `conf` has a folder for what it does there.

An operation makes a file there when it begins, and ends once there is a file `go`.
"""

import time
import uuid
from pathlib import Path

from airflow.sdk import DAG, task

from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

with DAG("deferred_connect", schedule=None):
    wait = PravegaStreamCutSensor(task_id="wait", stream="system-connect/rides")

    @task.pravega_spark(
        stream="system-connect/rides",
        into="system-connect/copies",
        spark_conn_id="spark_connect",
        deferrable=True,
        poll_interval=1.0,
        retries=3,
        retry_delay=1,
    )
    def copy(rides, folder):
        def slowly(batches):
            Path(folder, f"began {uuid.uuid4().hex}").touch()
            while not Path(folder, "go").exists():
                time.sleep(0.2)
            yield from batches

        return rides.select("event").coalesce(1).mapInArrow(slowly, "event binary")

    copy(wait.output, "{{ dag_run.conf['folder'] }}")
