"""What the pictures of Dagster's pages show: a stream, its ranges as partitions, totals of each, and checks."""

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaResource,
    StreamBatches,
    StreamCutPartitions,
    build_stream_cut_sensor,
    build_stream_lag_check,
    pravega_stream_spec,
)

STREAM, TOTALS, CONSUMER = "plant/readings", "plant/totals", "totals"
COLUMNS = '{"type": "object", "properties": {"sensor": {"type": "string"}, "value": {"type": "number"}}}'

pravega = PravegaResource()
ranges = StreamCutPartitions(STREAM, consumer=CONSUMER)
readings = pravega_stream_spec(
    STREAM, options={"decode": "json", "schema_text": COLUMNS}, description="Readings of the plant's sensors, as JSON"
)


@dg.asset(
    key=TOTALS.split("/"),
    partitions_def=ranges,
    backfill_policy=dg.BackfillPolicy.multi_run(1),
    ins={"readings": dg.AssetIn(readings.key, input_manager_key="pravega_arrow")},
    io_manager_key="pravega_arrow",
)
def totals(readings: pa.Table) -> pa.Table:
    """The sum of each sensor in a range of the stream, written to another stream exactly once."""
    found = readings.group_by("sensor").aggregate([("value", "sum")]).rename_columns(["sensor", "total"])
    return found.append_column("routing_key", pc.cast(found["sensor"], pa.string()))


@dg.asset(
    key=["plant", "readings_counted"],
    partitions_def=ranges,
    backfill_policy=dg.BackfillPolicy.single_run(),
    ins={"readings": dg.AssetIn(readings.key, input_manager_key="pravega_arrow")},
)
def readings_counted(readings: StreamBatches) -> dg.MaterializeResult[None]:
    """How many readings each range has."""
    return readings.done({"rows": sum(batch.num_rows for batch in readings.reader)})


defs = dg.Definitions(
    assets=[readings, totals, readings_counted],
    asset_checks=[build_stream_lag_check(totals, stream=STREAM, consumer=CONSUMER, warn_bytes=10_000)],
    sensors=[build_stream_cut_sensor("readings_arrive", partitions_def=ranges, target=[totals])],
    resources={"pravega": pravega, "pravega_arrow": PravegaArrowIOManager(pravega=pravega)},
)
