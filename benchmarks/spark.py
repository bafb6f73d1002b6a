"""Our Spark format: raw reads in batches and micro-batches, exactly-once batch writes."""

import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as sf

from aiopravega import StreamName
from benchmarks.measure import Load, Measured, stopwatch
from pravega_emulator.fetch import ensure_jars
from pravega_emulator.jars import JarList

_WRITING_TASKS: Final = 4
# Spark's own Avro functions are not among its jars. This release works with Spark 4.3: the decoder itself is in Spark.
_SPARK_AVRO: Final = JarList.from_text(
    "org.apache.spark:spark-avro_2.13:4.1.1 6a19d90bc3b6e88d8db0fa36a19273aa10fea2dbd7a62bb60e4cedd73051b32d 92354"
)


def _spark_avro() -> Path:
    return ensure_jars(_SPARK_AVRO) / _SPARK_AVRO.jars[0].filename


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
        self.session = (
            SparkSession.builder.master(f"local[{os.cpu_count()}]")
            .appName("benchmark")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "2g")
            .config("spark.jars", str(_spark_avro()))
            .config("spark.python.unix.domain.socket.enabled", "true")
            .getOrCreate()
        )
        self.session.sparkContext.setLogLevel("ERROR")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.session.stop()

    @property
    def pid(self) -> int:
        """Of the JVM."""
        gateway = self.session.sparkContext._gateway  # noqa: SLF001 - PySpark has no API for the process's id
        assert gateway is not None
        return int(gateway.proc.pid)

    @contextmanager
    def on_one_core(self) -> Iterator[None]:
        """Keep Spark and its Python workers on one core for a block (on Linux)."""
        everywhere = os.sched_getaffinity(0)
        self._pin({min(everywhere)})
        try:
            yield
        finally:
            self._pin(everywhere)

    def _pin(self, cores: set[int]) -> None:
        for task in self._tasks():
            with suppress(ProcessLookupError):
                os.sched_setaffinity(task, cores)

    def _tasks(self) -> list[int]:
        """All threads of Spark's process and of those below it."""
        family = [self.pid]
        for process in family:
            for children in Path(f"/proc/{process}/task").glob("*/children"):
                family += [int(child) for child in children.read_text().split()]
        return [int(thread.name) for process in family for thread in Path(f"/proc/{process}/task").glob("*")]

    def options(self, stream: StreamName, **options: str) -> dict[str, str]:
        """The options of a read or a write, further ones among them."""
        return {"controller": self._controller_uri, "scope": stream.scope, "stream": stream.stream, **options}

    def frame(self, stream: StreamName, columns: str | None = None, **options: str) -> DataFrame:
        """A whole stream, or some of its columns."""
        reader = self.session.read.format("pravega").options(**self.options(stream, **options))
        return reader.load() if columns is None else reader.schema(columns).load()

    def sum_length(self, stream: StreamName, load: Load, columns: str | None = None, **options: str) -> Measured:
        """`sum(length(event))` over a whole stream."""
        with stopwatch() as watch:
            (total,) = self.frame(stream, columns, **options).select(sf.sum(sf.length("event"))).first() or (0,)
        self.largest_memory = max(self.largest_memory, _worker_memory())
        return Measured(total // load.size, total, watch.seconds)

    def noop(self, stream: StreamName, load: Load, columns: str | None = None) -> Measured:
        """A whole stream, or some of its columns, into Spark's sink that does nothing."""
        return self.consume(self.frame(stream, columns), load)

    def consume(self, frame: DataFrame, load: Load, folder: Path | None = None) -> Measured:
        """A frame made of a whole stream into Parquet files, by default into the sink that does nothing."""
        with stopwatch() as watch:
            sink = frame.write.mode("overwrite")
            if folder is None:
                sink.format("noop").save()
            else:
                sink.parquet(str(folder))
        self.largest_memory = max(self.largest_memory, _worker_memory())
        return Measured(load.events, load.events * load.size, watch.seconds)

    def available_now(self, stream: StreamName, load: Load, **more: str) -> Measured:
        """All columns of a whole stream by a streaming query with `Trigger.AvailableNow`."""
        options = self.options(stream, start_stream_cut="earliest", **more)
        with tempfile.TemporaryDirectory() as checkpoint, stopwatch() as watch:
            frame = self.session.readStream.format("pravega").options(**options).load()
            sink = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
            sink.trigger(availableNow=True).start().awaitTermination()
        return Measured(load.events, load.events * load.size, watch.seconds)

    def write(self, stream: StreamName, load: Load, **options: str) -> Measured:
        """Rows without routing keys, by default exactly once, from one task per segment."""
        return _save(self._rows(load).format("pravega").options(**self.options(stream, **options)), load)

    def write_parquet(self, load: Load) -> Measured:
        """The same rows into Parquet files, each byte of them: they are all alike and would vanish in a dictionary."""
        plain = {"parquet.enable.dictionary": "false", "compression": "none"}
        with tempfile.TemporaryDirectory() as folder:
            return _save(self._rows(load).format("parquet").options(**plain, path=folder), load)

    def _rows(self, load: Load) -> DataFrameWriter:
        payload = sf.lit(random.randbytes(load.size))
        return self.session.range(0, load.events, 1, _WRITING_TASKS).select(payload.alias("event")).write


def _save(writer: DataFrameWriter, load: Load) -> Measured:
    with stopwatch() as watch:
        writer.mode("append").save()
    return Measured(load.events, load.events * load.size, watch.seconds)
