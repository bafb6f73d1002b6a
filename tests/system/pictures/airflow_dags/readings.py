"""What the pictures of Airflow's pages show: a stream that starts runs, days by event time, and another stream."""

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG, Asset, AssetWatcher, CronDataIntervalTimetable, task

from airflow_pravega.operators.events import PravegaReadEventsOperator, PravegaWriteEventsOperator
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor
from airflow_pravega.triggers.stream_cut import PravegaStreamCutEventTrigger

STREAM, TOTALS = "plant/readings", "plant/totals"
AGAIN: dict[str, Any] = {"deferrable": True, "poll_interval": 1.0, "retries": 1}

moved = PravegaStreamCutEventTrigger(STREAM, consumer="totals")
readings = Asset("readings", uri=f"pravega://{STREAM}", watchers=[AssetWatcher(name="moved", trigger=moved)])
totals = Asset("totals", uri=f"pravega://{TOTALS}")

# Airflow starts the watchers of a DAG when it parses the file of one that is not paused.
with DAG("readings_totals", schedule=[readings], max_active_runs=1, tags=["pravega"], is_paused_upon_creation=False):
    wait = PravegaStreamCutSensor(task_id="wait", stream=STREAM, consumer="totals", min_events=20, **AGAIN)
    read = PravegaReadEventsOperator(task_id="read", stream=STREAM, stream_cuts=wait.output, form="json")

    @task
    def add_up(found: Any) -> list[dict[str, Any]]:
        """The sum of each sensor, as events."""
        sums: dict[str, float] = {}
        for event in found["events"]:
            sums[event["sensor"]] = sums.get(event["sensor"], 0.0) + event["value"]
        return [{"sensor": sensor, "total": total} for sensor, total in sorted(sums.items())]

    PravegaWriteEventsOperator(task_id="write", stream=TOTALS, events=add_up(read.output), outlets=[totals])

with DAG("totals_reported", schedule=[totals], tags=["pravega"]):

    @task
    def report() -> None:
        """Stands for what uses the totals."""

    report()

with DAG(
    "readings_daily",
    schedule=CronDataIntervalTimetable("@daily", timezone="UTC"),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    end_date=datetime(2026, 1, 8, tzinfo=UTC),
    catchup=False,
    tags=["pravega"],
):
    day = PravegaEventTimeSensor(task_id="wait", stream=STREAM, **AGAIN)

    @task
    def process(cuts: Any) -> Any:
        """Stands for the work on a day."""
        return cuts["interval"]

    process(day.output)
