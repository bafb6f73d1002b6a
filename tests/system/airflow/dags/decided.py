"""DAGs that ask people: about a loss, and at a gate."""

from typing import Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from tests.system.airflow.reading import read

from airflow_pravega.operators.interval_decision import PravegaIntervalDecisionOperator
from airflow_pravega.operators.schema import PravegaSchemaGateOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

SCOPE = "system-decided"
AGAIN: dict[str, Any] = {"retries": 3, "retry_delay": 1}

with DAG("decided_rides", schedule=None):
    decide = PravegaIntervalDecisionOperator(
        task_id="decide", stream=f"{SCOPE}/rides", consumer="decided_rides/wait", **AGAIN
    )
    wait = PravegaStreamCutSensor(task_id="wait", stream=f"{SCOPE}/rides", deferrable=True, poll_interval=1.0, **AGAIN)
    decide >> wait
    read(wait.output)

with DAG("decided_gate", schedule=None):
    gate = PravegaSchemaGateOperator(
        task_id="gate", stream=f"{SCOPE}/rides", candidate="{{ dag_run.conf['schema'] }}", on_violation="ask", **AGAIN
    )
    gate >> EmptyOperator(task_id="write")
