"""An asset that Dagster materializes when enough of a stream waits, and one whose cluster is not there."""

import dagster as dg
import pyarrow as pa

from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaCondition,
    PravegaResource,
    build_automation_sensor,
    pravega_stream_spec,
)

SCOPE = "dagster-waiting"
ENOUGH = 200

stream = pravega_stream_spec(f"{SCOPE}/rides", key="rides")
nowhere = PravegaResource(controller_uri="tcp://127.0.0.1:1")


@dg.asset(
    ins={"rides": dg.AssetIn("rides", input_manager_key="pravega_arrow", metadata={"pravega/since": "last"})},
    automation_condition=PravegaCondition.bytes_waiting(ENOUGH) & ~dg.AutomationCondition.in_progress(),
    io_manager_key="pravega_arrow",
    metadata={"pravega/stream": f"{SCOPE}/copies"},
)
def copies(rides: pa.Table) -> pa.Table:
    return rides.select(["event"])


@dg.asset(deps=[stream], automation_condition=PravegaCondition.bytes_waiting(1, pravega=nowhere))
def never() -> None:
    raise AssertionError("its cluster is not there")


pravega = PravegaResource()
defs = dg.Definitions(
    assets=[stream, copies, never],
    sensors=[build_automation_sensor(minimum_interval_seconds=5)],
    resources={"pravega": pravega, "pravega_arrow": PravegaArrowIOManager(pravega=pravega)},
    executor=dg.in_process_executor,
)
