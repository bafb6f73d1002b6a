"""What the hashes of rows cost in a whole exactly-once write by Spark: the same writes with, without, and as before.

    python -m benchmarks.whole_writes

One server, one Spark; in each round every contender writes the same rows into a stream of its own, in another order
each time. CPU is that of all processes (Spark's JVM and Python workers, the server, this one), which counts when others
use the machine as well; what one contender takes more than another is compared round by round.
"""

import argparse
import os
import random
import statistics
import sys
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from unittest import mock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from aiopravega import PravegaConfig, ScalingPolicy, wire
from aiopravega.blocking import PravegaClient
from aiopravega.ledger import Fingerprint
from benchmarks.measure import stopwatch
from benchmarks.spark import SparkContender
from pravega_emulator import PravegaEmulator
from pyspark_pravega.source import PravegaDataSource
from pyspark_pravega.write import partition
from pyspark_pravega.write.batch import PravegaBatchWriter
from pyspark_pravega.write.row_hashes import RowTally

_TASKS: Final = 4
_SEGMENTS: Final = 4
# Rounds that nobody counts.
_WARM_UP: Final = 2
_MICROSECONDS: Final = 1e6
_TICKS: Final = os.sysconf("SC_CLK_TCK")
HASHES, CRC, NOTHING = "hashes", "CRC-32, as before", "nothing"
# The fields of /proc/<pid>/stat after the name: user and system time, and those of children that have ended.
_TIMES: Final = slice(11, 15)


class _Counted(RowTally):
    """Rows are counted only."""

    def add(self, events: pa.BinaryArray, positions: npt.NDArray[np.float64] | None) -> None:
        size = (pc.sum(pc.binary_length(events)).as_py() or 0) + len(events) * wire.EVENT_HEADER
        self.fingerprint += Fingerprint(len(events), size, 0)


class _Summed(_Counted):
    """Rows are counted, and a CRC-32 runs over all their bytes, as the releases before the hashes did."""

    _crc = 0

    def add(self, events: pa.BinaryArray, positions: npt.NDArray[np.float64] | None) -> None:
        super().add(events, positions)
        offsets = events.buffers()[1]
        first, last = (int.from_bytes(memoryview(offsets)[4 * i : 4 * i + 4], "little") for i in _ends(events))
        self._crc = zlib.crc32(memoryview(events.buffers()[2])[first:last], self._crc)


def _ends(events: pa.BinaryArray) -> tuple[int, int]:
    return events.offset, events.offset + len(events)


class _Writer(PravegaBatchWriter):
    """Writes as ever, but with another tally of the rows in the tasks."""

    tally: type[RowTally]

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with mock.patch.object(partition, "RowTally", self.tally):
            return super().write(iterator)


def _source(format_name: str, tally: type[RowTally]) -> type[PravegaDataSource]:
    class Writer(_Writer):
        pass

    Writer.tally = tally

    class Source(PravegaDataSource):
        @classmethod
        def name(cls) -> str:
            return format_name

        def writer(self, schema: StructType, overwrite: bool) -> PravegaBatchWriter:
            return Writer(self.options, schema, overwrite)

    return Source


def cpu_seconds() -> float:
    """CPU seconds so far of this process and all below it, ended ones among them."""
    family = [os.getpid()]
    total = 0
    for process in family:
        try:
            for children in Path(f"/proc/{process}/task").glob("*/children"):
                family += [int(child) for child in children.read_text().split()]
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        total += sum(int(field) for field in fields[_TIMES])
    return total / _TICKS


class Field:
    """A scope with one stream for each contender."""

    def __init__(self, spark: SparkContender, client: PravegaClient) -> None:
        self._spark, self._client = spark, client
        self._scope = f"bench-{uuid.uuid4().hex}"
        client.create_scope(self._scope)
        sources: SparkSession = spark.session
        for name, tally in (("counted", _Counted), ("summed", _Summed)):
            sources.dataSource.register(_source(name, tally))
        self._formats = {HASHES: "pravega", CRC: "summed", NOTHING: "counted"}

    def round(self, size: int, events: int) -> dict[str, tuple[float, float]]:
        """Microseconds of CPU and of the clock for each row, by contender."""
        found = {}
        for name in random.sample(list(self._formats), len(self._formats)):
            stream = f"s-{uuid.uuid4().hex}"
            self._client.create_stream(self._scope, stream, ScalingPolicy.fixed(_SEGMENTS))
            payload = sf.lit(random.randbytes(size)).alias("event")
            rows = self._spark.session.range(0, events, 1, _TASKS).select(payload)
            options = {"controller": self._client.config.controller_uri, "scope": self._scope, "stream": stream}
            sink = rows.write.format(self._formats[name]).options(**options).mode("append")
            before = cpu_seconds()
            with stopwatch() as watch:
                sink.save()
            used = cpu_seconds() - before
            found[name] = (used / events * _MICROSECONDS, watch.seconds / events * _MICROSECONDS)
            print(f"{size} B, {name}: CPU, clock: {found[name]}", file=sys.stderr, flush=True)
            self._client.seal_stream(self._scope, stream)
            self._client.delete_stream(self._scope, stream)
        return found


@contextmanager
def _field() -> Iterator[Field]:
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])  # Spark's workers import this module
    with (
        PravegaEmulator(full_jit=True) as server,
        PravegaClient(PravegaConfig(controller_uri=server.controller_uri)) as client,
        SparkContender(server.controller_uri) as spark,
    ):
        yield Field(spark, client)


def _added(rounds: list[dict[str, tuple[float, float]]], to: str, which: int) -> str:
    parts = [run[HASHES][which] / run[to][which] - 1 for run in rounds]
    return f"{statistics.median(parts):+.1%}"


def _lines(size: int, rounds: list[dict[str, tuple[float, float]]]) -> Iterator[str]:
    def typical(name: str, pick: Callable[[tuple[float, float]], float]) -> float:
        return statistics.median(pick(run[name]) for run in rounds)

    for name in (HASHES, CRC, NOTHING):
        cpu, wall = typical(name, lambda pair: pair[0]), typical(name, lambda pair: pair[1])
        more = "" if name == HASHES else f"{_added(rounds, name, 0)} | {_added(rounds, name, 1)}"
        yield f"| {size} B | {name} | {cpu:.2f} | {wall:.2f} | {more or ' | '} |"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--megabytes", type=int, default=200, help="of each write")
    given = parser.parse_args()
    loads: Mapping[int, int] = {size: given.megabytes * 1_000_000 // size for size in (1000, 100)}
    with _field() as field:
        for _ in range(_WARM_UP):
            for size, events in loads.items():
                field.round(size, events)
        rounds = {size: [field.round(size, events) for _ in range(given.rounds)] for size, events in loads.items()}
    print(f"{given.rounds} rounds of writes of {given.megabytes} MB, medians, microseconds for each row")
    print("| event | tally of the rows | CPU | clock | hashes add, CPU | hashes add, clock |")
    print("|---|---|---:|---:|---:|---:|")
    for size, found in rounds.items():
        print(*_lines(size, found), sep="\n")


if __name__ == "__main__":
    main()
