"""Flight delays per carrier and day, as in `flights_taskflow`, without Spark: `@task.pravega`, and Polars.

The sensor hands on a range of the stream. The function gets the range as a LazyFrame, which reads a few megabytes at a
time, and what it returns is written to the stream of delays, exactly once: run it again for the same logical date, and
nothing is added.

It reaches Pravega by the connection `pravega_default`.
"""

from typing import Any

import polars as pl
from airflow.sdk import DAG, Param, task

from airflow_pravega.operators.stream import PravegaCreateStreamOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

FLIGHTS = {"decode": "json", "columns": "departure string, carrier string, dep_delay double"}

with DAG(
    "flights_polars",
    schedule=None,
    doc_md=__doc__,
    max_active_runs=1,
    params={
        "flights": Param("examples/flights", type="string", description="stream of flights"),
        "delays": Param("examples/delays", type="string", description="stream of delays per carrier and day"),
    },
) as flights_polars:
    make = PravegaCreateStreamOperator(task_id="make", stream="{{ params.delays }}")
    wait = PravegaStreamCutSensor(task_id="wait", stream="{{ params.flights }}", deferrable=True)

    @task.pravega(options=FLIGHTS, into="{{ params.delays }}")
    def delays(flights: pl.LazyFrame) -> pl.LazyFrame:
        """Make the delays of a range of flights. Sums, not means: a day that two ranges share can be added up."""
        return flights.group_by(pl.col("departure").str.slice(0, 10).alias("day"), "carrier").agg(
            pl.len().alias("flights"),
            pl.col("dep_delay").count().alias("departed"),
            pl.col("dep_delay").sum().alias("delay_minutes"),
        )

    cuts: Any = wait.output  # for type checkers: the function gets a LazyFrame, the task a range
    make >> delays(cuts)
