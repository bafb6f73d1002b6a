"""Runs on a cluster with TLS and accounts."""

import os
from typing import Any

from airflow.sdk import DAG

from airflow_pravega.operators.events import PravegaReadEventsOperator
from airflow_pravega.operators.spark import PravegaSparkReadOperator, PravegaSparkWriteOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

RIDES = "system-secured/rides"
OUTPUT = f"{os.environ['AIRFLOW_HOME']}/secured"
SENSOR: dict[str, Any] = {"stream": RIDES, "deferrable": True, "poll_interval": 1.0}
AGAIN: dict[str, Any] = {"retries": 3, "retry_delay": 1}


def upper(frame: Any) -> Any:
    from pyspark.sql import functions

    return frame.select(functions.upper(functions.col("event").cast("string")).alias("event"))


with DAG("secured_rides", schedule=None):
    cuts = PravegaStreamCutSensor(task_id="wait", pravega_conn_id="owner", **SENSOR, **AGAIN).output
    read = PravegaSparkReadOperator(
        task_id="read",
        stream=RIDES,
        stream_cuts=cuts,
        output_path=f"{OUTPUT}/{{{{ run_id }}}}",
        pravega_conn_id="owner",
        master="local[1]",
        **AGAIN,
    )
    write = PravegaSparkWriteOperator(
        task_id="write",
        source="{{ ti.xcom_pull('read')['path'] }}",
        transform=upper,
        stream="system-secured/louder",
        pravega_conn_id="owner",
        master="local[1]",
        **AGAIN,
    )
    read >> write

with DAG("read_only_rides", schedule=None):
    seen = PravegaStreamCutSensor(
        task_id="wait", since="earliest", record=False, pravega_conn_id="reader", **SENSOR, **AGAIN
    )
    PravegaReadEventsOperator(task_id="read", stream=RIDES, stream_cuts=seen.output, pravega_conn_id="reader", **AGAIN)

with DAG("refused_rides", schedule=None):
    PravegaStreamCutSensor(task_id="wrong_password", pravega_conn_id="wrong", **SENSOR, **AGAIN)
    PravegaStreamCutSensor(task_id="may_not_write", pravega_conn_id="reader", **SENSOR, **AGAIN)
