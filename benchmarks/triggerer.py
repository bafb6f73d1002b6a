"""Thousands of deferred sensors in a real triggerer: what they cost while nothing happens, and how soon they wake.

    python -m benchmarks.triggerer

Real are PostgreSQL, API server, scheduler, DAG processor and triggerer, each a process, the embedded Pravega, and the
first task: the scheduler starts it, a worker defers it. All others are copies of its row and of its trigger's, written
to the database by Airflow's own models with other streams and chains: to have so many deferred by workers takes hours.
The triggerer loads them as it loads any. The scheduler is killed once the first task is deferred, so that tasks that
wake wait in the database, and no workers run beside the measurement.

CPU and memory are those of the triggerer with all its processes; of memory that processes share, each has its part. The
times of a sensor are from before the write to the event of its trigger, by the triggerer's log of the task, and to when
the triggerer has noted in the database that the task continues. Server and database are on the same machine; their CPU
is not counted.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import psutil
from tests.faults.process import ProcessTree
from tests.system.airflow.components import Components
from tests.system.airflow.postgres import Postgres
from tests.system.servers import free_ports

from aiopravega import PravegaConfig
from benchmarks.sensors import append, make_streams
from pravega_emulator import PravegaEmulator

_SCOPE: Final = "deferred"
_DAGS: Final = Path(__file__).with_name("dags")
_AT_ONCE: Final = 500
_MEGABYTE: Final = 1e6
_HUNDRED: Final = 100


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a triggerer while nothing happens: its part of a core, and its memory."""

    cpu: float
    megabytes: float


def _cpu_seconds(tree: ProcessTree) -> float:
    times = [psutil.Process(pid).cpu_times() for pid in tree.pids()]
    return sum(each.user + each.system for each in times)


def _cost(tree: ProcessTree, settle: float, seconds: float) -> Cost:
    time.sleep(settle)
    cpu, began = _cpu_seconds(tree), time.monotonic()
    time.sleep(seconds)
    used = (_cpu_seconds(tree) - cpu) / (time.monotonic() - began)
    memory = sum(psutil.Process(pid).memory_full_info().pss for pid in tree.pids())
    return Cost(used, memory / _MEGABYTE)


def _wake(logs: Path, config: PravegaConfig, given: argparse.Namespace) -> str:
    """Write to some of the streams; how many sensors woke, and after how long, as the end of a row."""
    from benchmarks.deferred import fired, woken

    written = random.Random(1).sample(range(given.streams), given.written)
    began = asyncio.run(append(config, _SCOPE, written, given.rate))
    expected = sum(number % given.streams in set(written) for number in range(given.sensors))
    until = time.monotonic() + given.limit
    while (len(found := woken()) < expected or len(fired(logs)) < expected) and time.monotonic() < until:
        time.sleep(1.0)
    cells = [f"{len(found):,} of {expected:,}"]
    for times in (fired(logs), found):
        took = [at.timestamp() - began[f"{_SCOPE}/stream-{number % given.streams}"] for number, at in times.items()]
        cells += [f"{statistics.median(took):.2f} s", f"{statistics.quantiles(took, n=_HUNDRED)[98]:.2f} s"]
    return " | ".join(cells)


def _measure(components: Components, config: PravegaConfig, given: argparse.Namespace) -> str:
    os.environ.update(components.environment)
    from benchmarks.deferred import TRIGGER_LOGS, copy_deferred, unassigned

    api = components.api
    api.unpause("deferred")
    run = api.trigger("deferred")
    api.wait_for_task("deferred", run, "wait", "deferred")
    components.kill("scheduler")
    tree = components.tree("triggerer")
    one = _cost(tree, given.settle, given.idle)
    print("one sensor", one, flush=True)
    began = time.monotonic()
    copy_deferred(_SCOPE, given.sensors, given.streams)
    api.wait(lambda: not unassigned(), "all triggers are taken")
    print(f"taken after {time.monotonic() - began:.0f} s", flush=True)
    api.wait(lambda: len(list(components.logs.rglob(TRIGGER_LOGS))) >= given.sensors, "all triggers run")
    print(f"all run after {time.monotonic() - began:.0f} s", flush=True)
    many = _cost(tree, given.settle, given.idle)
    print("all sensors", many, flush=True)
    return (
        f"| {given.sensors:,} on {given.streams:,} | {many.cpu:.0%} of a core | {one.cpu:.0%} of a core "
        f"| {many.megabytes - one.megabytes:.0f} MB | {_wake(components.logs, config, given)} |"
    )


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sensors", type=int, default=5000)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--settle", type=float, default=60.0, help="seconds, before what is idle is measured")
    parser.add_argument("--idle", type=float, default=30.0, help="seconds")
    parser.add_argument("--written", type=int, default=60, help="streams that get an event")
    parser.add_argument("--rate", type=float, default=2.0, help="events a second")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds, for what wakes")
    given = parser.parse_args()
    os.environ["AIRFLOW__TRIGGERER__CAPACITY"] = str(given.sensors)
    os.environ["AIRFLOW__TRIGGERER__MAX_TRIGGER_TO_SELECT_PER_LOOP"] = str(_AT_ONCE)
    home = Path(tempfile.mkdtemp(prefix="triggerer-"))
    print(f"load of the machine before: {os.getloadavg()[0]:.2f}; the logs are in {home}", flush=True)
    with PravegaEmulator(full_jit=True, heap_megabytes=2048) as server:
        # A server that makes so many streams at once answers late.
        config = PravegaConfig(controller_uri=server.controller_uri, request_timeout=120.0, retry_timeout=300.0)
        asyncio.run(make_streams(config, _SCOPE, given.streams))
        uri = urlsplit(server.controller_uri)
        connection = json.dumps({"conn_type": "pravega", "host": uri.hostname, "port": uri.port})
        with (
            Postgres(free_ports(1)[0], home / "postgres.log") as database,
            Components(home, database, _DAGS, {"pravega_default": connection}) as components,
        ):
            row = _measure(components, config, given)
    print(f"load of the machine after: {os.getloadavg()[0]:.2f}")
    print("| sensors | CPU, idle | with one | memory added | woke | to event, median | 99 % | to wake, median | 99 % |")
    print("|---|---:|---:|---:|---|---:|---:|---:|---:|")
    print(row)


if __name__ == "__main__":
    main()
