"""Flights by the month in which they departed, as a Dagster asset with partitions of a stream that has event times.

Each month is an interval of event times: its range comes from the stream's watermarks, is kept in the cut ledger, and
only its flights are read. Materialize all partitions by a backfill from the asset's page: its runs go side by side. The
sensor, once it is started, runs every month when the stream has all of it.

From the root of the repository, with a Pravega that `PRAVEGA_CONTROLLER_URI` names:

    dagster dev -f example_dags/dagster/flights_months.py

`FLIGHTS_STREAM` names another stream, `FLIGHTS_FOLDER` another folder.
"""

import os
from tempfile import gettempdir

import dagster as dg
from example_dags.flights import BY_DEPARTURE

from dagster_pravega import (
    PravegaResource,
    PravegaSparkIOManager,
    StreamRead,
    build_complete_partitions_sensor,
    pravega_stream_spec,
)

FLIGHTS = os.environ.get("FLIGHTS_STREAM", "examples/flights")
FOLDER = os.environ.get("FLIGHTS_FOLDER", f"{gettempdir()}/flights")
MONTHS = dg.MonthlyPartitionsDefinition(start_date="2013-01-01", end_date="2014-01-01")

flights_stream = pravega_stream_spec(
    FLIGHTS, group_name="flights", description="Departures from New York, as JSON", options=BY_DEPARTURE
)


@dg.asset(
    partitions_def=MONTHS,
    ins={"flights": dg.AssetIn(flights_stream.key, input_manager_key="pravega_spark")},
    group_name="flights",
    kinds={"spark", "parquet"},
    retry_policy=dg.RetryPolicy(max_retries=3, delay=60),
)
def flights_of_month(context: dg.AssetExecutionContext, flights: StreamRead) -> dg.MaterializeResult[None]:
    """The flights of one month, as Parquet files."""
    path = f"{FOLDER}/{context.partition_key}"
    flights.frame.write.mode("overwrite").parquet(path)
    return flights.done({"path": dg.MetadataValue.path(path)})


complete_months = build_complete_partitions_sensor(
    "complete_months", stream=FLIGHTS, partitions_def=MONTHS, target=[flights_of_month]
)

pravega = PravegaResource()
defs = dg.Definitions(
    assets=[flights_stream, flights_of_month],
    sensors=[complete_months],
    resources={"pravega": pravega, "pravega_spark": PravegaSparkIOManager(pravega=pravega)},
)
