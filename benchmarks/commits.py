"""The same work with this checkout and with another one, in turn on one server: what a change has cost or gained.

    git worktree add ../before COMMIT && make -C ../before setup
    python -m benchmarks.commits ../before

Each checkout has a process and a Spark of its own, which stay up for all rounds; who goes first changes from round to
round. Each writes into a stream of its own, the same in all rounds: the first write, which makes the ledger and marks
the stream, is one of those that warm up. `CPU` is that of the checkout's processes, Spark's workers included, without
the server's.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Final

from tests.java.child import Child

from aiopravega import PravegaConfig, ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from benchmarks.measure import Load
from benchmarks.writers import write_events
from pravega_emulator import PravegaEmulator

_SCOPE: Final = "commits"
_SEGMENTS: Final = 4
_WARM_UP: Final = 2
_WORKS: Final = {
    "write": "Spark, exactly once",
    "at-least": "Spark, at least once",
    "read": "Spark, a whole stream, noop",
    "available": "Spark, AvailableNow, noop",
    "events": "blocking writer, single events with keys",
}
_READS: Final = ("read", "available")
_LOADS: Final = (Load("1 kB", 200_000, 1_000), Load("100 B", 1_000_000, 100))
_SINGLE: Final = 50_000
_BEFORE, _AFTER = "before", "after"

Answer = dict[str, float]


def _peer(checkout: Path, uri: str, log: Path) -> Child:
    script = Path(__file__).parent / "peers" / "checkout.py"
    root = checkout.resolve()
    python = str(root / ".venv" / "bin" / "python")
    return Child(["env", "-C", str(root), f"PYTHONPATH={root}", python, str(script), uri], log)


def _rounds(
    client: PravegaClient, config: PravegaConfig, peers: dict[str, Child], work: str, load: Load, rounds: int
) -> list[dict[str, Answer]]:
    if work == "events":
        load = Load(load.name, _SINGLE, load.size)
    found = []
    streams = {name: f"{work}-{load.size}-{name}" for name in peers}
    if work in _READS:
        streams = dict.fromkeys(peers, f"{work}-{load.size}")
    for stream in set(streams.values()):
        client.create_stream(f"{_SCOPE}/{stream}", scaling=ScalingPolicy.fixed(_SEGMENTS))
        if work in _READS:
            write_events(config, StreamName(_SCOPE, stream), load)
    for number in range(rounds + _WARM_UP):
        answers = {}
        for name in list(peers)[:: 1 if number % 2 else -1]:
            answers[name] = peers[name].answer_to(f"{work} {_SCOPE} {streams[name]} {load.events} {load.size}")
            if work not in _READS:
                client.truncate_stream(client.tail(f"{_SCOPE}/{streams[name]}"))
        print(work, load.name, number, answers, file=sys.stderr, flush=True)
        found.append(answers)
    return found[_WARM_UP:]


def _line(work: str, load: Load, rounds: list[dict[str, Answer]]) -> str:
    def typical(name: str, field: str) -> float:
        return median(answers[name][field] for answers in rounds)

    def ratio(field: str) -> list[float]:
        return sorted(answers[_BEFORE][field] / answers[_AFTER][field] for answers in rounds)

    speeds, cpu = ratio("seconds"), ratio("cpu")
    return (
        f"| {_WORKS[work]}, {load.name} | {typical(_BEFORE, 'seconds'):.2f} | {typical(_AFTER, 'seconds'):.2f} "
        f"| {median(speeds):.2f} ({speeds[0]:.2f} to {speeds[-1]:.2f}) "
        f"| {typical(_BEFORE, 'cpu'):.2f} | {typical(_AFTER, 'cpu'):.2f} | {median(cpu):.2f} |"
    )


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, help="the other checkout, set up")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", choices=_WORKS, action="append")
    parser.add_argument("--share", type=float, default=1.0, help="of the events")
    given = parser.parse_args()
    print("| work | before, s | after, s | speed, times before | before, CPU s | after, CPU s | CPU, times before |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    with (
        PravegaEmulator(full_jit=True, cache_megabytes=2048, heap_megabytes=4096) as server,
        PravegaClient(PravegaConfig(controller_uri=server.controller_uri)) as client,
        tempfile.TemporaryDirectory() as folder,
        _peer(given.before, server.controller_uri, Path(folder, "before.log")) as before,
        _peer(Path(), server.controller_uri, Path(folder, "after.log")) as after,
    ):
        client.create_scope(_SCOPE)
        for work in given.only or _WORKS:
            for load in _LOADS:
                small = Load(load.name, round(load.events * given.share), load.size)
                found = _rounds(client, server.config, {_BEFORE: before, _AFTER: after}, work, small, given.rounds)
                print(_line(work, small, found), flush=True)


if __name__ == "__main__":
    main()
