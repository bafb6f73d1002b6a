"""The time of a raw read by stages: CPU seconds per GB of one task, as a picture and as JSON.

    python -m benchmarks.profile --out docs/explanation

Stages in Python are measured by doing ever more of a task's work in this process, and taking differences; that of the
JVM and of the server by their own clocks while Spark reads the same stream.
"""

import argparse
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from aiopravega import UNBOUNDED, SegmentRange, StreamCutRange
from aiopravega.read.bulk import BulkReader
from aiopravega.schema.arrow.frames import find_frames
from benchmarks.bench import Bench
from benchmarks.measure import Load
from benchmarks.tables import LOADS
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.read.rows import SegmentRows

_CACHE_MEGABYTES: Final = 2048
_BLOCK_BYTES: Final = 4 * 1024 * 1024
_REQUESTS: Final = 4
_PIPE_BYTES: Final = 1024 * 1024
_ROUNDS: Final = 3
_GIGABYTE: Final = 1e9
_CLOCK_TICKS: Final = os.sysconf("SC_CLK_TCK")
# Of the room for a stage in the picture, so much is bars.
_BARS: Final = 0.75
STAGES: Final = ("receive", "find frames", "make Arrow", "pipe to the JVM", "JVM")


def _allocate(size: int) -> memoryview:
    return memoryview(pa.allocate_buffer(size))


def _no_scan(_: memoryview, start: int, end: int) -> tuple[range, int]:
    """Takes a block as one frame: nothing is parsed."""
    return range(1), max(start, end)


def _cpu(pid: int) -> float:
    """Seconds of CPU that a process has used (of Linux's /proc)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _CLOCK_TICKS


class Profile:
    """One stream, read again and again."""

    def __init__(self, bench: Bench, load: Load) -> None:
        self._bench = bench
        self._stream = bench.fill(load)
        self._load = load
        self._parts = bench.client.plan(StreamCutRange(UNBOUNDED, UNBOUNDED), self._stream)
        self._reader = BulkReader(bench.client.locate, bench.config)

    def run(self) -> dict[str, float]:
        """CPU seconds per GB of payload, by stage."""
        with closing(self._reader):
            receive = self._seconds(lambda: self._blocks(_no_scan))
            scan = self._seconds(lambda: self._blocks(find_frames))
            arrow = self._seconds(lambda: self._batches(lambda _: None))
            pipe = self._seconds(self._piped)
        jvm = self._jvm_seconds()
        self._bench.drop(self._stream)
        stages = (receive, scan - receive, arrow - scan, pipe - arrow, jvm)
        return dict(zip(STAGES, (max(0.0, seconds) for seconds in stages), strict=True))

    def _seconds(self, work: Callable[[], None]) -> float:
        """The least of some rounds, per GB: what disturbs only adds."""
        work()
        spent = []
        for _ in range(_ROUNDS):
            start = time.thread_time()
            work()
            spent.append(time.thread_time() - start)
        return min(spent) / (self._load.events * self._load.size / _GIGABYTE)

    def _read(self, part: SegmentRange, scan: Any) -> Iterable[Any]:
        return self._reader.read(part, scan=scan, allocate=_allocate, block_bytes=_BLOCK_BYTES, requests=_REQUESTS)

    def _blocks(self, scan: Any) -> None:
        for part in self._parts:
            for _ in self._read(part, scan):
                pass

    def _batches(self, take: Callable[[pa.RecordBatch], None]) -> None:
        for part in self._parts:
            rows = SegmentRows(part.segment, Columns.of())
            for block in self._read(part, find_frames):
                for batch in rows.batches(block):
                    take(batch)

    def _piped(self) -> None:
        """As PySpark hands batches on: a stream of Arrow's format over a socket."""
        ours, theirs = socket.socketpair()
        reader = threading.Thread(target=_drain, args=(theirs,))
        reader.start()
        with ours, ours.makefile("wb", buffering=_PIPE_BYTES) as file:
            with pa.ipc.new_stream(file, Columns.of().arrow) as stream:
                self._batches(stream.write_batch)
            file.flush()
            ours.shutdown(socket.SHUT_WR)
            reader.join()

    def _jvm_seconds(self) -> float:
        pid = self._bench.spark.pid
        self._bench.spark.noop(self._stream, self._load)
        spent = []
        for _ in range(_ROUNDS):
            start = _cpu(pid)
            self._bench.spark.noop(self._stream, self._load)
            spent.append(_cpu(pid) - start)
        return min(spent) / (self._load.events * self._load.size / _GIGABYTE)


def _drain(end: socket.socket) -> None:
    buffer = bytearray(_PIPE_BYTES)
    with end:
        while end.recv_into(buffer):
            pass


def draw(results: dict[str, dict[str, float]], file: Path) -> None:
    """A row for each stage, with a bar for each size of events; the way of a byte goes from top to bottom."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 3.6))
    height = _BARS / len(results)
    for number, (name, stages) in enumerate(results.items()):
        rows_of_bars = [row + (number + 0.5) * height - _BARS / 2 for row in range(len(STAGES))]
        label = f"events of {name}: {sum(stages.values()):.2f} s in all"
        bars = axes.barh(rows_of_bars, [stages[stage] for stage in STAGES], height, color=f"C{number}", label=label)
        axes.bar_label(bars, fmt="%.2f", padding=3, fontsize=9)
    axes.set_yticks(range(len(STAGES)), STAGES)
    axes.invert_yaxis()
    axes.set_xlabel("CPU seconds per GB of payload")
    axes.margins(x=0.1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right")
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    plt.close(figure)


def main() -> None:
    """Command line of `make profile`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warm-up", type=int, default=3, metavar="GB", help="written and read before (default 3)")
    parser.add_argument(
        "--out", type=Path, default=Path("docs/explanation"), help="folder for the picture and the JSON"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Bench(_CACHE_MEGABYTES, Path(folder)) as bench:
        bench.warm_up(options.warm_up)
        results = {load.name: Profile(bench, load).run() for load in LOADS}
    options.out.mkdir(parents=True, exist_ok=True)
    draw(results, options.out / "read-profile.png")
    (options.out / "read-profile.json").write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
