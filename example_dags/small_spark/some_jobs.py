"""Small jobs of the kinds that the demo and the tests have, so that Java loads what they need; argument: a folder."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceWriter,
    InputPartition,
    SimpleDataSourceStreamReader,
    WriterCommitMessage,
)
from pyspark.sql.functions import col, from_json
from pyspark.sql.types import StructType


class _Numbers(DataSource):
    """A source and a sink in Python."""

    @classmethod
    def name(cls) -> str:
        return "numbers"

    def schema(self) -> str:
        return "number long, text string, event binary"

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader()

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return _Writer()

    def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:  # noqa: N802 - Spark's name
        return _Stream()


class _Reader(DataSourceReader):
    def partitions(self) -> list[InputPartition]:
        return [InputPartition(0), InputPartition(1)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        return iter([(number, '{"a": 1}', b"{}") for number in range(3)])


class _Stream(SimpleDataSourceStreamReader):
    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {"number": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[Any, ...]], dict[str, int]]:
        end = min(start["number"] + 1, 2)
        return self.readBetweenOffsets(start, {"number": end}), {"number": end}

    def readBetweenOffsets(  # noqa: N802 - Spark's name
        self, start: dict[str, int], end: dict[str, int]
    ) -> Iterator[tuple[Any, ...]]:
        return iter([(number, "{}", b"{}") for number in range(start["number"], end["number"])])


class _Writer(DataSourceWriter):
    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()


def run(spark: SparkSession, folder: Path) -> None:
    """The jobs."""
    spark.dataSource.register(_Numbers)
    frame = spark.read.format("numbers").load()
    _keep(frame, folder / "batch")
    frame.selectExpr("event", "cast(text as string) as routing_key").write.format("numbers").mode("append").save()
    stream = spark.readStream.format("numbers").load().writeStream
    options = {"checkpointLocation": str(folder / "checkpoint")}
    query = stream.foreachBatch(_collect).options(**options).start()
    while query.isActive and (query.lastProgress is None or query.lastProgress["batchId"] < 1):
        time.sleep(0.1)
    query.stop()


def _collect(batch: DataFrame, _: int) -> None:
    batch.collect()


def _keep(frame: DataFrame, folder: Path) -> None:
    spark = frame.sparkSession
    parsed = frame.withColumn("parsed", from_json("text", "a long")).where(col("number") > 0)
    parsed.groupBy("parsed.a").count().sort("count").write.parquet(str(folder / "parquet"))
    spark.read.parquet(str(folder / "parquet")).join(frame, col("a") == col("number"), "left").collect()
    frame.mapInArrow(lambda batches: batches, frame.schema).toPandas()
    spark.createDataFrame([(1, "a")], "x long, y string").createOrReplaceTempView("pairs")
    spark.sql("select y, sum(x), explode(array(1, 2)) from pairs group by y").show()


if __name__ == "__main__":
    builder = SparkSession.builder.master("local[2]").config("spark.sql.warehouse.dir", f"{sys.argv[1]}/warehouse")
    session = builder.getOrCreate()
    run(session, Path(sys.argv[1]))
    session.stop()
