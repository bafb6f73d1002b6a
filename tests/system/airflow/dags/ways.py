"""One chain of ranges, which runs continue however they are started: by hand, by time, by an asset."""

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG, Asset
from tests.system.airflow.reading import read

from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

RIDES = "system-ways/rides"
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def rides(dag_id: str, **arguments: Any) -> DAG:
    with DAG(dag_id, **arguments) as dag:
        wait = PravegaStreamCutSensor(
            task_id="wait", stream=RIDES, consumer="rides", deferrable=True, poll_interval=1.0, retries=3, retry_delay=1
        )
        read(wait.output)
    return dag


by_hand = rides("rides_by_hand", schedule=None)
# One run only.
by_time = rides("rides_by_time", schedule="@daily", start_date=NEW_YEAR, end_date=NEW_YEAR, catchup=True)
by_asset = rides("rides_by_asset", schedule=[Asset(f"pravega://{RIDES}")])
