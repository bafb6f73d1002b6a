"""Ranges with event times, and days that depend on the ranges with events of their times."""

from datetime import timedelta
from typing import Any

import dagster as dg
import pyarrow as pa

from dagster_pravega import (
    EventTimePartitionMapping,
    PravegaArrowIOManager,
    PravegaResource,
    StreamCutPartitions,
    build_stream_cut_sensor,
    pravega_stream_spec,
)

SCOPE = "dagster-event-ranges"
ranges = StreamCutPartitions(f"{SCOPE}/timed", consumer="counts", ahead=timedelta())
days = dg.DailyPartitionsDefinition(start_date="2012-12-30", end_date="2013-01-10")
stream = pravega_stream_spec(f"{SCOPE}/timed", key="timed")


@dg.asset(partitions_def=ranges, ins={"timed": dg.AssetIn("timed", input_manager_key="pravega_arrow")})
def counts(timed: pa.Table) -> int:
    return int(timed.num_rows)


@dg.asset(partitions_def=days, ins={"counts": dg.AssetIn("counts", partition_mapping=EventTimePartitionMapping())})
def report(context: dg.AssetExecutionContext, counts: Any) -> dg.MaterializeResult[None]:
    keys = context.asset_partition_keys_for_input("counts")
    return dg.MaterializeResult(
        metadata={"names": sorted(keys), "events": sum(counts.values()) if isinstance(counts, dict) else counts}
    )


pravega = PravegaResource()
defs = dg.Definitions(
    assets=[stream, counts, report],
    sensors=[build_stream_cut_sensor("cuts", partitions_def=ranges, target=[counts], minimum_interval_seconds=5)],
    resources={"pravega": pravega, "pravega_arrow": PravegaArrowIOManager(pravega=pravega)},
    executor=dg.in_process_executor,
)
