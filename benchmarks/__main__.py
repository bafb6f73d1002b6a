"""Run all contenders in turn on one server, and print and store what came out.

The server is warmed up first: a fresh JVM is three times slower than one that has moved some gigabytes. Then the
contenders take turns, round by round, so that a change of the machine's speed meets all of them; ratios are taken
within a round.
"""

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from aiopravega import PravegaConfig, ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.emulator import PravegaEmulator
from aiopravega.emulator.fetch import ensure_jars
from aiopravega.emulator.java import find_java
from benchmarks.measure import Load, Measured, summary, table
from benchmarks.peer import Peer
from benchmarks.readers import BulkContender
from benchmarks.spark import SparkContender
from benchmarks.writers import write_events

SCOPE = "benchmark"
SEGMENTS = 4
LOADS = (Load("1 kB", 1_000_000, 1_000), Load("100 B", 5_000_000, 100))
# The official Python client is so slow that it gets this share of the events; its rate is what is compared.
PYTHON_WRITE_SHARE = 200
RESULTS = Path(__file__).parent / "results"

Contenders = Mapping[str, Callable[[StreamName, Load], Measured]]


class Bench:
    """All contenders on one server."""

    def __init__(self, config: PravegaConfig, stack: ExitStack, logs: Path) -> None:
        uri = config.controller_uri
        self._config = config
        self._client = stack.enter_context(PravegaClient(config))
        self._java = stack.enter_context(Peer.java(find_java(), ensure_jars(), uri, logs / "java.log"))
        self._python = stack.enter_context(Peer.python(uri, logs / "python.log"))
        self.bulk = stack.enter_context(BulkContender(config))
        self.spark = stack.enter_context(SparkContender(uri))
        self._streams = 0
        self._client.create_scope(SCOPE)

    def new_stream(self) -> StreamName:
        """An empty stream of its own for one run."""
        self._streams += 1
        name = f"run-{self._streams}"
        self._client.create_stream(SCOPE, name, scaling=ScalingPolicy.fixed(SEGMENTS))
        return StreamName(SCOPE, name)

    def drop(self, stream: StreamName) -> None:
        """Remove a stream whose run is over."""
        self._client.delete_stream(stream.scope, stream.stream)

    def fill(self, load: Load) -> StreamName:
        """A stream that holds a load."""
        stream = self.new_stream()
        write_events(self._config, stream, load)
        return stream

    @property
    def readers(self) -> Contenders:
        """Everybody who reads a whole stream."""
        threads = os.cpu_count()
        return {
            f"Java BatchClientFactory, {threads} threads": lambda s, _: self._java.ask("read", *_words(s), threads),
            f"aiopravega bulk reader, {threads} processes": lambda s, load: self.bulk.read(s, load.size),
            "pyspark-pravega, sum(length(event))": self.spark.sum_length,
            "pyspark-pravega, noop": self.spark.noop,
            "official Python client": lambda s, load: self._python.ask("read", *_words(s), load.events),
        }

    @property
    def writers(self) -> Contenders:
        """Everybody who writes a load into an empty stream."""
        return {
            "Java EventStreamWriter": lambda s, load: self._java.ask("write", *_words(s), load.events, load.size),
            "Java transactions": lambda s, load: self._java.ask("txn", *_words(s), load.events, load.size, SEGMENTS),
            "aiopravega writer": lambda s, load: write_events(self._config, s, load),
            "pyspark-pravega, exactly once": self.spark.write,
            "official Python client": lambda s, load: self._python.ask(
                "write", *_words(s), load.events // PYTHON_WRITE_SHARE, load.size
            ),
        }

    def read_rounds(self, load: Load, rounds: int) -> list[dict[str, Measured]]:
        """All readers of one stream in turn."""
        stream = self.fill(load)
        results = [_round(self.readers, lambda: stream, load, number) for number in range(rounds + 1)]
        self.drop(stream)
        return results[1:]  # the first warms up

    def write_rounds(self, load: Load, rounds: int) -> list[dict[str, Measured]]:
        """All writers in turn, each into a stream of its own."""
        results = []
        finished: list[StreamName] = []
        for number in range(rounds + 1):
            written: list[StreamName] = []

            def take(written: list[StreamName] = written) -> StreamName:
                written.append(self.new_stream())
                return written[-1]

            results.append(_round(self.writers, take, load, number))
            # A round later: the server's writer to the second tier stumbles, and with it the cutting of the log, when
            # a stream vanishes while transactions are merged into it.
            for stream in finished:
                self.drop(stream)
            finished = written
        for stream in finished:
            self.drop(stream)
        return results[1:]


def _words(stream: StreamName) -> tuple[str, str]:
    return stream.scope, stream.stream


def _round(
    contenders: Contenders,
    take: Callable[[], StreamName],
    load: Load,
    number: int,
) -> dict[str, Measured]:
    results = {}
    # Who goes first changes from round to round: it finds what the one before has left behind.
    names = list(contenders)
    for name in names[number % len(names) :] + names[: number % len(names)]:
        results[name] = contenders[name](take(), load)
        print(f"{load.name}, round {number}: {name}: {results[name].megabytes_per_second:,.0f} MB/s", flush=True)
    return {name: results[name] for name in names}


def _machine() -> dict[str, Any]:
    packages = ("aiopravega", "pyspark", "pyarrow", "pravega")
    return {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def _warm_up(bench: Bench, gigabytes: int) -> None:
    load = Load("warm-up", 1_000_000, 1_000)
    for number in range(gigabytes):
        stream = bench.fill(load)
        bench.bulk.read(stream, load.size)
        bench.drop(stream)
        print(f"warm-up: {number + 1} of {gigabytes} GB written and read", flush=True)


def main() -> None:
    """Command line of `make bench`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds (default 5)")
    parser.add_argument("--warm-up", type=int, default=4, metavar="GB", help="written and read before (default 4)")
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the events, to try the benchmark itself (default 1)"
    )
    parser.add_argument("--only", choices=["read", "write"], help="half of it")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the JSON and the table")
    options = parser.parse_args()
    report: dict[str, Any] = {
        "command": f"make bench ARGS='--rounds {options.rounds} --warm-up {options.warm_up} --share {options.share:g}'",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": _machine(),
        "tables": {},
    }
    texts = []
    with ExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(PravegaEmulator(cache_megabytes=2048, heap_megabytes=6144))
        bench = Bench(server.config, stack, logs)
        _warm_up(bench, options.warm_up)
        for load in (Load(load.name, int(load.events * options.share), load.size) for load in LOADS):
            for kind, run in (("read", bench.read_rounds), ("write", bench.write_rounds)):
                if options.only in (None, kind):
                    rounds = run(load, options.rounds)
                    reference = next(iter(rounds[0]))
                    rows = summary(rounds, reference)
                    title = f"{kind}, {load.events:,} events of {load.name}, {SEGMENTS} segments"
                    report["tables"][title] = rows
                    texts.append(table(title, rows, reference))
        report["memory"] = {"bulk reader": bench.bulk.largest_memory, "Spark task": bench.spark.largest_memory}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "latest.json").write_text(json.dumps(report, indent=1) + "\n")
    memory = {name: f"{size / 1e6:.0f} MB" for name, size in report["memory"].items()}
    texts.append(f"Largest memory of a reading process: {memory}")
    text = "\n\n".join(texts) + "\n"
    (options.out / "latest.md").write_text(f"Made by `{report['command']}` on {report['date']}.\n\n{text}")
    print(f"\n{text}")


if __name__ == "__main__":
    main()
