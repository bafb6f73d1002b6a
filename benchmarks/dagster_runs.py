"""The time of N partitions in Dagster: with a run and a process for each, with one for all, with one JVM or many.

    python -m benchmarks.dagster_runs
    python -m benchmarks.dagster_runs --size huge --rounds 1 --way multiprocess --way landed   # 2 GB each

Real are webserver, daemon and code servers, each a process, and the embedded Pravega. Each way reads the same recorded
ranges, again in each round; the ways take turns, and who goes first changes. One partition by each way comes first,
and does not count. Dagster runs two runs at a time.

Runs are launched by GraphQL, with the tags that a backfill gives them, and wait in Dagster's queue. The seconds are
from the creation of the first run to the end of the last one: that the daemon looks for new backfills every 30 seconds
is not in them. CPU and memory are those of the code server with all runs, steps, JVMs and Python workers, and of the
Spark Connect server where that is used; what the code server has while nothing runs is taken off. Of memory that
processes share, each has its part. Pravega, webserver and daemon are on the same cores, and are not counted.
"""

import argparse
import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final, Self

from tests.faults.process import ProcessTree, wait_until
from tests.spark_connect import SparkConnect
from tests.system.dagster.components import Components
from tools.cpu_seconds import Meter

from aiopravega import PravegaConfig, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.ledger import Interval
from benchmarks import dagster_assets
from benchmarks.dagster_assets import CONNECT, CONSUMER, HUGE, POOL, SCOPE, SIZES, SMALL, TABLES, Size
from benchmarks.measure import Load
from benchmarks.writers import write_events
from pravega_emulator import PravegaEmulator

_FOLDER: Final = Path(dagster_assets.__file__).parent
# Two are code locations, too.
_IN_PROCESS, _MULTIPROCESS, _CONNECT, _ONE_RUN = "in_process", "multiprocess", "connect", "one_run"
_LANDED: Final = "landed"
WAYS: Final = {
    _MULTIPROCESS: "a run each, multiprocess executor (the default)",
    _IN_PROCESS: "a run each, in-process executor",
    "pool": "the same, in a pool with the limit 1",
    _ONE_RUN: "one run for all (`single_run`), in-process executor",
    _CONNECT: "a run each, in-process, on a Spark Connect server that is up",
    "arrow": "a run each, in-process, `PravegaArrowIOManager`",
    _LANDED: "a run each, multiprocess executor, landed in a table of Parquet (`build_kept_table`)",
}
_RANGE: Final = "dagster/asset_partition_range"
# Of a code server to which no run belongs: itself, and what Python starts for it.
_AT_REST: Final = 2
_SAMPLE_SECONDS: Final = 0.5
_MEGABYTE: Final = 1e6
_TIMES: Final = """query($filter: RunsFilter) { runsOrError(filter: $filter) {
  ... on Runs { results { creationTime endTime } } } }"""
_LIMIT: Final = """mutation($pool: String!) { setConcurrencyLimit(concurrencyKey: $pool, limit: 1) }"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of all runs of some partitions."""

    seconds: float
    cpu: float
    megabytes: float
    jvms: int


