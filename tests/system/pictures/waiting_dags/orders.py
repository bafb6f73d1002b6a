"""What the pictures of partitions, deadlines and questions show: hours and days of orders, and their loss."""

import os
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any
from unittest.mock import patch

from airflow.sdk import DAG, task
from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference

from airflow_pravega.deadlines import say_what_is_missing
from airflow_pravega.operators.interval_decision import PravegaIntervalDecisionOperator
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

STREAM = "shop/orders"
AGAIN: dict[str, Any] = {"retries": 3, "retry_delay": 1}

with patch.dict(os.environ, {"ORDERS_STREAM": STREAM}):
    example = import_module("example_dags.airflow.orders_by_hour")

orders_by_hour, orders_by_day = example.orders_by_hour, example.orders_by_day
orders_by_hour.end_date = datetime(2026, 1, 31, tzinfo=UTC)

by_eight = DeadlineAlert(
    reference=DeadlineReference.DAGRUN_LOGICAL_DATE,
    interval=timedelta(hours=32),
    callback=AsyncCallback(say_what_is_missing, kwargs={"stream": STREAM, "consumer": "orders_of_day/wait"}),
    name="The day is complete by 08:00",
)

with DAG("orders_of_day", schedule=None, deadline=by_eight):
    PravegaEventTimeSensor(
        task_id="wait",
        stream=STREAM,
        since="{{ logical_date }}",
        until="{{ logical_date + macros.timedelta(days=1) }}",
        deferrable=True,
        **AGAIN,
    )

with DAG("orders_kept", schedule=None):
    decide = PravegaIntervalDecisionOperator(task_id="decide", stream=STREAM, consumer="orders_kept/wait", **AGAIN)
    wait = PravegaStreamCutSensor(task_id="wait", stream=STREAM, deferrable=True, **AGAIN)

    @task.pravega_range
    def count(stream_cuts: Any) -> int:
        """Stands for the work on a range."""
        return sum(1 for _ in stream_cuts.events())

    cuts: Any = wait.output
    decide >> wait
    count(cuts)
