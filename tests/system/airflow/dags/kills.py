"""Runs that wait while components of Airflow are killed."""

from airflow.sdk import DAG
from tests.system.airflow.reading import read

from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

with DAG("killed_rides", schedule=None):
    wait = PravegaStreamCutSensor(
        task_id="wait", stream="system-kills/rides", deferrable=True, poll_interval=1.0, retries=3, retry_delay=1
    )
    read(wait.output)
