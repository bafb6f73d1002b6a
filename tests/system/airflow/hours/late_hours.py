"""Hours of event times that land, each in a run of the schedule, and a search for late events that runs by itself."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG
from airflow.timetables.interval import CronDataIntervalTimetable

from airflow_pravega.operators.late import PravegaLateEventsOperator
from airflow_pravega.operators.sql import PravegaSqlOperator
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor

START = datetime(2025, 1, 1, tzinfo=UTC)
LAST = START + timedelta(hours=int(os.environ.get("LATE_YEAR_HOURS", "48")) - 1)
TIMED = "late-year/timed"
DECODED: dict[str, Any] = {
    "columns": "id long, at long",
    "options": {"decode": "json", "event_time": "at", "event_time_unit": "ms"},
}
AGAIN: dict[str, Any] = {"retries": 5, "retry_delay": 5}

with DAG(
    "late_hours",
    schedule=CronDataIntervalTimetable("@hourly", "UTC"),
    start_date=START,
    end_date=LAST,
    catchup=True,
    max_active_runs=4,
    is_paused_upon_creation=False,
):
    wait = PravegaEventTimeSensor(
        task_id="wait",
        stream=TIMED,
        since="{{ data_interval_start }}",
        until="{{ data_interval_end }}",
        deferrable=True,
        poll_interval=2.0,
        **AGAIN,
    )
    PravegaSqlOperator(
        task_id="land",
        sql='SELECT id, "at" FROM events',
        stream_cuts=wait.output,
        table=f"parquet:{Path(os.environ['AIRFLOW_HOME'], 'late_hours')}",
        rebuild="{{ ti.xcom_pull(task_ids='wait', key='claim') }}",
        **DECODED,
        **AGAIN,
    )

with DAG(
    "late_hours_search",
    schedule=timedelta(seconds=20),
    start_date=START,
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=False,
):
    PravegaLateEventsOperator(
        task_id="search", stream=TIMED, consumer="late_hours/wait", late="rerun", **DECODED, **AGAIN
    )
