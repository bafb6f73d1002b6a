"""Hours of orders are partitions, and a day runs when all of its hours are there (Airflow 3.3).

Each run of `orders_by_hour` waits until the stream is complete for its hour of event times, and counts the orders of
the hour. The event of its asset has the hour as its partition key, and the range. When the events of all 24 hours of a
day are there, Airflow starts `orders_by_day`, which reads one range: that of the hours' events. So it waits for
nothing, and reads what the hours have read.

`airflow backfill create --dag-id orders_by_hour` makes hours of the past; the days follow by themselves.

Both reach Pravega by the connection `pravega_default`. The stream is `examples/orders`, or what the variable
`ORDERS_STREAM` of the environment names. Its orders have the time at which they were made in `ordered_at`, and its
writers note event times.
"""

import os
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
from airflow.sdk import (
    DAG,
    Asset,
    CronPartitionTimetable,
    DayWindow,
    PartitionedAssetTimetable,
    RollupMapper,
    StartOfDayMapper,
    WaitForAll,
    task,
)

from airflow_pravega.asset_events import union_of_events
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor

STREAM = os.environ.get("ORDERS_STREAM", "examples/orders")
# By `event_time`, a read of a range leaves out the events of other times.
ORDERS = {"decode": "json", "columns": "id long, ordered_at timestamp", "event_time": "ordered_at"}
START = datetime(2026, 1, 1, tzinfo=UTC)

orders_of_hour = Asset("orders_of_hour")
# At each full hour the partition of the hour before.
every_hour = CronPartitionTimetable("0 * * * *", timezone="UTC", run_offset=-1)
every_day = PartitionedAssetTimetable(
    assets=orders_of_hour,
    default_partition_mapper=RollupMapper(
        upstream_mapper=StartOfDayMapper(), window=DayWindow(), wait_policy=WaitForAll()
    ),
)

with DAG("orders_by_hour", schedule=every_hour, start_date=START, catchup=False, doc_md=__doc__) as orders_by_hour:
    wait = PravegaEventTimeSensor(
        task_id="wait", stream=STREAM, partition=timedelta(hours=1), deferrable=True, retries=1
    )

    @task.pravega(options=ORDERS, outlets=[orders_of_hour], retries=1)
    def count(orders: pl.LazyFrame) -> int:
        """Stands for the work on an hour."""
        return int(orders.select(pl.len()).collect().item())

    hour: Any = wait.output  # for type checkers: the function gets a LazyFrame, the task a range
    count(hour)

with DAG("orders_by_day", schedule=every_day, doc_md=__doc__) as orders_by_day:

    @task(retries=1)
    def day(triggering_asset_events: Any = None) -> dict[str, str]:
        """The range of all hours of the day."""
        with PravegaHook().get_client() as client:
            return union_of_events(triggering_asset_events[orders_of_hour], client).to_json()

    @task.pravega(options=ORDERS, retries=1)
    def report(orders: pl.LazyFrame) -> list[int]:
        """Stands for the work on a day."""
        return sorted(orders.select("id").collect()["id"].to_list())

    whole: Any = day()
    report(whole)
