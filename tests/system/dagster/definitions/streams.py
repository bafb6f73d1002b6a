"""Assets that copy ranges of streams into other streams, exactly once; each test has a scope of its own."""

import dagster as dg
from pyspark.sql import DataFrame

from dagster_pravega import (
    PravegaResource,
    PravegaSparkIOManager,
    StreamCutPartitions,
    build_stream_cut_sensor,
    pravega_stream_spec,
)

SCOPES = ("dagster-sensor", "dagster-backfill", "dagster-outage")


def copying(scope: str) -> dg.Definitions:
    """The stream `rides` of a scope, its ranges as partitions, and the asset that copies each into `copies`."""
    name = scope.replace("-", "_")
    rides = pravega_stream_spec(f"{scope}/rides", key=[name, "rides"])
    ranges = StreamCutPartitions(f"{scope}/rides", consumer="copies")

    @dg.asset(
        key=[name, "copies"],
        partitions_def=ranges,
        ins={"rides": dg.AssetIn(rides.key, input_manager_key="pravega_spark")},
        io_manager_key="pravega_spark",
        metadata={"pravega/stream": f"{scope}/copies"},
    )
    def copies(rides: DataFrame) -> DataFrame:
        return rides.selectExpr("event", "cast(event as string) as routing_key")

    sensor = build_stream_cut_sensor(
        f"{name}_ranges", partitions_def=ranges, target=[copies], minimum_interval_seconds=1
    )
    return dg.Definitions(assets=[rides, copies], sensors=[sensor])


pravega = PravegaResource()
defs = dg.Definitions.merge(
    *map(copying, SCOPES),
    dg.Definitions(
        resources={
            "pravega": pravega,
            "pravega_spark": PravegaSparkIOManager(pravega=pravega, master="local[1]"),
        },
        executor=dg.in_process_executor,
    ),
)
