"""Two DAGs of a consumer that Dagster has, too: one takes the next range, one processes ranges by their names."""

from typing import Any

from airflow.sdk import DAG, task
from tests.system.airflow.reading import read

from airflow_pravega.operators.recorded import PravegaRecordedRangesOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

RIDES = "system-shared/rides"
CONSUMER = "shared"


@task
def collected(of_ranges: Any) -> list[str]:
    """All events of some ranges."""
    return [event for events in of_ranges for event in events]


with DAG("next_rides", schedule=None) as next_rides:
    wait = PravegaStreamCutSensor(
        task_id="wait", stream=RIDES, consumer=CONSUMER, deferrable=True, poll_interval=1.0, retries=3, retry_delay=1
    )
    read(wait.output)

with DAG("rides_by_name", schedule=None) as rides_by_name:
    ranges = PravegaRecordedRangesOperator(
        task_id="ranges", stream=RIDES, consumer=CONSUMER, intervals="{{ dag_run.conf['interval'] }}"
    )
    collected(read.expand(cuts=ranges.output))
