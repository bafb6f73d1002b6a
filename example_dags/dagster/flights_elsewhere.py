"""Delays of flights by carrier, computed by a Spark job that Dagster starts in a process of its own, by Pipes.

Each run reads what was written since the last one. The job, `example_dags/spark/delays_of_carriers.py`, counts delays
by carrier and writes them to a stream, exactly once; it starts its own Spark. The process of Dagster needs no Spark.

From the root of the repository, with a Pravega that `PRAVEGA_CONTROLLER_URI` names:

    dagster dev -f example_dags/dagster/flights_elsewhere.py

`FLIGHTS_STREAM` and `CARRIERS_STREAM` name other streams.
"""

import os
import sys
from pathlib import Path

import dagster as dg

from dagster_pravega import HandedRange, PravegaResource, PravegaSparkIOManager, hand_over, pravega_stream_spec

FLIGHTS = os.environ.get("FLIGHTS_STREAM", "examples/flights")
CARRIERS = os.environ.get("CARRIERS_STREAM", "examples/carriers")
JOB = Path(__file__).parents[1] / "spark" / "delays_of_carriers.py"

flights_stream = pravega_stream_spec(FLIGHTS, group_name="flights", description="Departures from New York, as JSON")


@dg.asset(
    ins={
        "flights": dg.AssetIn(
            flights_stream.key, input_manager_key="pravega_spark", metadata={"pravega/since": "last"}
        ),
    },
    group_name="flights",
    kinds={"spark"},
    retry_policy=dg.RetryPolicy(max_retries=2, delay=10),
)
def delays_of_carriers(
    context: dg.AssetExecutionContext,
    flights: HandedRange,
    pravega: PravegaResource,
    jobs: dg.PipesSubprocessClient,
) -> dg.MaterializeResult[None]:
    """The delays of each carrier's new flights."""
    work = hand_over(context, pravega, flights, writes=CARRIERS)
    return work.done(
        jobs.run(context=context, command=[sys.executable, str(JOB)], extras=work.extras, env=work.secrets)
    )


pravega_cluster = PravegaResource()
defs = dg.Definitions(
    assets=[flights_stream, delays_of_carriers],
    resources={
        "pravega": pravega_cluster,
        "pravega_spark": PravegaSparkIOManager(pravega=pravega_cluster),
        "jobs": dg.PipesSubprocessClient(),
    },
)
