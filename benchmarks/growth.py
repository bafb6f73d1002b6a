"""What grows with a stream, and what does not: the time to plan a read, and the memory of Spark's processes.

    python -m benchmarks.growth

A read of the whole stream is planned as Spark's driver does it, in this process, over open connections. The server is
on the same cores, and answers some requests for each segment. Memory is the most that a process of a kind had resident
so far, so sizes are read in ascending order by one Spark.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

from aiopravega import PravegaConfig, ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from benchmarks.bench import SEGMENTS, Bench
from benchmarks.measure import Load
from benchmarks.processes import largest_memory
from pravega_emulator import PravegaEmulator
from pyspark_pravega import PravegaDataSource

_SCOPE: Final = "growth"
_ROUNDS: Final = 5
_PAYLOAD: Final = bytes(100)
_CACHE_MEGABYTES: Final = 2048
_MEGABYTE: Final = 1e6
_PROCESSES: Final = {
    "task": "pyspark.daemon pyspark.worker",
    "planner": "pyspark.daemon pyspark.sql.worker.plan_data_source_read",
    "JVM": "org.apache.spark.deploy.SparkSubmit",
}


def _planned(config: PravegaConfig, stream: StreamName) -> tuple[float, int]:
    """Seconds to plan a read of the whole stream, and its tasks."""
    options = {"controller": config.controller_uri, "scope": stream.scope, "stream": stream.stream}
    times = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        source = PravegaDataSource(options)
        tasks = len(source.reader(source.schema()).partitions())
        times.append(time.perf_counter() - start)
    return median(times), tasks


def planning(segments: list[int], scalings: list[int]) -> Iterator[str]:
    """Rows of a table: streams of so many segments, and of one segment at a time that was scaled so often."""
    with PravegaEmulator(full_jit=True) as server, PravegaClient(server.config) as client:
        client.create_scope(_SCOPE)
        for count in segments:
            stream = StreamName(_SCOPE, f"segments-{count}")
            client.create_stream(stream, scaling=ScalingPolicy.fixed(count))
            _write(client, stream, 10 * count)
            seconds, tasks = _planned(server.config, stream)
            yield f"| {count:,} segments | {10 * count:,} | {tasks} | {seconds:.3f} | {seconds / count * 1000:.2f} |"
        stream = StreamName(_SCOPE, "scaled")
        client.create_stream(stream)
        done = 0
        for count in scalings:
            for _ in range(count - done):
                client.scale_stream(stream, 1)
                _write(client, stream, 10)
            done = count
            seconds, tasks = _planned(server.config, stream)
            yield f"| {count:,} scalings | {10 * count:,} | {tasks} | {seconds:.3f} | {seconds / count * 1000:.2f} |"


def _write(client: PravegaClient, stream: StreamName, events: int) -> None:
    with client.writer(stream) as writer:
        for number in range(events):
            writer.write(_PAYLOAD, f"key-{number}")


def memory(gigabytes: list[int], segments: list[int]) -> Iterator[str]:
    """Rows of a table: the largest processes after reads of so many GB, then of one GB in so many segments."""
    ranges = [(size, SEGMENTS) for size in gigabytes] + [(1, count) for count in segments]
    with tempfile.TemporaryDirectory() as folder, Bench(_CACHE_MEGABYTES, Path(folder)) as bench:
        for size, count in ranges:
            load = Load(f"{size} GB in {count:,} segments", size * 1_000_000, 1_000)
            stream = bench.fill(load, count)
            bench.spark.noop(stream, load)
            found = [largest_memory(bench.spark.pid, words) / _MEGABYTE for words in _PROCESSES.values()]
            assert all(found), f"Spark has no process of one of these kinds: {_PROCESSES}"
            yield f"| {load.name} | " + " | ".join(f"{each:,.0f}" for each in found) + " |"
            bench.drop(stream)


def main() -> None:
    """Measure, and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, nargs="*", default=[1, 10, 100, 1000, 2000])
    parser.add_argument("--scalings", type=int, nargs="*", default=[10, 100, 1000])
    parser.add_argument("--gigabytes", type=int, nargs="*", default=[1, 4, 20])
    parser.add_argument("--spread", type=int, nargs="*", default=[256, 2000], help="segments with 1 GB")
    given = parser.parse_args()
    print("| stream | events | tasks | planned, s | ms for each |\n|---|---:|---:|---:|---:|")
    for line in planning(given.segments, given.scalings):
        print(line, flush=True)
    print(f"\n| range | {' | '.join(f'{name}, MB' for name in _PROCESSES)} |\n|---|---:|---:|---:|")
    for line in memory(given.gigabytes, given.spread) if given.gigabytes or given.spread else ():
        print(line, flush=True)


if __name__ == "__main__":
    main()
