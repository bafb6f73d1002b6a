"""Ranges without a JVM: reads into Polars and Arrow beside Spark and other readers, in turn on one server.

    python -m benchmarks.frames

The rows are flights of ten columns as JSON, 1 GB of them. `new process` counts all from the start of Python: imports,
connections, and for Spark its session. The others are warm: they have done the same before. Afterwards, raw events
beside the bulk reader, the first rows of ten events, small writes, and the memory of a long range.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import polars as pl
from pyspark.sql import functions as sf

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from benchmarks.bench import Bench
from benchmarks.events import DDL, ROWS, flights
from benchmarks.measure import Load, Measured, stopwatch, summary, table
from benchmarks.rounds import Contenders, of_one_stream
from benchmarks.second_tier import settle
from benchmarks.writers import write_events, write_repeatedly
from pravega_emulator import PravegaEmulator
from pravega_jobs.frames import range_of, read_arrow, read_polars, write_arrow

RESULTS: Final = Path(__file__).parent / "results" / "frames.md"
_JOBS: Final = "benchmarks.peers.frame_jobs"
_CACHE_MEGABYTES: Final = 2048
_JSON_ROWS: Final = 5_000_000
_RAW: Final = Load("raw", 1_000_000, 1_000)
_LONG: Final = Load("long", 20_000_000, 1_000)
_PIECE: Final = 500_000  # events of the long range that are written at a time
_FEW: Final = 10
_SMALL: Final = 1_000
_PARTS: Final = ("small", "raw", "json", "loop", "sizes", "memory")
# Bytes of JSON for which Spark and this process are compared from nothing.
_SHARES: Final = (0.001, 0.01, 0.1, 1.0)
_LARGEST: Final = 1 << 40


def _fill(bench: Bench, rows: int) -> tuple[StreamName, Load, bytes]:
    """A stream of JSON flights, and the same bytes as lines."""
    texts = [json.dumps(row).encode() for row in flights()]
    times = max(1, rows // ROWS)
    stream = bench.new_stream()
    write_repeatedly(bench.config, stream, texts, times)
    bench.settle()
    size = sum(map(len, texts))
    return stream, Load("JSON", ROWS * times, size // ROWS), b"".join(text + b"\n" for text in texts)


def _of(load: Load, work: Callable[[], object]) -> Measured:
    with stopwatch() as watch:
        work()
    return Measured(load.events, load.events * load.size, watch.seconds)


def _process(*arguments: str) -> Mapping[str, int]:
    command = [sys.executable, "-m", _JOBS, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return found


def _in_polars(client: PravegaClient, stream: StreamName, load: Load) -> Measured:
    def read() -> None:
        frame = read_polars(range_of(client, stream), decode="json", columns=DDL, largest=_LARGEST)
        assert frame.height == load.events

    return _of(load, read)


def _in_spark(bench: Bench, stream: StreamName, load: Load) -> Measured:
    spark = bench.spark
    reader = spark.session.read.format("pravega").schema(DDL)
    return spark.consume(reader.options(**spark.options(stream, decode="json")).load(), load)


def _from_json(bench: Bench, stream: StreamName, load: Load) -> Measured:
    row = sf.from_json(sf.col("event").cast("string"), DDL).alias("row")
    return bench.spark.consume(bench.spark.frame(stream).select(row).select("row.*"), load)


def _json(bench: Bench, share: float, rounds: int) -> str:
    stream, load, lines = _fill(bench, round(_JSON_ROWS * share))
    file = bench.folder / "flights.ndjson"
    with file.open("wb") as out:
        for _ in range(load.events // ROWS):
            out.write(lines)
    uri = bench.config.controller_uri
    contenders: Contenders = {
        "Spark, decode=json, noop": partial(_in_spark, bench),
        "Spark, from_json, noop": partial(_from_json, bench),
        "read_polars": partial(_in_polars, bench.client),
        "Polars' NDJSON reader, of a file": lambda _, load: _of(load, lambda: pl.read_ndjson(file)),
        "Spark, decode=json, noop, new process": lambda stream, load: _of(
            load, lambda: _process("spark", uri, str(stream), DDL)
        ),
        "read_polars, new process": lambda stream, load: _of(load, lambda: _process("polars", uri, str(stream), DDL)),
    }
    rows = summary(of_one_stream(contenders, stream, load, rounds), "Spark, decode=json, noop")
    bench.drop(stream)
    title = f"JSON into columns, {load.events:,} flights of ten columns, {load.events * load.size / 1e6:,.0f} MB"
    return table(title, rows, "Spark, decode=json, noop")


def _loop(bench: Bench, share: float, rounds: int) -> str:
    """A loop over events is too slow for all of them: it gets a tenth."""
    stream, load, _ = _fill(bench, round(_JSON_ROWS * share / 10))
    loop = "official Python client, json.loads in a loop"
    contenders: Contenders = {
        loop: lambda stream, load: bench.python.ask("json", stream.scope, stream.stream, load.events),
        "read_polars": partial(_in_polars, bench.client),
    }
    rows = summary(of_one_stream(contenders, stream, load, rounds), loop)
    bench.drop(stream)
    return table(f"JSON into Polars, {load.events * load.size / 1e6:,.0f} MB, beside a loop", rows, loop)


def _sizes(bench: Bench, share: float, rounds: int) -> str:
    """Seconds from nothing, by size."""
    uri = bench.config.controller_uri
    lines = [
        "### From the start of a process, s (medians)",
        "",
        "| JSON | read_polars | Spark, noop |",
        "|---|---:|---:|",
    ]
    for part in _SHARES:
        stream, load, _ = _fill(bench, round(_JSON_ROWS * share * part))
        taken: dict[str, list[float]] = {"polars": [], "spark": []}
        for number in range(rounds):
            for job in list(taken)[:: 1 if number % 2 else -1]:
                taken[job].append(_of(load, partial(_process, job, uri, str(stream), DDL)).seconds)
        ours, spark = (median(taken[job]) for job in ("polars", "spark"))
        lines.append(f"| {load.events * load.size / 1e6:,.0f} MB | {ours:.2f} | {spark:.2f} |")
        bench.drop(stream)
    return "\n".join(lines)


def _raw(bench: Bench, share: float, rounds: int) -> str:
    load = Load(_RAW.name, round(_RAW.events * share), _RAW.size)
    stream = bench.fill(load)

    def arrow(stream: StreamName, load: Load, select: list[str] | None) -> Measured:
        def read() -> None:
            rows = sum(batch.num_rows for batch in read_arrow(range_of(bench.client, stream), select=select))
            assert rows == load.events

        return _of(load, read)

    contenders = {
        "bulk reader, 2 processes": lambda stream, load: bench.bulk.read(stream, load.size),
        "read_arrow": lambda stream, load: arrow(stream, load, None),
        "read_arrow, select=['event']": lambda stream, load: arrow(stream, load, ["event"]),
    }
    rows = summary(of_one_stream(contenders, stream, load, rounds), "bulk reader, 2 processes")
    bench.drop(stream)
    return table(f"raw, {load.events:,} events of 1 kB", rows, "bulk reader, 2 processes")


def _small(bench: Bench, rounds: int) -> str:
    """First rows of ten events, and a write of a thousand."""
    stream = bench.new_stream()
    write_events(bench.config, stream, Load("few", _FEW, 100))
    target = bench.new_stream()
    rows = pl.DataFrame({"number": range(_SMALL), "text": ["x" * 80] * _SMALL})
    works: dict[str, Callable[[], object]] = {
        f"first rows of {_FEW} events, warm": lambda: next(iter(read_arrow(range_of(bench.client, stream)))),
        f"first rows of {_FEW} events, new process": lambda: _process(
            "first", bench.config.controller_uri, str(stream)
        ),
        f"{_SMALL:,} rows written exactly once, warm": lambda: write_arrow(
            bench.client, rows, target, uuid.uuid4().hex
        ),
    }
    found: dict[str, list[float]] = {name: [] for name in works}
    for number in range(2 * rounds + 1):
        for name, work in works.items():
            with stopwatch() as watch:
                work()
            if number:
                found[name].append(watch.seconds)
    lines = ["### Small ranges and writes, s", "", "| work | median | lowest to highest |", "|---|---:|---:|"]
    lines += [f"| {name} | {median(one):.3f} | {min(one):.3f} to {max(one):.3f} |" for name, one in found.items()]
    return "\n".join(lines)


def _memory(share: float) -> str:
    """The memory of a process that reads a range, of a server with a small cache."""
    lines = [
        "### Memory of `read_arrow`, raw events of 1 kB, a new process",
        "",
        "| range | largest resident size | s |",
    ]
    lines.append("|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "server")
        with PravegaEmulator(data=data, cache_megabytes=512, heap_megabytes=2048, full_jit=True) as server:
            with PravegaClient(server.config) as client:
                client.create_scope("memory")
                client.create_stream("memory/long")
            stream = StreamName("memory", "long")
            written = 0
            for goal in (_LONG.events // 20, _LONG.events):
                wanted = round(goal * share)
                while written < wanted:
                    some = min(_PIECE, wanted - written)
                    write_events(server.config, stream, Load("piece", some, _LONG.size))
                    settle(data)
                    written += some
                start = time.perf_counter()
                found = _process("memory", server.config.controller_uri, str(stream))
                seconds = time.perf_counter() - start
                assert found["rows"] == written
                size = written * _LONG.size
                lines.append(f"| {size / 1e9:,.1f} GB | {found['bytes'] / 1e6:,.0f} MB | {seconds:.1f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print and store the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", type=float, default=1.0, help="of the events, to try the benchmark itself")
    parser.add_argument("--warm-up", type=int, default=2, metavar="GB", help="written and read before (default 2)")
    parser.add_argument("--only", choices=_PARTS, action="append", help="this part; can be given again")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    arguments = " ".join(sys.argv[1:])
    command = "make bench-frames" + (f" ARGS='{arguments}'" if arguments else "")
    texts = [f"Made by `{command}` on {datetime.now(UTC).date().isoformat()}, server and readers on two cores."]
    parts = given.only or _PARTS
    if set(parts) - {"memory"}:
        with tempfile.TemporaryDirectory() as folder, Bench(_CACHE_MEGABYTES, Path(folder)) as bench:
            bench.warm_up(given.warm_up)
            works = {
                "small": lambda: _small(bench, given.rounds),
                "raw": lambda: _raw(bench, given.share, given.rounds),
                "json": lambda: _json(bench, given.share, given.rounds),
                "loop": lambda: _loop(bench, given.share, given.rounds),
                "sizes": lambda: _sizes(bench, given.share, given.rounds),
            }
            for name in (name for name in works if name in parts):
                texts.append(works[name]())
                print(f"\n{texts[-1]}\n", flush=True)
                given.out.write_text("\n\n".join(texts) + "\n")
    if "memory" in parts:
        texts.append(_memory(given.share))
        print(f"\n{texts[-1]}\n", flush=True)
    given.out.write_text("\n\n".join(texts) + "\n")


if __name__ == "__main__":
    main()
