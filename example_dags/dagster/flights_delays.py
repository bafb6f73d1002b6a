"""Flight delays per carrier and day, out of a stream of flights, as Dagster assets.

The stream is an external asset: others write to it. `flights_files` takes exactly one range of it into Parquet files;
run it again for the same range, and the files get the same rows. `delays` writes the delays per carrier and day of
those flights to another stream, exactly once per run, retries and re-executions included.

From the root of the repository, with a Pravega that `PRAVEGA_CONTROLLER_URI` names:

    dagster dev -f example_dags/dagster/flights_delays.py

The launchpad asks for the range (two texts of StreamCuts, such as an Airflow sensor's output) and the folder. In a
program, `run_config` says the same to `dagster.materialize`. `FLIGHTS_STREAM` and `DELAYS_STREAM` name other streams.
"""

import os
from collections.abc import Mapping
from typing import Any

import dagster as dg
from example_dags.flights import delays_per_carrier_and_day, typed_flights
from pyspark.sql import DataFrame

from dagster_pravega import PravegaResource, PravegaSparkIOManager, StreamRead, pravega_stream_spec, spark_session

FLIGHTS = os.environ.get("FLIGHTS_STREAM", "examples/flights")
DELAYS = os.environ.get("DELAYS_STREAM", "examples/delays")

flights_stream = pravega_stream_spec(FLIGHTS, group_name="flights", description="Departures from New York, as JSON")


class Folder(dg.ConfigurableResource["Folder"]):
    """The folder of the files."""

    path: str

    @property
    def flights(self) -> str:
        """The Parquet files of the flights."""
        return f"{self.path}/flights"


@dg.asset(
    ins={"flights": dg.AssetIn(flights_stream.key, input_manager_key="pravega_spark")},
    group_name="flights",
    kinds={"spark", "parquet"},
)
def flights_files(flights: StreamRead, folder: Folder) -> dg.MaterializeResult[None]:
    """The flights of one range of the stream, as Parquet files."""
    typed_flights(flights.frame).write.mode("overwrite").parquet(folder.flights)
    metadata = {"path": dg.MetadataValue.path(folder.flights), **flights.metadata()}
    return dg.MaterializeResult(metadata=metadata, data_version=flights.data_version)


# Its key is that of the stream, as of the gate in `delays_schema`: they are one asset.
@dg.asset(
    key=DELAYS.split("/"),
    deps=[flights_files],
    io_manager_key="pravega_spark",
    group_name="flights",
    kinds={"spark", "pravega"},
)
def delays(folder: Folder) -> DataFrame:
    """The delays per carrier and day of those flights, as events."""
    return delays_per_carrier_and_day(spark_session().read.parquet(folder.flights))


def run_config(cuts: Mapping[str, str], path: str) -> dict[str, Any]:
    """The run config for one range, `{"start": text, "end": text}` as a sensor of Airflow returns it, and a folder."""
    return {
        "ops": {"flights_files": {"inputs": {"flights": {end: cuts[end] for end in ("start", "end")}}}},
        "resources": {"folder": {"config": {"path": path}}},
    }


defs = dg.Definitions(
    assets=[flights_stream, flights_files, delays],
    resources={
        "pravega_spark": PravegaSparkIOManager(pravega=PravegaResource()),
        "folder": Folder.configure_at_launch(),
    },
)
