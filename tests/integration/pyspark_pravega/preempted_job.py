"""A Spark job on two executors, one of which is taken away a second after its task has ended. Started by tests.

The other task then works for much longer than any lease lasts.
"""

import argparse
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import SparkSession

POLL_SECONDS = 0.05


def slowly(folder: Path, seconds: float) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Passes on the rows; those of the second partition only after the executor of the first one is gone for long."""

    def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            number = batch.column(0)[0].as_py()
            daemon = os.getppid()
            executor = Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1]
            (folder / f"executor-{number}").write_text(executor)
            if number:
                while not (folder / "killed").exists():
                    time.sleep(POLL_SECONDS)
                time.sleep(seconds)
            yield batch.append_column("event", batch.column(0).cast(pa.string())).select(["event"])

    return pass_on


def preempt(context: SparkContext, folder: Path) -> None:
    """Kill the executor of the first partition one second after its task has ended."""
    tracker = context.statusTracker()
    while not any(
        info is not None and info.numCompletedTasks for info in map(tracker.getStageInfo, tracker.getActiveStageIds())
    ):
        time.sleep(POLL_SECONDS)
    time.sleep(1)
    first, second = ((folder / f"executor-{number}").read_text() for number in range(2))
    if first == second:
        print("both tasks ran on one executor", flush=True)
        os._exit(1)
    os.kill(int(first), signal.SIGKILL)
    (folder / "killed").touch()


def main() -> None:
    """Write two rows in two partitions."""
    parser = argparse.ArgumentParser()
    for name in ("controller", "scope", "stream", "folder", "seconds"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    folder = Path(given.folder)
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.cores.max", 2)
    # Both executors are there before the first task starts.
    builder = builder.config("spark.scheduler.minRegisteredResourcesRatio", 1.0)
    spark = builder.config("spark.scheduler.maxRegisteredResourcesWaitingTime", "300s").getOrCreate()
    threading.Thread(target=preempt, args=(spark.sparkContext, folder), daemon=True).start()
    rows = spark.range(0, 2, numPartitions=2).mapInArrow(slowly(folder, float(given.seconds)), "event string")
    writer = rows.write.format("pravega").mode("append").option("transaction_timeout_ms", 10_000)
    writer.options(controller=given.controller, scope=given.scope, stream=given.stream).save()
    spark.stop()


if __name__ == "__main__":
    main()
