"""Days of a stream with event times, each read by Spark into a folder of its own."""

import json
import os
from datetime import UTC, datetime

from airflow.sdk import DAG
from airflow.timetables.interval import CronDataIntervalTimetable

from airflow_pravega.operators.spark import PravegaSparkReadOperator
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor

STREAM = "system-backfill/rides"
SCHEMA = {"type": "object", "properties": {"at": {"type": "integer"}, "ride": {"type": "string"}}}

with DAG(
    "backfilled_rides",
    schedule=CronDataIntervalTimetable("@daily", timezone="UTC"),
    start_date=datetime(2013, 1, 1, tzinfo=UTC),
    end_date=datetime(2013, 1, 4, tzinfo=UTC),
    catchup=False,
):
    wait = PravegaEventTimeSensor(
        task_id="wait", stream=STREAM, deferrable=True, poll_interval=1.0, retries=3, retry_delay=1
    )
    PravegaSparkReadOperator(
        task_id="read",
        stream=STREAM,
        stream_cuts=wait.output,
        options={"decode": "json", "schema_text": json.dumps(SCHEMA), "event_time": "at"},
        output_path=f"{os.environ['AIRFLOW_HOME']}/backfilled/{{{{ data_interval_start | ds }}}}",
        digest=True,
        master="local[1]",
        retries=2,
        retry_delay=1,
    )
