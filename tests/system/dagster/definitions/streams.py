"""Assets that copy ranges of streams into other streams, exactly once; each test has a scope of its own."""

import os
import threading
from pathlib import Path

import dagster as dg
import pyarrow as pa
from pyspark.sql import DataFrame

from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaResource,
    PravegaSparkIOManager,
    StreamBatches,
    StreamCutPartitions,
    build_stream_cut_sensor,
    pravega_stream_spec,
)

SCOPES = ("dagster-sensor", "dagster-backfill", "dagster-outage", "dagster-again", "dagster-jvm")
# A run waits here until the test has removed the file.
GATE = Path(os.environ["DAGSTER_HOME"]) / "gate"
_POLL_SECONDS = 0.1


def copying(scope: str) -> dg.Definitions:
    """The stream `rides` of a scope, its ranges as partitions, and assets that copy or count each of them."""
    name = scope.replace("-", "_")
    rides = pravega_stream_spec(f"{scope}/rides", key=[name, "rides"])
    ranges = StreamCutPartitions(f"{scope}/rides", consumer="copies")
    by_spark = dg.AssetIn(rides.key, input_manager_key="pravega_spark")
    by_arrow = dg.AssetIn(rides.key, input_manager_key="pravega_arrow")

    def wait_at_gate() -> None:
        while GATE.exists():
            GATE.with_name("waiting").touch()
            threading.Event().wait(_POLL_SECONDS)

    @dg.asset(
        key=[name, "copies"],
        partitions_def=ranges,
        backfill_policy=dg.BackfillPolicy.multi_run(1),
        ins={"rides": by_arrow},
        io_manager_key="pravega_arrow",
        metadata={"pravega/stream": f"{scope}/copies"},
    )
    def copies(rides: pa.Table) -> pa.Table:
        wait_at_gate()
        return rides.select(["event"])

    @dg.asset(
        key=[name, "spark_copies"],
        partitions_def=ranges,
        backfill_policy=dg.BackfillPolicy.multi_run(1),
        ins={"rides": by_spark},
        io_manager_key="pravega_spark",
        metadata={"pravega/stream": f"{scope}/spark-copies"},
        retry_policy=dg.RetryPolicy(max_retries=1),
    )
    def spark_copies(rides: DataFrame) -> DataFrame:
        assert not rides.isEmpty()  # its JVM is at work before it waits
        wait_at_gate()
        return rides.selectExpr("event", "cast(event as string) as routing_key")

    @dg.asset(
        key=[name, "counts"],
        partitions_def=ranges,
        backfill_policy=dg.BackfillPolicy.single_run(),
        ins={"rides": by_arrow},
    )
    def counts(rides: StreamBatches) -> dg.MaterializeResult[None]:
        return rides.done({"rows": rides.reader.read_all().num_rows})

    sensor = build_stream_cut_sensor(
        f"{name}_ranges", partitions_def=ranges, target=[copies], minimum_interval_seconds=1
    )
    return dg.Definitions(assets=[rides, copies, spark_copies, counts], sensors=[sensor])


pravega = PravegaResource()
defs = dg.Definitions.merge(
    *map(copying, SCOPES),
    dg.Definitions(
        resources={
            "pravega": pravega,
            "pravega_arrow": PravegaArrowIOManager(pravega=pravega),
            "pravega_spark": PravegaSparkIOManager(pravega=pravega, master="local[1]"),
        },
        executor=dg.in_process_executor,
    ),
)
