"""The smallest program with Airflow: a DAG with a sensor is made, and Airflow knows the provider."""

import pendulum
from airflow.providers_manager import ProvidersManager
from airflow.sdk import DAG

from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

with DAG("smallest", schedule="@daily", start_date=pendulum.datetime(2026, 1, 1, tz="UTC")) as dag:
    PravegaStreamCutSensor(task_id="wait", stream="smallest/visits", min_bytes=1, deferrable=True)
assert dag.task_ids == ["wait"]
manager = ProvidersManager()
assert "airflow-provider-pravega" in manager.providers, sorted(manager.providers)
assert "pravega" in manager.hooks
