"""Our Spark format: batch reads and exactly-once batch writes."""

import os
import random
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from aiopravega import StreamName
from benchmarks.measure import Load, Measured, stopwatch


def _worker_memory() -> int:
    """Resident bytes of the largest Python worker of Spark on this machine (0 where /proc is missing)."""
    largest = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            command = (status.parent / "cmdline").read_bytes()
            if b"pyspark.daemon" in command:
                lines = status.read_text().splitlines()
                largest = max(largest, *(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")))
        except (OSError, ValueError):
            continue  # the process has ended meanwhile
    return largest


class SparkContender:
    """A local Spark with one task slot per core, up for all rounds; use it with `with`."""

    def __init__(self, controller_uri: str) -> None:
        self._controller_uri = controller_uri
        self.largest_memory = 0

    def __enter__(self) -> Self:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        self._spark = (
            SparkSession.builder.master(f"local[{os.cpu_count()}]")
            .appName("benchmark")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "2g")
            .config("spark.python.unix.domain.socket.enabled", "true")
            .getOrCreate()
        )
        self._spark.sparkContext.setLogLevel("ERROR")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spark.stop()

    def _frame(self, stream: StreamName) -> DataFrame:
        return (
            self._spark.read.format("pravega")
            .option("controller", self._controller_uri)
            .option("scope", stream.scope)
            .option("stream", stream.stream)
            .load()
        )

    def sum_length(self, stream: StreamName, load: Load) -> Measured:
        """`sum(length(event))` over a whole stream."""
        with stopwatch() as watch:
            (total,) = self._frame(stream).select(sf.sum(sf.length("event"))).first() or (0,)
        self.largest_memory = max(self.largest_memory, _worker_memory())
        return Measured(total // load.size, total, watch.seconds)

    def noop(self, stream: StreamName, load: Load) -> Measured:
        """All columns of a whole stream into Spark's sink that does nothing."""
        with stopwatch() as watch:
            self._frame(stream).write.format("noop").mode("overwrite").save()
        return Measured(load.events, load.events * load.size, watch.seconds)

    def write(self, stream: StreamName, load: Load) -> Measured:
        """Rows without routing keys, exactly once, from one task per segment."""
        rows = self._spark.range(0, load.events, 1, 4).select(sf.lit(random.randbytes(load.size)).alias("event"))
        with stopwatch() as watch:
            (
                rows.write.format("pravega")
                .option("controller", self._controller_uri)
                .option("scope", stream.scope)
                .option("stream", stream.stream)
                .mode("append")
                .save()
            )
        return Measured(load.events, load.events * load.size, watch.seconds)