class _Watch:
    """The most memory of some processes, and the most JVMs among them, while this is open."""

    def __init__(self, trees: Sequence[ProcessTree]) -> None:
        self._trees = trees
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self.memory = self.jvms = 0

    def look(self) -> None:
        """Count once."""
        memory = jvms = 0
        for pid in (pid for tree in self._trees for pid in tree.pids()):
            folder = Path(f"/proc/{pid}")
            with suppress(OSError):  # it has ended meanwhile
                memory += _proportional(folder)
                jvms += (folder / "comm").read_text().strip() == "java"
        self.memory, self.jvms = max(memory, self.memory), max(jvms, self.jvms)

    def _sample(self) -> None:
        while not self._done.wait(_SAMPLE_SECONDS):
            self.look()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def _proportional(process: Path) -> int:
    """Bytes of memory; of pages that it shares, its part."""
    lines = (process / "smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


class Runs:
    """Runs of partitions in all ways, by Dagster's processes."""

    def __init__(
        self, dagster: Components, connect: SparkConnect, partitions: dict[str, list[str]], tables: Path
    ) -> None:
        self._dagster, self._tables = dagster, tables
        self._trees = {
            _IN_PROCESS: dagster.tree(_IN_PROCESS),
            _MULTIPROCESS: dagster.tree(_MULTIPROCESS),
            _CONNECT: connect.tree,
        }
        self._meters = {name: Meter(tree.process.pid) for name, tree in self._trees.items()}
        for stream, names in partitions.items():
            for name in names:
                dagster.graphql.add_partition(_IN_PROCESS, f"pravega {SCOPE}/{stream} {CONSUMER}", name)
        assert dagster.graphql.ask(_LIMIT, pool=POOL)["setConcurrencyLimit"]

    def _rest(self, server: str) -> None:
        """Wait until the processes of runs have ended: a JVM ends after its run."""
        tree = self._trees[server]
        wait_until(lambda: len(list(tree.pids())) <= _AT_REST, lambda: f"{server} is at rest")

    def run(self, way: str, size: Size, names: Sequence[str]) -> Cost:
        """Materialize some partitions; what it took."""
        graphql = self._dagster.graphql
        server = _MULTIPROCESS if way in (_MULTIPROCESS, _LANDED) else _IN_PROCESS
        # A table that has the partitions would not read them again.
        shutil.rmtree(self._tables / f"{way}_{size.stream}", ignore_errors=True)
        counted = [server, _CONNECT] if way == _CONNECT else [server]
        idle = _Watch([self._trees[server]])
        self._rest(server)
        idle.look()
        before = {name: self._meters[name].seconds() for name in counted}
        together = {_RANGE + "_start": names[0], _RANGE + "_end": names[-1]}
        tags = [together] if way == _ONE_RUN else [{"dagster/partition": name} for name in names]
        with _Watch([self._trees[name] for name in counted]) as watch:
            runs = [graphql.launch(server, "__ASSET_JOB", {}, assets=[f"{way}_{size.stream}"], tags=of) for of in tags]
            for run in runs:
                graphql.wait_for_run(run)
        self._rest(server)
        cpu = sum(self._meters[name].seconds() - since for name, since in before.items())
        times = graphql.ask(_TIMES, filter={"runIds": runs})["runsOrError"]["results"]
        assert len(times) == len(tags), times
        seconds = max(run["endTime"] for run in times) - min(run["creationTime"] for run in times)
        return Cost(seconds, cpu, (watch.memory - idle.memory) / _MEGABYTE, watch.jvms)


def fill(config: PravegaConfig, sizes: Iterable[Size]) -> dict[str, list[str]]:
    """Write streams, and record the ranges of each; their names."""
    names: dict[str, list[str]] = {}
    with PravegaClient(config) as client:
        client.create_scope(SCOPE)
        ledger = client.cut_ledger(SCOPE)
        ledger.create()
        for size in sizes:
            stream = StreamName(SCOPE, size.stream)
            client.create_stream(stream, ScalingPolicy.fixed(2))
            names[size.stream] = [f"range {number}" for number in range(size.partitions)]
            tail = client.tail(stream)
            for number, name in enumerate(names[size.stream]):
                write_events(config, stream, Load(size.stream, size.events, size.event_bytes))
                start, tail = tail, client.tail(stream)
                ledger.claim(Interval(CONSUMER, stream, name), StreamCutRange(start, tail), number=number)
    return names


def table(heading: str, costs: dict[str, list[Cost]]) -> str:
    """Medians of each way, in brackets the least and the most seconds."""
    lines = [f"{heading}:\n", "| way | seconds | CPU, s | memory, MB | JVMs at a time |", "|---|---:|---:|---:|---:|"]
    for way, found in costs.items():
        seconds = [cost.seconds for cost in found]
        lines.append(
            f"| {WAYS[way]} | {median(seconds):.0f} ({min(seconds):.0f} to {max(seconds):.0f}) "
            f"| {median(cost.cpu for cost in found):.0f} | {median(cost.megabytes for cost in found):,.0f} "
            f"| {max(cost.jvms for cost in found)} |"
        )
    return "\n".join(lines)


def _measure(runs: Runs, partitions: dict[str, list[str]], given: argparse.Namespace) -> None:
    ways: list[str] = given.way or list(WAYS)
    for way in () if given.cold else ways:
        print("before", way, runs.run(way, SMALL, partitions[SMALL.stream][:1]), flush=True)
    for size in (SIZES[name] for name in partitions if given.size in (None, name)):
        names = partitions[size.stream][: given.partitions]
        costs: dict[str, list[Cost]] = {way: [] for way in ways}
        for number in range(given.rounds):
            first = number * len(ways) // given.rounds
            for way in [*ways[first:], *ways[:first]]:
                costs[way].append(runs.run(way, size, names))
                print(size.stream, number, way, costs[way][-1], flush=True)
        heading = f"{len(names)} partitions of {size.events:,} events of {size.event_bytes:,} bytes"
        print(f"\n{table(heading, costs)}\n", flush=True)


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--way", choices=list(WAYS), action="append", help="this way; can be given again")
    parser.add_argument("--size", choices=list(SIZES), help="of this stream alone")
    parser.add_argument("--partitions", type=int, help="at most so many of each stream")
    parser.add_argument("--cold", action="store_true", help="without the partition that comes first")
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="dagster-runs-"))
    print(f"load of the machine before: {os.getloadavg()[0]:.2f}; the logs are in {home}", flush=True)
    (home / _CONNECT).mkdir()
    with PravegaEmulator(full_jit=True) as server, SparkConnect(home / _CONNECT) as connect:
        wanted = [size for size in SIZES.values() if size.stream == given.size or (not given.size and size != HUGE)]
        first = [] if given.cold or SMALL in wanted else [SMALL]
        partitions = fill(PravegaConfig(controller_uri=server.controller_uri), [*first, *wanted])
        locations = {name: _FOLDER / f"{name}.py" for name in (_IN_PROCESS, _MULTIPROCESS)}
        tables = home / "tables"
        environment = {"PRAVEGA_CONTROLLER_URI": server.controller_uri, CONNECT: connect.url, TABLES: str(tables)}
        with Components(home, locations, environment) as dagster:
            _measure(Runs(dagster, connect, partitions, tables), partitions, given)
    print(f"load of the machine after: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
