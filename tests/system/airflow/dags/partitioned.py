"""Hours as partitions: a DAG that follows each of them, and the example of hours and days on a stream of its own.

They are for January only: the schedule itself makes no run.
"""

import os
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any
from unittest.mock import patch

import airflow.sdk
from airflow.sdk import DAG, Asset, task
from tests.system.airflow.reading import read

from airflow_pravega.asset_events import ranges_of_events
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor

START, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 31, tzinfo=UTC)

if hasattr(airflow.sdk, "CronPartitionTimetable"):  # as of Airflow 3.2
    hour_taken = Asset("hour_taken")
    every_hour = airflow.sdk.CronPartitionTimetable("0 * * * *", timezone="UTC", run_offset=-1)

    with DAG("hours_taken", schedule=every_hour, start_date=START, end_date=END, catchup=False):
        hour = PravegaEventTimeSensor(
            task_id="wait",
            stream="system-followed/orders",
            partition=timedelta(hours=1),
            deferrable=True,
            poll_interval=1.0,
            retries=3,
            retry_delay=1,
        )

        @task.pravega_range(outlets=[hour_taken], retries=3, retry_delay=1)
        def take(stream_cuts: Any) -> list[str]:
            return sorted(event.data.decode() for event in stream_cuts.events())

        take(hour.output)

    with DAG("hours_followed", schedule=airflow.sdk.PartitionedAssetTimetable(assets=hour_taken)):

        @task(retries=3, retry_delay=1)
        def range_of_hour(triggering_asset_events: Any = None) -> dict[str, str]:
            [found] = ranges_of_events(triggering_asset_events[hour_taken])
            return found.to_json()

        read(range_of_hour())

if hasattr(airflow.sdk, "RollupMapper"):  # as of Airflow 3.3
    with patch.dict(os.environ, {"ORDERS_STREAM": "system-partitioned/orders"}):
        example = import_module("example_dags.airflow.orders_by_hour")

    orders_by_hour, orders_by_day = example.orders_by_hour, example.orders_by_day
    orders_by_hour.end_date = END
