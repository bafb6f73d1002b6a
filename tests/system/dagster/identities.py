"""Assets, ops and sensors whose runs meet: each has to keep to its own. Tests say with files what goes wrong."""

import os
import signal
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaResource,
    StreamCutPartitions,
    build_row_count_check,
    build_stream_cut_sensor,
    pravega_stream_spec,
)

SCOPE = "dagster-identities"
HOME = Path(os.environ["DAGSTER_HOME"])
SOURCE = f"{SCOPE}/source"
LAST = {"pravega/since": "last"}
PARTITIONS = dg.StaticPartitionsDefinition(["bad", "good"])

source = pravega_stream_spec(SOURCE, key="source").with_io_manager_key("io")
since_last = dg.AssetIn("source", input_manager_key="io", metadata=LAST)


def is_to_fail(what: str) -> bool:
    """Whether the test wants something to fail."""
    return (HOME / f"fail {what}").exists()


def read(table: pa.Table) -> list[str]:
    return sorted(bytes(each).decode() for each in table["event"].to_pylist())


def rows_of(context: dg.AssetExecutionContext) -> pa.Table:
    """The words in the run's tag."""
    return pa.table({"event": context.run.tags["rows"].split()})


class DyingIOManager(PravegaArrowIOManager):
    """Dies after its write, before anything is recorded about it, if the test wants that."""

    def save(self, context: dg.OutputContext, obj: Any, *write: Any) -> None:
        super().save(context, obj, *write)
        if is_to_fail("after the write"):
            os.kill(os.getpid(), signal.SIGKILL)


# --- what a run has written ---------------------------------------------------------------------------------


@dg.asset(io_manager_key="io", metadata={"pravega/stream": f"{SCOPE}/days"})
def days(context: dg.AssetExecutionContext) -> pa.Table:
    return rows_of(context)


@dg.asset(ins={"days": dg.AssetIn(input_manager_key="io")})
def report(days: pa.Table) -> dg.MaterializeResult[None]:
    if is_to_fail("report"):
        raise RuntimeError("the disk is full")
    return dg.MaterializeResult(metadata={"read": " ".join(read(days))})


@dg.asset(
    io_manager_key="io",
    metadata={"pravega/stream": f"{SCOPE}/parted"},
    partitions_def=PARTITIONS,
    retry_policy=dg.RetryPolicy(max_retries=1),
)
def parted(context: dg.AssetExecutionContext) -> pa.Table:
    if is_to_fail("first try") and not context.retry_number:
        raise RuntimeError("the network is down")
    return rows_of(context)


@dg.asset(deps=[parted], partitions_def=PARTITIONS)
def after() -> None:
    """Runs if the check has passed."""


# --- consumers ----------------------------------------------------------------------------------------------


@dg.multi_asset(
    outs={
        name: dg.AssetOut(io_manager_key="io", metadata={"pravega/stream": f"{SCOPE}/{name}"})
        for name in ("left", "right")
    },
    ins={"events": since_last},
)
def sides(events: pa.Table) -> Any:
    yield dg.Output(events.select(["event"]), "left")
    if is_to_fail("between the outputs"):
        raise RuntimeError("the disk is full")
    yield dg.Output(events.select(["event"]), "right")


@dg.multi_asset(
    outs={name: dg.AssetOut(dagster_type=dg.Nothing, is_required=False) for name in ("one", "two")},
    ins={"events": since_last},
    can_subset=True,
)
def numbers(context: dg.AssetExecutionContext, events: pa.Table) -> Any:
    for key in sorted(context.selected_asset_keys):
        yield dg.Output(None, key.to_user_string(), metadata={"read": events.num_rows})


def of_graph(name: str) -> dg.AssetsDefinition:
    """An asset of two ops, of which the first one reads."""

    @dg.op(name=f"extract_{name}", ins={"events": dg.In(metadata=LAST)})
    def extract(events: pa.Table) -> Any:
        return events.num_rows

    @dg.op(name=f"load_{name}")
    def load(rows: int) -> dg.Output[int]:
        return dg.Output(rows, metadata={"read": rows})

    @dg.graph_asset(name=name, ins={"source": dg.AssetIn("source")})
    def made(source):
        return load(extract(source))

    return made


@dg.asset(ins={"events": since_last}, io_manager_key="dying", metadata={"pravega/stream": f"{SCOPE}/copies"})
def copies(events: pa.Table) -> pa.Table:
    return events.select(["event"])


# --- sensors ------------------------------------------------------------------------------------------------


def sensor_of(name: str) -> tuple[dg.AssetsDefinition, dg.SensorDefinition]:
    """A sensor, and the asset that it runs, of ranges that the other sensor claims, too."""
    ranges = StreamCutPartitions(SOURCE, consumer="shared")

    @dg.asset(name=name, partitions_def=ranges, ins={"source": dg.AssetIn(input_manager_key="io")})
    def counts(source: pa.Table) -> dg.MaterializeResult[None]:
        return dg.MaterializeResult(metadata={"read": source.num_rows})

    sensor = build_stream_cut_sensor(
        f"{name}_ranges", partitions_def=ranges, target=[counts], minimum_interval_seconds=1
    )
    return counts, sensor


(first, first_ranges), (second, second_ranges) = sensor_of("first"), sensor_of("second")
pravega = PravegaResource()
defs = dg.Definitions(
    assets=[
        *(source, days, report, parted, after, sides, numbers, of_graph("graph_a"), of_graph("graph_b"), copies),
        *(first, second),
    ],
    asset_checks=[build_row_count_check(parted, stream=f"{SCOPE}/parted", min_rows=2, blocking=True)],
    sensors=[first_ranges, second_ranges],
    resources={
        "pravega": pravega,
        "io": PravegaArrowIOManager(pravega=pravega),
        "dying": DyingIOManager(pravega=pravega),
    },
    executor=dg.in_process_executor,
)
