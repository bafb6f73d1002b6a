"""Ranges of a plan, whose runs take turns: two of each backfill at a time by a tag, and one by a pool."""

import fcntl
import os
import threading
from pathlib import Path

import dagster as dg
import pyarrow as pa

from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaResource,
    StreamCutPartitions,
    build_cut_backfill,
    pravega_stream_spec,
)

SCOPE = "dagster-limited"
HOME = Path(os.environ["DAGSTER_HOME"])
# A run waits here while the file is there.
GATE = HOME / "gate"
_POLL_SECONDS = 0.1
plan = StreamCutPartitions(f"{SCOPE}/rides", consumer="limited")
rides = pravega_stream_spec(f"{SCOPE}/rides", key="rides")


@dg.asset(
    ins={"rides": dg.AssetIn("rides", input_manager_key="pravega_arrow")},
    partitions_def=plan,
    pool="spark",
    backfill_policy=dg.BackfillPolicy.multi_run(1),
    io_manager_key="pravega_arrow",
    metadata={"pravega/stream": f"{SCOPE}/copies"},
)
def copies(rides: pa.Table) -> pa.Table:
    with (HOME / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if another run is at work
        while GATE.exists():
            (HOME / "waiting").touch()
            threading.Event().wait(_POLL_SECONDS)
        return rides.select(["event"])


pravega = PravegaResource()
defs = dg.Definitions(
    assets=[rides, copies],
    jobs=[build_cut_backfill("plan", partitions_def=plan)],
    resources={"pravega": pravega, "pravega_arrow": PravegaArrowIOManager(pravega=pravega)},
    executor=dg.in_process_executor,
)
