"""Spark's jobs and streaming queries, beside those of the JVM connector and of another checkout, in turn on one server.

    python -m benchmarks.queries --connector JARS --connector-python PYTHON --before CHECKOUT

JARS is a folder with the connector's jar, the jars of the Pravega client that it needs, and for typed reads Spark's own
for Avro and Protobuf; PYTHON is that of an environment with the PySpark that they are for, 3.5. CHECKOUT is another
checkout, set up. Each contender has a Spark of its own, with one task slot per core, which stays up for all rounds; who
goes first changes from round to round. The server is on the same cores. CPU is that of the contender's processes,
without the server's.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from tests.java.child import Child

from aiopravega import ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from benchmarks.encoded_events import MESSAGE, encoded_flights
from benchmarks.events import ROWS
from benchmarks.measure import Load
from benchmarks.processes import cpu_seconds
from benchmarks.query_stages import draw_stages
from benchmarks.second_tier import settle
from benchmarks.writers import write_events, write_repeatedly
from pravega_emulator import PravegaEmulator

_SCOPE: Final = "queries"
_SEGMENTS: Final = 4
_WARM_UP: Final = 2
_SMALL: Final = Load("1,000 events", 1_000, 100)
_LARGE: Final = Load("1 GB", 1_000_000, 1_000)
_FLIGHTS: Final = Load("flights", 100 * ROWS, 0)  # their formats have sizes of their own
_LOADS: Final = {
    "small-batch": ("a batch job over 1,000 events", "read", _SMALL),
    "small-query": ("AvailableNow over 1,000 events", "available", _SMALL),
    "batch": ("a batch job over 1 GB of 1 kB, noop", "read", _LARGE),
    "one-segment": ("a batch job over 1 GB of 1 kB in one segment, noop", "read", _LARGE),
    "query": ("AvailableNow over 1 GB of 1 kB, noop", "available", _LARGE),
    "json": ("typed: a million flights as JSON, noop", "typed", _FLIGHTS),
    "avro": ("typed: a million flights as Avro, noop", "typed", _FLIGHTS),
    "protobuf": ("typed: a million flights as Protobuf, noop", "typed", _FLIGHTS),
    "write": ("1 GB of 1 kB written exactly once", "write", _LARGE),
    "write-small": ("1,000 events written exactly once", "write", _SMALL),
    "keyed": ("1 GB of 1 kB with routing keys written exactly once", "keyed", _LARGE),
}
_WRITES: Final = ("write", "keyed")
_FOLLOW, _IDLE = "follow", "idle"
WORKS: Final = (*_LOADS, _FOLLOW, _IDLE)
_FEW: Final = 4
# Small batches: so many events, so often, for so long.
_EVENTS, _EVERY, _TIMES = 100, 0.05, 400
_IDLE_SECONDS: Final = 20.0
# What starts with a query is done, and it asks as seldom as it ever does.
_SETTLED_SECONDS: Final = 10.0
NOW, BEFORE, CONNECTOR = "now", "before", "JVM connector"
_NOT_GIVEN: Final = "not given"

Answer = Mapping[str, float]
Run = Callable[[Child, int], Answer]


def _peer(root: Path, python: Path, log: Path, *arguments: str) -> Child:
    script = Path(__file__).parent / "peers" / "spark_jobs.py"
    python = python.absolute()
    # Its own code, whatever is installed there.
    path = ":".join(map(str, [root.resolve(), *root.resolve().glob("*/src")]))
    environment = [f"PYTHONPATH={path}", f"PYSPARK_PYTHON={python}", "PYTHONDONTWRITEBYTECODE="]
    return Child(["env", "-u", "SPARK_HOME", *environment, str(python), str(script), *arguments], log)


class Queries:
    """All works on one server."""

    def __init__(self, server: PravegaEmulator, client: PravegaClient, data: Path) -> None:
        self._server, self._client, self._data = server, client, data
        self._streams = 0

    def run_of(self, work: str) -> Run:
        """A function that has a contender do a work once."""
        if work == _FOLLOW:
            return lambda peer, _: self._follow(peer)
        if work == _IDLE:
            return lambda peer, _: self._idle(peer)
        _, command, load = _LOADS[work]
        if command in _WRITES:
            return lambda peer, _: self._write(peer, command, load)
        stream = self._new_stream(1 if work == "one-segment" else _SEGMENTS)
        if command == "typed":
            return self._typed(work, stream, load)
        write_events(self._server.config, stream, load)
        settle(self._data)
        return lambda peer, _: _timed(peer, f"{command} {stream.scope} {stream.stream} {load.events}")

    def _typed(self, kind: str, stream: StreamName, load: Load) -> Run:
        events, schema = encoded_flights(kind)
        file = self._data.parent / f"flights.{kind}"
        file.write_bytes(schema)
        write_repeatedly(self._server.config, stream, events, load.events // len(events))
        settle(self._data)
        line = f"typed {stream.scope} {stream.stream} {load.events} {kind} {file} {MESSAGE}"
        return lambda peer, _: _timed(peer, line)

    def _new_stream(self, segments: int = _SEGMENTS) -> StreamName:
        self._streams += 1
        stream = StreamName(_SCOPE, f"stream-{self._streams}")
        self._client.create_stream(stream, scaling=ScalingPolicy.fixed(segments))
        return stream

    def _write(self, peer: Child, command: str, load: Load) -> Answer:
        stream = self._new_stream()
        # The first write to a stream makes the ledger, and marks the stream with it.
        peer.answer_to(f"write {stream.scope} {stream.stream} {_FEW} {_SMALL.size}")
        answer = _timed(peer, f"{command} {stream.scope} {stream.stream} {load.events} {load.size}")
        settle(self._data)
        self._client.truncate_stream(self._client.tail(stream))
        return answer

    def _follow(self, peer: Child) -> Answer:
        stream = self._new_stream()
        with self._fed(stream):
            return _timed(peer, f"follow {stream.scope} {stream.stream} {_EVENTS * _TIMES}")

    @contextmanager
    def _fed(self, stream: StreamName) -> Iterator[None]:
        def feed() -> None:
            with self._client.writer(stream) as writer:
                for _ in range(_TIMES):
                    for _ in range(_EVENTS):
                        writer.write(bytes(_SMALL.size))
                    writer.flush()
                    time.sleep(_EVERY)

        thread = threading.Thread(target=feed)
        thread.start()
        yield
        thread.join()

    def _idle(self, peer: Child) -> Answer:
        stream = self._new_stream()
        peer.answer_to(f"start {stream.scope} {stream.stream}")
        time.sleep(_SETTLED_SECONDS)
        before = cpu_seconds(peer.pid)
        time.sleep(_IDLE_SECONDS)
        used = cpu_seconds(peer.pid) - before
        stopped = peer.answer_to("stop")["seconds"]
        return {"seconds": _IDLE_SECONDS, "cpu": used, "stop": stopped}


def _timed(peer: Child, line: str) -> Answer:
    before = cpu_seconds(peer.pid)
    answer = peer.answer_to(line)
    return {**answer, "cpu": cpu_seconds(peer.pid) - before}


def _rounds(run: Run, peers: Mapping[str, Child], work: str, rounds: int, warm_up: int) -> list[dict[str, Answer]]:
    found = []
    for number in range(rounds + warm_up):
        names = list(peers)
        names = names[number % len(names) :] + names[: number % len(names)]
        answers = {name: run(peers[name], number) for name in names}
        print(work, number, answers, file=sys.stderr, flush=True)
        found.append(answers)
    return found[warm_up:]


def _contenders(work: str, peers: Mapping[str, Child], jars: Path | None) -> Mapping[str, Child]:
    """Those that can do a work: Spark's functions for Avro and Protobuf are in jars of their own."""
    if work in ("avro", "protobuf") and jars is not None and not any(jars.glob(f"spark-{work}_*.jar")):
        return {name: peer for name, peer in peers.items() if name != CONNECTOR}
    return peers


