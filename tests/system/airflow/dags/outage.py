"""A run that waits while Pravega is away. Its sensor is not tried again."""

from airflow.sdk import DAG
from tests.system.airflow.reading import read

from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

with DAG("rides_in_an_outage", schedule=None):
    wait = PravegaStreamCutSensor(
        task_id="wait",
        stream="system-outage/rides",
        pravega_conn_id="pravega_proxied",
        deferrable=True,
        poll_interval=1.0,
        retries=0,
    )
    read(wait.output)
