"""Ranges of a consumer that Airflow has, too, as partitions."""

import dagster as dg
import pyarrow as pa

from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaResource,
    StreamCutPartitions,
    build_stream_cut_sensor,
    pravega_stream_spec,
)

RIDES = "system-shared/rides"
rides = pravega_stream_spec(RIDES, key="rides")
ranges = StreamCutPartitions(RIDES, consumer="shared")


@dg.asset(
    ins={"rides": dg.AssetIn("rides", input_manager_key="pravega_arrow")},
    partitions_def=ranges,
    backfill_policy=dg.BackfillPolicy.multi_run(1),
    io_manager_key="pravega_arrow",
    metadata={"pravega/stream": "system-shared/copies"},
)
def copies(rides: pa.Table) -> pa.Table:
    return rides.select(["event"])


pravega = PravegaResource()
defs = dg.Definitions(
    assets=[rides, copies],
    sensors=[
        build_stream_cut_sensor("next_copies", partitions_def=ranges, target=[copies], minimum_interval_seconds=1)
    ],
    resources={"pravega": pravega, "pravega_arrow": PravegaArrowIOManager(pravega=pravega)},
    executor=dg.in_process_executor,
)
