"""Thousands of deferred sensors: what they cost while nothing happens, and how soon they wake.

    git worktree add ../before COMMIT
    python -m benchmarks.sensors ../before
    python -m benchmarks.sensors --official --sensors 100 --streams 100

The triggers of the sensors run on one event loop of a process of its own, as a triggerer runs them, without the rest of
a triggerer: to have as many tasks deferred would take hours. Each is the only one of its chain, as those of different
DAGs are. The other checkout runs the same, by the same Python. The server is on the same machine; its CPU is not
counted. Events are written to some of the streams, one each, and the time of each trigger is taken from before the
write to the trigger's event. With `--official` the official Python client waits for the same, in a process of its own.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tests.java.child import Child

from aiopravega import PravegaClient, PravegaConfig
from pravega_emulator import PravegaEmulator

_AT_ONCE: Final = 3
_SETTLE_SECONDS: Final = 15.0
_HUNDRED: Final = 100


def _peer(module: str, folders: Sequence[Path], uri: str, log: Path) -> Child:
    host, port = uri.removeprefix("tcp://").split(":")
    connection = json.dumps({"conn_type": "pravega", "host": host, "port": int(port)})
    path = os.pathsep.join(str(folder.resolve()) for folder in (Path(), *folders))
    settings = [f"PYTHONPATH={path}", f"AIRFLOW_CONN_PRAVEGA_DEFAULT={connection}"]
    return Child(["env", *settings, sys.executable, "-m", f"benchmarks.peers.{module}", uri], log)


def _peers(given: argparse.Namespace) -> Iterator[tuple[str, str, list[Path]]]:
    """For each row its name, the module that waits, and where its code is."""
    if given.official:
        yield "official", "official_sensors", []
    for name, root in {"now": Path(), "before": given.before}.items():
        if root is not None:
            yield name, "sensors", [root / part / "src" for part in ("aiopravega", "providers/pravega")]


async def make_streams(config: PravegaConfig, scope: str, streams: int) -> None:
    """Make a scope with a cut ledger and streams of one segment, `stream-0` and so on."""
    limit = asyncio.Semaphore(_AT_ONCE)
    async with PravegaClient(config) as client:

        async def make(number: int) -> None:
            async with limit:
                await client.create_stream(f"{scope}/stream-{number}")

        await client.create_scope(scope)
        await client.cut_ledger(scope).create()
        await asyncio.gather(*(make(number) for number in range(streams)))


async def append(config: PravegaConfig, scope: str, streams: list[int], rate: float) -> dict[str, float]:
    """Write an event to each of some streams; when the write of each began."""
    began: dict[str, float] = {}
    async with PravegaClient(config) as client:
        start = time.monotonic()
        for count, number in enumerate(streams):
            await asyncio.sleep(max(0.0, start + count / rate - time.monotonic()))
            async with client.writer(f"{scope}/stream-{number}") as writer:
                began[f"{scope}/stream-{number}"] = time.time()
                await writer.write(b"event")
    return began


def _measure(peer: Child, config: PravegaConfig, scope: str, given: argparse.Namespace) -> dict[str, Any]:
    written = random.Random(1).sample(range(given.streams), given.written)
    started = peer.answer_to(f"wait {scope} {given.streams} {given.sensors} {given.limit}")
    peer.answer_to(f"idle {_SETTLE_SECONDS}")
    idle = peer.answer_to(f"idle {given.idle}")
    began = asyncio.run(append(config, scope, written, given.rate))
    expected = sum(number % given.streams in set(written) for number in range(given.sensors))
    ended = peer.answer_to(f"fired {expected} {given.limit}")
    took = [at - began[stream] for stream, times in ended["fired"].items() if stream in began for at in times]
    return {
        "cpu": idle["cpu"] / idle["seconds"],
        "megabytes": started["megabytes"],
        "started": started["seconds"],
        "unchecked": started["unchecked"],
        "expected": expected,
        "statuses": ended["statuses"],
        "threads": ended["threads"],
        "took": took,
    }


def _row(name: str, found: dict[str, Any]) -> str:
    cuts = statistics.quantiles(found["took"], n=_HUNDRED) if len(found["took"]) > 1 else []
    times = f"{statistics.median(found['took']):.2f} s | {cuts[98]:.2f} s" if cuts else "none | none"
    fired = f"{len(found['took']):,} of {found['expected']:,}"
    checked = "all" if not found["unchecked"] else f"{found['unchecked']:,} not"
    cost = f"{found['cpu']:.0%} of a core | {found['megabytes']:.0f} MB | {found['threads']}"
    return f"| {name} | {cost} | {found['started']:.0f} s, {checked} | {fired} | {times} |"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, nargs="?", help="the other checkout")
    parser.add_argument("--official", action="store_true", help="the official client, too")
    parser.add_argument("--sensors", type=int, default=5000)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--idle", type=float, default=20.0, help="seconds")
    parser.add_argument("--written", type=int, default=60, help="streams that get an event")
    parser.add_argument("--rate", type=float, default=2.0, help="events a second")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds, for the start and for what fires")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    with PravegaEmulator(full_jit=True, heap_megabytes=4096) as server, tempfile.TemporaryDirectory() as folder:
        # A server that makes so many streams at once answers late.
        config = PravegaConfig(controller_uri=server.controller_uri, request_timeout=120.0, retry_timeout=300.0)
        print(f"{given.sensors:,} sensors on {given.streams:,} streams; load of the machine before: {load:.2f}")
        print("| code | CPU, idle | memory added | threads | first checks | fired | append to event, median | 99 % |")
        print("|---|---:|---:|---:|---|---:|---:|---:|")
        for name, module, folders in _peers(given):
            asyncio.run(make_streams(config, name, given.streams))
            with _peer(module, folders, server.controller_uri, Path(folder, f"{name}.log")) as peer:
                found = _measure(peer, config, name, given)
            print(_row(name, found), flush=True)
            print(name, found["statuses"], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
