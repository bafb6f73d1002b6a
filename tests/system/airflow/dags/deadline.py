"""A day of event times with a deadline, 08:00 of the next day; a notifier writes down what it gets."""

import os
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from airflow.sdk import DAG
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference
from tests.system.airflow.reading import read

from airflow_pravega.deadlines import say_what_is_missing
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor

STREAM = "system-deadline/rides"
AGAIN: dict[str, Any] = {"retries": 3, "retry_delay": 1}
# Airflow 3.2 has moved it.
MODULE = "callback" if find_spec("airflow.sdk.definitions.callback") is not None else "deadline"
AsyncCallback: Any = resolve_name(f"airflow.sdk.definitions.{MODULE}:AsyncCallback")

missing = AsyncCallback(
    say_what_is_missing,
    kwargs={
        "stream": STREAM,
        "consumer": "deadline_rides/wait",
        "notify": "tests.system.airflow.reading.write_down",
        "notify_kwargs": {"file": str(Path(os.environ["AIRFLOW_HOME"], "pages"))},
    },
)
by_eight = DeadlineAlert(
    reference=DeadlineReference.DAGRUN_LOGICAL_DATE,
    interval=timedelta(hours=32),
    callback=missing,
)

with DAG("deadline_rides", schedule=None, deadline=by_eight):
    wait = PravegaEventTimeSensor(
        task_id="wait",
        stream=STREAM,
        since="{{ logical_date }}",
        until="{{ logical_date + macros.timedelta(days=1) }}",
        deferrable=True,
        poll_interval=1.0,
        **AGAIN,
    )
    read(wait.output)
