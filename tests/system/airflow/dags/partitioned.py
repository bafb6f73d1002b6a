"""The example of hours and days, on a stream of its own, and for January only: the schedule itself makes no run."""

import os
from datetime import UTC, datetime
from importlib import import_module
from unittest.mock import patch

import airflow.sdk

if hasattr(airflow.sdk, "RollupMapper"):  # as of Airflow 3.3
    with patch.dict(os.environ, {"ORDERS_STREAM": "system-partitioned/orders"}):
        example = import_module("example_dags.airflow.orders_by_hour")

    orders_by_hour, orders_by_day = example.orders_by_hour, example.orders_by_day
    orders_by_hour.end_date = datetime(2026, 1, 31, tzinfo=UTC)
