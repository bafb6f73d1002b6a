"""Typed reads, against the same job as raw bytes and Spark's own functions."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.avro.functions import from_avro, to_avro

from aiopravega import StreamName
from benchmarks.bench import Bench
from benchmarks.events import AVRO, DDL, ROWS, flights
from benchmarks.measure import Load, Measured
from benchmarks.rounds import Contenders, Rounds, of_one_stream
from benchmarks.spark import SparkContender

_BY_SPARK: Final[dict[str, Callable[[], Column]]] = {
    "json": lambda: sf.from_json(sf.col("event").cast("string"), DDL),
    "avro": lambda: from_avro("event", AVRO),
}
_ENCODE: Final[dict[str, Callable[[Column], Column]]] = {"json": sf.to_json, "avro": lambda row: to_avro(row, AVRO)}


def rounds_of(kind: str, events: int, bench: Bench, rounds: int) -> Rounds:
    """The rounds of one format: into the sink that does nothing, and into Parquet files."""
    stream, load = _fill(bench, kind, events)
    spark = bench.spark
    frames: dict[str, Callable[[StreamName], DataFrame]] = {
        f"raw bytes and Spark's from_{kind}": partial(_by_spark, spark, kind),
        f"decode={kind}": partial(_by_us, spark, kind),
    }
    contenders: Contenders = {
        f"{name}, {sink}": partial(_run, spark, make, bench.folder / f"{kind}-{number}" if sink == "Parquet" else None)
        for sink in ("noop", "Parquet")
        for number, (name, make) in enumerate(frames.items())
    }
    results = of_one_stream(contenders, stream, load, rounds)
    bench.drop(stream)
    return results


def _fill(bench: Bench, kind: str, events: int) -> tuple[StreamName, Load]:
    session = bench.spark.session
    stream = bench.new_stream()
    rows = session.createDataFrame(flights(), DDL)
    many = session.range(events // ROWS).crossJoin(rows)
    event = _ENCODE[kind](sf.struct(*rows.columns))
    many.select(event.alias("event")).write.format("pravega").options(**bench.spark.options(stream)).mode(
        "append"
    ).save()
    bench.settle()
    total, count = bench.spark.frame(stream).select(sf.sum(sf.length("event")), sf.count("*")).first() or (0, 1)
    return stream, Load(kind, count, total // count)


def _by_spark(spark: SparkContender, kind: str, stream: StreamName) -> DataFrame:
    return spark.frame(stream).select(_BY_SPARK[kind]().alias("row")).select("row.*")


def _by_us(spark: SparkContender, kind: str, stream: StreamName) -> DataFrame:
    if kind == "avro":
        return spark.frame(stream, decode="avro", schema_text=AVRO)
    reader = spark.session.read.format("pravega").schema(DDL)
    return reader.options(**spark.options(stream, decode=kind)).load()


def _run(
    spark: SparkContender,
    make: Callable[[StreamName], DataFrame],
    folder: Path | None,
    stream: StreamName,
    load: Load,
) -> Measured:
    return spark.consume(make(stream), load, folder)
