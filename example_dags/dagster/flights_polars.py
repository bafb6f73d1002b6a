"""Flight delays per carrier and day, as in `flights_delays`, without Spark: one asset, a LazyFrame of Polars.

The stream is an external asset: others write to it. `delays` reads exactly one range of it, a few megabytes at a time,
and writes the delays per carrier and day to another stream, exactly once per run, retries and re-executions included.

From the root of the repository, with a Pravega that `PRAVEGA_CONTROLLER_URI` names:

    dagster dev -f example_dags/dagster/flights_polars.py

The launchpad asks for the range, two texts of StreamCuts. `FLIGHTS_STREAM` and `DELAYS_STREAM` name other streams.
"""

import os
from collections.abc import Mapping
from typing import Any

import dagster as dg
import polars as pl

from dagster_pravega import PravegaArrowIOManager, PravegaResource, StreamOptions, pravega_stream_spec

FLIGHTS = os.environ.get("FLIGHTS_STREAM", "examples/flights")
DELAYS = os.environ.get("DELAYS_STREAM", "examples/delays")

flights_stream = pravega_stream_spec(
    FLIGHTS,
    group_name="flights",
    description="Departures from New York, as JSON",
    options=StreamOptions(decode="json", columns="departure string, carrier string, dep_delay double"),
)


@dg.asset(
    key=DELAYS.split("/"),
    ins={"flights": dg.AssetIn(flights_stream.key, input_manager_key="pravega_arrow")},
    io_manager_key="pravega_arrow",
    group_name="flights",
    kinds={"polars", "pravega"},
)
def delays(flights: pl.LazyFrame) -> pl.LazyFrame:
    """The delays per carrier and day, as events. Sums, not means: a day that two ranges share can be added up."""
    return flights.group_by(pl.col("departure").str.slice(0, 10).alias("day"), "carrier").agg(
        pl.len().alias("flights"),
        pl.col("dep_delay").count().alias("departed"),
        pl.col("dep_delay").sum().alias("delay_minutes"),
        pl.col("carrier").first().alias("routing_key"),
    )


def run_config(cuts: Mapping[str, str]) -> dict[str, Any]:
    """The run config for one range, `{"start": text, "end": text}` as a sensor of Airflow returns it."""
    return {"ops": {delays.op.name: {"inputs": {"flights": {end: cuts[end] for end in ("start", "end")}}}}}


defs = dg.Definitions(
    assets=[flights_stream, delays],
    resources={"pravega_arrow": PravegaArrowIOManager(pravega=PravegaResource())},
)
