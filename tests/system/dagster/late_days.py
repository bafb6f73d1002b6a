"""Days that Dagster materializes when they are complete, and again when events of them came late."""

import dagster as dg
import pyarrow as pa
from tests.integration.dagster_pravega.days import DAYS

from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaCondition,
    PravegaResource,
    build_automation_sensor,
    build_late_events_sensor,
    pravega_output,
    pravega_stream_spec,
)

SCOPE = "dagster-late"
OPTIONS = {"decode": "json", "columns": "at long", "event_time": "at"}

stream = pravega_stream_spec(f"{SCOPE}/timed", key="events", options=OPTIONS)
due = PravegaCondition.watermark_past() & dg.AutomationCondition.missing()


@dg.asset(
    partitions_def=DAYS,
    ins={"events": dg.AssetIn("events", input_manager_key="pravega_arrow")},
    automation_condition=(due | PravegaCondition.late_events()) & ~dg.AutomationCondition.in_progress(),
    **pravega_output(f"{SCOPE}/copies", io_manager_key="pravega_arrow"),
)
def day(events: pa.Table) -> pa.Table:
    return events


pravega = PravegaResource()
defs = dg.Definitions(
    assets=[stream, day],
    sensors=[
        build_automation_sensor(minimum_interval_seconds=5),
        build_late_events_sensor(
            "search",
            stream=f"{SCOPE}/timed",
            asset=day,
            options=OPTIONS,
            late="report",
            minimum_interval_seconds=5,
        ),
    ],
    resources={"pravega": pravega, "pravega_arrow": PravegaArrowIOManager(pravega=pravega)},
    executor=dg.in_process_executor,
)
