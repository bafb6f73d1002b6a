"""Flights by the month in which they departed, out of a stream whose source notes event times.

`flights_month` runs once a month. Its sensor waits, without a worker slot, until the stream's watermarks say that all
flights of the run's data interval are there, and takes the range that has them. The read keeps the flights of these
times, and records in the cut ledger that the interval is done.

`flights_year` takes the twelve months of 2013 at once: a plan, and a mapped read for each month that is not done. Clear
its run to continue after a failure.

Both reach Pravega by the connection `pravega_default`. The root of the repository has to be on Python's path.
"""

from datetime import UTC, datetime
from tempfile import gettempdir
from typing import Any

from airflow.sdk import DAG, Param
from airflow.timetables.interval import CronDataIntervalTimetable  # which Airflow 3.1 has nowhere else
from example_dags.flights import AHEAD, BY_DEPARTURE

from airflow_pravega.operators.backfill import PravegaBackfillPlanOperator
from airflow_pravega.operators.spark import PravegaSparkReadOperator
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor

FLIGHTS = Param("examples/flights", type="string", description="stream of flights")
OUTPUT = Param(f"{gettempdir()}/flights", type="string", description="folder of the Parquet files")

with DAG(
    "flights_month",
    # Not "@monthly": a run that Airflow makes for it has a data interval without length.
    schedule=CronDataIntervalTimetable("@monthly", timezone="UTC"),
    start_date=datetime(2013, 1, 1, tzinfo=UTC),
    end_date=datetime(2013, 12, 1, tzinfo=UTC),
    catchup=False,
    doc_md=__doc__,
    params={"flights": FLIGHTS, "output": OUTPUT},
) as flights_month:
    wait = PravegaEventTimeSensor(
        task_id="wait", stream="{{ params.flights }}", ahead=AHEAD, deferrable=True, poll_interval=1.0
    )
    PravegaSparkReadOperator(
        task_id="read",
        stream="{{ params.flights }}",
        stream_cuts=wait.output,
        options=BY_DEPARTURE,
        output_path="{{ params.output }}/{{ data_interval_start | ds }}",
        digest=True,
    )


def one_month(interval: dict[str, str]) -> dict[str, Any]:
    """The arguments of the read of one month."""
    return {"stream_cuts": interval, "output_path": f"{{{{ params.output }}}}/{interval['since'][:10]}"}


with DAG("flights_year", schedule=None, doc_md=__doc__, params={"flights": FLIGHTS, "output": OUTPUT}) as flights_year:
    plan = PravegaBackfillPlanOperator(
        task_id="plan",
        stream="{{ params.flights }}",
        since="2013-01-01T00:00:00Z",
        until="2014-01-01T00:00:00Z",
        every="1mo",
        ahead=AHEAD,
        consumer="flights_year",
    )
    PravegaSparkReadOperator.partial(
        task_id="read", stream="{{ params.flights }}", options=BY_DEPARTURE, digest=True, max_active_tis_per_dag=4
    ).expand_kwargs(plan.output.map(one_month))
