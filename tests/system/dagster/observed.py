"""A stream that Dagster observes every minute, and an asset that it materializes when there is something new."""

import os
import threading
from pathlib import Path

import dagster as dg
import pyarrow as pa

from dagster_pravega import PravegaArrowIOManager, PravegaResource, build_observed_stream, pravega_stream_spec

SCOPE = "dagster-observed"
# A run waits here until the test has removed the file.
GATE = Path(os.environ["DAGSTER_HOME"]) / "gate"
_POLL_SECONDS = 0.1

stream = pravega_stream_spec(f"{SCOPE}/rides", key="rides")
rides = build_observed_stream(stream, automation_condition=dg.AutomationCondition.on_cron("* * * * *"))


@dg.asset(
    ins={
        "rides": dg.AssetIn("rides", input_manager_key="pravega_arrow", metadata={"pravega/since": "last"}),
    },
    automation_condition=dg.AutomationCondition.eager(),
    io_manager_key="pravega_arrow",
    metadata={"pravega/stream": f"{SCOPE}/copies"},
)
def copies(rides: pa.Table) -> pa.Table:
    while GATE.exists():
        GATE.with_name("waiting").touch()
        threading.Event().wait(_POLL_SECONDS)
    return rides.select(["event"])


pravega = PravegaResource()
defs = dg.Definitions(
    assets=[rides, copies],
    sensors=[
        dg.AutomationConditionSensorDefinition(
            "automation", target=dg.AssetSelection.all(include_sources=True), minimum_interval_seconds=5
        )
    ],
    resources={"pravega": pravega, "pravega_arrow": PravegaArrowIOManager(pravega=pravega)},
    executor=dg.in_process_executor,
)
