"""Flight delays per carrier and day, as in `flights_delays`, with the work as a function: `@task.pravega_spark`.

The sensor hands on a range of the stream. The function gets the range as a Spark DataFrame, and what it returns is
written to the stream of delays, exactly once: run it again for the same logical date, and nothing is added.

It reaches Pravega by the connection `pravega_default`. The root of the repository has to be on Python's path.
"""

from typing import Any

from airflow.sdk import DAG, Param, task
from example_dags.flights import delays_per_carrier_and_day, typed_flights

from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

with DAG(
    "flights_taskflow",
    schedule=None,
    doc_md=__doc__,
    max_active_runs=1,
    params={
        "flights": Param("examples/flights", type="string", description="stream of flights"),
        "delays": Param("examples/delays", type="string", description="stream of delays per carrier and day"),
    },
) as flights_taskflow:
    wait = PravegaStreamCutSensor(task_id="wait", stream="{{ params.flights }}", deferrable=True)

    @task.pravega_spark(stream="{{ params.flights }}", into="{{ params.delays }}")
    def delays(events: Any) -> Any:
        """Make the delays of a range of flights: from one DataFrame to another."""
        return delays_per_carrier_and_day(typed_flights(events))

    delays(wait.output)
