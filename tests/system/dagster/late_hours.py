"""Hours that Dagster materializes when they are complete, and again when events of them came late.

Hours that follow each other are one run, and a file each.
"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import dagster as dg
import pyarrow.compute as pc
from pyarrow import parquet

from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaCondition,
    PravegaResource,
    StreamBatches,
    StreamOptions,
    build_automation_sensor,
    build_late_events_sensor,
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
    backfill_policy=dg.BackfillPolicy.single_run(),
    retry_policy=dg.RetryPolicy(max_retries=5, delay=5),
)
def hour(context: dg.AssetExecutionContext, events: StreamBatches) -> dg.MaterializeResult[None]:
    rows, folder = events.reader.read_all(), Path(os.environ["LATE_YEAR_FOLDER"])
    for key in context.partition_keys:
        since, until = (int(moment.timestamp() * 1000) for moment in hours.time_window_for_partition_key(key))
        mine = rows.filter(pc.and_(pc.greater_equal(rows["at"], since), pc.less(rows["at"], until)))
        parquet.write_table(mine, folder / f".{key}")
        (folder / f".{key}").replace(folder / f"{key}.parquet")
    return events.done()


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
