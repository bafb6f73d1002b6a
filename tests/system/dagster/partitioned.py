"""Partitions of all kinds that say what they read, and one that does not: of time, of two dimensions, of a plan."""

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc
from tests.integration.dagster_pravega.days import DAYS, OPTIONS

from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaResource,
    StreamBatches,
    StreamCutPartitions,
    build_complete_partitions_sensor,
    build_cut_backfill,
    pravega_stream_spec,
)

SCOPE = "dagster-partitioned"
HALVES = dg.MultiPartitionsDefinition({"day": DAYS, "half": dg.StaticPartitionsDefinition(["am", "pm"])})
_HALF_MS = 12 * 60 * 60 * 1000

timed = pravega_stream_spec(f"{SCOPE}/timed", key="timed", options=OPTIONS)
rides = pravega_stream_spec(f"{SCOPE}/rides", key="rides")
history = StreamCutPartitions(f"{SCOPE}/rides", consumer="history")
of_timed = {"timed": dg.AssetIn("timed", input_manager_key="pravega_arrow")}
of_rides = {"rides": dg.AssetIn("rides", input_manager_key="pravega_arrow")}
ONE_A_RUN = dg.BackfillPolicy.multi_run(1)


@dg.asset(
    ins=of_timed,
    partitions_def=DAYS,
    backfill_policy=ONE_A_RUN,
    io_manager_key="pravega_arrow",
    metadata={"pravega/stream": f"{SCOPE}/days"},
)
def days(timed: pa.Table) -> pa.Table:
    return timed


@dg.asset(ins=of_timed, partitions_def=DAYS, backfill_policy=dg.BackfillPolicy.single_run())
def counts_of_days(timed: StreamBatches) -> dg.MaterializeResult[None]:
    return timed.done({"rows": timed.reader.read_all().num_rows})


@dg.asset(
    ins=of_timed,
    partitions_def=HALVES,
    backfill_policy=ONE_A_RUN,
    io_manager_key="pravega_arrow",
    metadata={"pravega/stream": f"{SCOPE}/halves"},
)
def halves(context: dg.AssetExecutionContext, timed: pa.Table) -> pa.Table:
    assert isinstance(context.partition_key, dg.MultiPartitionKey)
    half = 1 if context.partition_key.keys_by_dimension["half"] == "pm" else 0
    of_half = pc.bit_wise_and(pc.divide(timed["at"], _HALF_MS), 1)
    return timed.filter(pc.equal(of_half, half))


@dg.asset(ins=of_timed, partitions_def=dg.StaticPartitionsDefinition(["north"]), backfill_policy=ONE_A_RUN)
def regions(timed: StreamBatches) -> dg.MaterializeResult[None]:
    return timed.done()


@dg.asset(
    ins=of_rides,
    partitions_def=history,
    backfill_policy=ONE_A_RUN,
    io_manager_key="pravega_arrow",
    metadata={"pravega/stream": f"{SCOPE}/copies"},
)
def copies(rides: pa.Table) -> pa.Table:
    return rides.select(["event"])


pravega = PravegaResource()
defs = dg.Definitions(
    assets=[timed, rides, days, counts_of_days, halves, regions, copies],
    jobs=[build_cut_backfill("plan_history", partitions_def=history)],
    sensors=[
        build_complete_partitions_sensor(
            f"complete_{asset.key.to_user_string()}",
            stream=f"{SCOPE}/timed",
            partitions_def=definition,
            target=[asset],
            minimum_interval_seconds=1,
        )
        for asset, definition in ((days, DAYS), (halves, HALVES))
    ],
    resources={"pravega": pravega, "pravega_arrow": PravegaArrowIOManager(pravega=pravega)},
    executor=dg.in_process_executor,
)
