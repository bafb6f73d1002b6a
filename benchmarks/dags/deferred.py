"""The task that the benchmark of the triggerer defers."""

from airflow.sdk import DAG

from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

with DAG("deferred", schedule=None):
    PravegaStreamCutSensor(task_id="wait", stream="deferred/stream-0", deferrable=True)
