"""Days of event times that land, their late events, and a DAG that reads from events of the table what landed."""

import os
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset, task

from airflow_pravega.asset_events import ranges_of_events
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.operators.late import PravegaLateEventsOperator
from airflow_pravega.operators.sql import PravegaSqlOperator
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor

RIDES = "system-late/rides"
TABLE = Path(os.environ["AIRFLOW_HOME"], "late_rides")
DECODED: dict[str, Any] = {
    "columns": "id long, taken_at timestamp",
    "options": {"decode": "json", "event_time": "taken_at"},
}
AGAIN: dict[str, Any] = {"retries": 3, "retry_delay": 1}
landed = Asset("late-rides-landed")

with DAG("late_rides", schedule=None):
    wait = PravegaEventTimeSensor(
        task_id="wait",
        stream=RIDES,
        since="{{ logical_date }}",
        until="{{ logical_date + macros.timedelta(days=1) }}",
        deferrable=True,
        poll_interval=1.0,
        **AGAIN,
    )
    PravegaSqlOperator(
        task_id="land",
        sql="SELECT id, taken_at FROM events",
        stream_cuts=wait.output,
        table=f"parquet:{TABLE}",
        rebuild="{{ ti.xcom_pull(task_ids='wait', key='claim') }}",
        outlets=[landed],
        **DECODED,
        **AGAIN,
    )

with DAG("late_rides_search", schedule=None):
    PravegaLateEventsOperator(
        task_id="search", stream=RIDES, consumer="late_rides/wait", late="rerun", **DECODED, **AGAIN
    )

with DAG("late_rides_downstream", schedule=[landed]):

    @task(inlets=[landed], **AGAIN)
    def landings(inlet_events: Any = None) -> list[dict[str, Any]]:
        """All landings so far, by the events of the table, with the number of events in their ranges."""
        with PravegaHook().get_client() as client:
            return [
                {
                    "kind": each.kind.value,
                    "interval": each.interval,
                    "rows": each.rows,
                    "generation": each.generation,
                    "table": each.table,
                    "events": len(list(client.read(each.range))),
                }
                for each in ranges_of_events(inlet_events[landed], client)
            ]

    landings()
