"""Eight runs that wait for one stream."""

from airflow.sdk import DAG
from tests.system.airflow.reading import read

from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

with DAG("eight_rides", schedule=None, max_active_runs=8):
    wait = PravegaStreamCutSensor(
        task_id="wait", stream="system-eight/rides", deferrable=True, poll_interval=1.0, retries=3, retry_delay=1
    )
    read(wait.output)