def _shown(work: str) -> tuple[str, str]:
    """What the figure of a work is, and the field of an answer that has it."""
    if work == _FOLLOW:
        return f"{_EVENTS} events every {_EVERY * 1000:.0f} ms followed: the median trigger, s", "trigger"
    if work == _IDLE:
        return f"a query that has nothing to read for {_IDLE_SECONDS:.0f} s: its CPU, s", "cpu"
    return f"{_LOADS[work][0]}, s", "seconds"


def _line(work: str, rounds: list[dict[str, Answer]]) -> str:
    what, field = _shown(work)
    cells = [
        what,
        *(
            f"{median(each[name][field] for each in rounds):.2f}" if name in rounds[0] else _NOT_GIVEN
            for name in (NOW, BEFORE, CONNECTOR)
        ),
    ]
    for name in (BEFORE, CONNECTOR):
        ratios = sorted(each[name][field] / each[NOW][field] for each in rounds) if name in rounds[0] else []
        cells.append(f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})" if ratios else "")
    peers = [name for name in (NOW, BEFORE, CONNECTOR) if name in rounds[0]]
    cpu = [f"{median(each[name]['cpu'] for each in rounds):.2f}" for name in peers]
    return f"| {' | '.join([*cells, ', '.join(cpu)])} |"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="another checkout, set up")
    parser.add_argument("--connector", type=Path, help="folder with the jars of the JVM connector")
    parser.add_argument("--connector-python", type=Path, help="Python with the PySpark that it is for")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=_WARM_UP, help="rounds that do not count")
    parser.add_argument("--picture", type=Path, help="draw where the time of queries goes into this file")
    parser.add_argument("--only", choices=WORKS, action="append")
    given = parser.parse_args()
    if (given.connector is None) != (given.connector_python is None):
        parser.error("--connector and --connector-python belong together")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        data = folder / "server"
        server = stack.enter_context(
            PravegaEmulator(data=data, full_jit=True, cache_megabytes=2048, heap_megabytes=6144)
        )
        client = stack.enter_context(PravegaClient(server.config))
        uri, root = server.controller_uri, Path(__file__).parents[1]
        peers = {NOW: _peer(root, Path(sys.executable), folder / "now.log", uri)}
        if given.before is not None:
            python = given.before / ".venv" / "bin" / "python"
            peers[BEFORE] = _peer(given.before, python, folder / "before.log", uri)
        if given.connector is not None:
            jars = f"{given.connector.resolve()}/*"
            peers[CONNECTOR] = _peer(folder, given.connector_python, folder / "connector.log", uri, jars)
        for peer in peers.values():
            stack.enter_context(peer)
        client.create_scope(_SCOPE)
        queries = Queries(server, client, data)
        names = [NOW, BEFORE, CONNECTOR, f"{BEFORE} / {NOW}", f"{CONNECTOR} / {NOW}", f"CPU s of {', '.join(peers)}"]
        print(f"| work | {' | '.join(names)} |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        stages: dict[str, list[dict[str, Answer]]] = {}
        for work in given.only or WORKS:
            able = _contenders(work, peers, given.connector)
            found = _rounds(queries.run_of(work), able, work, given.rounds, given.warm_up)
            print(_line(work, found), flush=True)
            if work in ("small-query", "query"):
                stages[_LOADS[work][0]] = found
    if given.picture is not None:
        draw_stages(stages, given.picture)


if __name__ == "__main__":
    main()
