"""A program on a standalone cluster, for which a task waits on the triggerer; its run's `conf` has a folder for it."""

import os

from airflow.sdk import DAG
from tests.faults.process import ROOT

from airflow_pravega.operators.spark_submit import PravegaSparkSubmitOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

PROGRAM = ROOT / "tests" / "integration" / "airflow_pravega" / "submitted_program.py"

with DAG("deferred_spark", schedule=None):
    wait = PravegaStreamCutSensor(task_id="wait", stream="system-deferred/rides")
    PravegaSparkSubmitOperator(
        task_id="submit",
        application=str(PROGRAM),
        application_args=["waiting", "{{ dag_run.conf['folder'] }}"],
        spark_conn_id="spark_standalone",
        stream="system-deferred/rides",
        stream_cuts=wait.output,
        into="system-deferred/copies",
        deferrable=True,
        poll_interval=1.0,
        executor_memory="512m",
        driver_memory="512m",
        env_vars={"PYTHONPATH": os.environ["PYTHONPATH"]},
        retries=3,
        retry_delay=1,
    )
