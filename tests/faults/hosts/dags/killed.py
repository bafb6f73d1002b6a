"""A sensor and the task that brings its range into a sink, for each kind of sink, with and without a further try."""

from typing import Any

from airflow.sdk import DAG, task

from airflow_pravega.operators.cdc import PravegaCdcMergeOperator
from airflow_pravega.operators.land import PravegaLandOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

PARAMS = dict.fromkeys(("stream", "into", "table", "master", "history"), "none")
COMMON: dict[str, Any] = {"stream": "{{ params.stream }}", "master": "{{ params.master }}"}


def noted(events: Any) -> Any:
    """The events as the column of a table."""
    return events.selectExpr("cast(event as string) as note")


def copy(cuts: Any) -> None:
    """Write the events of the range to another stream."""

    @task.pravega_spark(into="{{ params.into }}", **COMMON)
    def work(events: Any) -> Any:
        return events.selectExpr("event", "split(cast(event as string), ':')[0] as routing_key")

    work(cuts)


def land(cuts: Any) -> None:
    """Land the range in a table that names itself."""
    PravegaLandOperator(task_id="work", stream_cuts=cuts, transform=noted, table="{{ params.table }}", **COMMON)


def land_in_database(cuts: Any) -> None:
    """Land the range in a table of PostgreSQL."""
    table: dict[str, Any] = {"table": "{{ params.table }}", "postgres_conn_id": "warehouse"}
    PravegaLandOperator(task_id="work", stream_cuts=cuts, transform=noted, **table, **COMMON)


def merge(cuts: Any) -> None:
    """Merge the changes of the range into a table."""
    rules: dict[str, Any] = {"key": ["id"], "columns": "id int, note string", "history": "{{ params.history }}"}
    PravegaCdcMergeOperator(task_id="work", stream_cuts=cuts, table="{{ params.table }}", **rules, **COMMON)


for retries in (0, 1):
    for make in (copy, land, land_in_database, merge):
        with DAG(
            f"{make.__name__}_{retries}",
            schedule=None,
            params=PARAMS,
            default_args={"retries": retries, "retry_delay": 1},
        ):
            wait = PravegaStreamCutSensor(task_id="wait", stream="{{ params.stream }}", poke_interval=1)
            make(wait.output)
