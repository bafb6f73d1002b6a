"""Hours that Dagster materializes when they are complete, and again when events of them came late."""

import os
from datetime import UTC, datetime, timedelta
from typing import Final

import dagster as dg
import pyarrow as pa

from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaCondition,
    PravegaResource,
    StreamOptions,
    build_automation_sensor,
    build_late_events_sensor,
    pravega_output,
    pravega_stream_spec,
)

SCOPE: Final = "late-year"
START: Final = datetime(2025, 1, 1, tzinfo=UTC)
OPTIONS: Final = StreamOptions(decode="json", columns="id long, at long", event_time="at")
RUNNING: Final = dg.DefaultSensorStatus.RUNNING

stream = pravega_stream_spec(f"{SCOPE}/timed", key="events", options=OPTIONS)
hours = dg.HourlyPartitionsDefinition(
    start_date=START, end_date=START + timedelta(hours=int(os.environ.get("LATE_YEAR_HOURS", "48")))
)
due = PravegaCondition.watermark_past() & dg.AutomationCondition.missing()


@dg.asset(
    partitions_def=hours,
    ins={"events": dg.AssetIn("events", input_manager_key="pravega_arrow")},
    automation_condition=due & ~dg.AutomationCondition.in_progress(),
    retry_policy=dg.RetryPolicy(max_retries=5, delay=5),
    **pravega_output(f"{SCOPE}/copies", io_manager_key="pravega_arrow"),
)
def hour(events: pa.Table) -> pa.Table:
    return events


pravega = PravegaResource()
defs = dg.Definitions(
    assets=[stream, hour],
    sensors=[
        build_automation_sensor(minimum_interval_seconds=5, default_status=RUNNING),
        build_late_events_sensor(
            "late",
            stream=f"{SCOPE}/timed",
            asset=hour,
            options=OPTIONS,
            late="rerun",
            minimum_interval_seconds=5,
            default_status=RUNNING,
        ),
    ],
    resources={"pravega": pravega, "pravega_arrow": PravegaArrowIOManager(pravega=pravega)},
    executor=dg.in_process_executor,
)
