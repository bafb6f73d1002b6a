"""Assets for the benchmark of Dagster's runs: each counts the bytes of its ranges, and each runs in another way.

Two code locations have these definitions, `in_process` and `multiprocess`, as an executor is that of a location. One
more asset lands its ranges in a table, without Spark.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import dagster as dg
import pyarrow.compute as pc

from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaResource,
    PravegaSparkIOManager,
    StreamBatches,
    StreamCutPartitions,
    StreamRead,
    build_kept_table,
    pravega_stream_spec,
)

SCOPE: Final = "dagster-runs"
CONSUMER: Final = "bytes"
CONNECT: Final = "BENCHMARK_SPARK_CONNECT"  # the variable that has the address of a server
TABLES: Final = "BENCHMARK_TABLES"  # the variable that has the folder of the tables
POOL: Final = "one-spark"


@dataclass(frozen=True, slots=True)
class Size:
    """A stream, its partitions, the events of each, and the bytes of an event."""

    stream: str
    partitions: int
    events: int
    event_bytes: int = 100


SMALL: Final = Size("small", 8, 10_000)
LARGE: Final = Size("large", 2, 1_000_000)
HUGE: Final = Size("huge", 2, 2_000_000, 1000)
SIZES: Final = {size.stream: size for size in (SMALL, LARGE, HUGE)}

ONE_RUN: Final = dg.BackfillPolicy.single_run()
A_RUN_EACH: Final = dg.BackfillPolicy.multi_run(1)


def _check(context: dg.AssetExecutionContext, size: Size, rows: int, total: int) -> None:
    expected = size.events * len(context.partition_keys)
    if (rows, total) != (expected, expected * size.event_bytes):
        raise RuntimeError(f"{rows:,} rows of {total:,} bytes, and {expected:,} events were expected")


def counted(
    way: str, size: Size, *, policy: dg.BackfillPolicy, manager: str = "spark", pool: str | None = None
) -> dg.AssetsDefinition:
    """An asset, of which a way to run it and a stream are the name."""

    def by_spark(context: dg.AssetExecutionContext, read: StreamRead) -> dg.MaterializeResult[None]:
        row = read.frame.selectExpr("count(*) as rows", "sum(length(event)) as total").first()
        assert row is not None
        _check(context, size, row["rows"], row["total"])
        return read.done()

    def by_arrow(context: dg.AssetExecutionContext, read: StreamBatches) -> dg.MaterializeResult[None]:
        rows = total = 0
        for batch in read.reader:
            rows += batch.num_rows
            total += pc.sum(pc.binary_length(batch["event"])).as_py()
        _check(context, size, rows, total)
        return read.done()

    decorate = dg.asset(
        name=f"{way}_{size.stream}",
        partitions_def=StreamCutPartitions(f"{SCOPE}/{size.stream}", consumer=CONSUMER),
        backfill_policy=policy,
        ins={"read": dg.AssetIn(size.stream, input_manager_key=manager)},
        pool=pool,
    )
    return decorate(by_arrow if manager == "arrow" else by_spark)


def landed(way: str, size: Size) -> dg.AssetsDefinition:
    """An asset whose partitions are landed in a table of Parquet, by Arrow."""
    return build_kept_table(
        dg.AssetKey(size.stream),
        key=f"{way}_{size.stream}",
        table=f"parquet:{os.environ[TABLES]}/{way}_{size.stream}",
        options={"decode": "raw"},
        partitions_def=StreamCutPartitions(f"{SCOPE}/{size.stream}", consumer=CONSUMER),
        io_manager_key="arrow",
    )


def definitions(
    executor: dg.ExecutorDefinition, ways: Mapping[str, Callable[[str, Size], dg.AssetsDefinition]]
) -> dg.Definitions:
    """The streams, and an asset for each way and stream."""
    pravega = PravegaResource()
    streams = [pravega_stream_spec(f"{SCOPE}/{size.stream}", key=size.stream) for size in SIZES.values()]
    assets = [make(way, size) for way, make in ways.items() for size in SIZES.values()]
    return dg.Definitions(
        [*streams, *assets],
        resources={
            "pravega": pravega,
            "spark": PravegaSparkIOManager(pravega=pravega, master="local[2]"),
            "connect": PravegaSparkIOManager(pravega=pravega, master=os.environ[CONNECT]),
            "arrow": PravegaArrowIOManager(pravega=pravega),
        },
        executor=executor,
    )
