"""The cost of one write into two streams beside two writes to one stream each: `make bench-sinks`.

Both write the same rows by the same code, exactly once. In each round both write, in random order, into streams that
have been written to before. The requests of a write to segment stores and the controller are counted in one more round.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest import mock

import pyarrow as pa

from aiopravega import PravegaConfig, ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.control.rpc import Rpc
from aiopravega.net.connection import Connection
from pravega_emulator import PravegaEmulator
from pravega_jobs.frames import write_arrow, write_streams

_SCOPE: Final = "bench"
_ROWS: Final = (1_000, 100_000)
_WARM_UP: Final = 2
ONE, TWO = "one write into two streams", "two writes to one stream each"
Write = Callable[[PravegaClient, pa.Table, str], None]


def _one(client: PravegaClient, rows: pa.Table, name: str) -> None:
    write_streams(client, {f"{_SCOPE}/one-{each}": rows for each in "ab"}, name)


def _two(client: PravegaClient, rows: pa.Table, name: str) -> None:
    for each in "ab":
        write_arrow(client, rows, f"{_SCOPE}/two-{each}", name)


CONTENDERS: Final[dict[str, Write]] = {ONE: _one, TWO: _two}


@contextmanager
def _counted() -> Iterator[list[None]]:
    """The requests that are sent meanwhile."""
    sent: list[None] = []

    def counting(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            sent.append(None)
            return real(*args, **options)

        return call

    with (
        mock.patch.object(Connection, "send", counting(Connection.send)),
        mock.patch.object(Rpc, "_attempt", counting(vars(Rpc)["_attempt"])),
    ):
        yield sent


def _measured(client: PravegaClient, rows: pa.Table, rounds: int) -> Iterator[str]:
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in CONTENDERS}
    for number in range(_WARM_UP + rounds):
        for name in random.sample(list(CONTENDERS), len(CONTENDERS)):
            began, used = time.perf_counter(), time.process_time()
            CONTENDERS[name](client, rows, f"{rows.num_rows} {number}")
            found[name].append((time.perf_counter() - began, time.process_time() - used))
    for name, times in found.items():
        with _counted() as sent:
            CONTENDERS[name](client, rows, f"{rows.num_rows} counted")
        clock, cpu = (statistics.median(each[which] for each in times[_WARM_UP:]) * 1000 for which in (0, 1))
        yield f"| {rows.num_rows:,} | {name} | {clock:,.0f} | {cpu:,.0f} | {len(sent)} |"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    given = parser.parse_args()
    print("| rows for each stream | what | ms | ms of CPU of the client | requests |")
    print("|---:|---|---:|---:|---:|")
    with (
        PravegaEmulator(full_jit=True) as server,
        PravegaClient(PravegaConfig(controller_uri=server.controller_uri)) as client,
    ):
        client.create_scope(_SCOPE)
        for which in ("one", "two"):
            for each in "ab":
                client.create_stream(StreamName(_SCOPE, f"{which}-{each}"), ScalingPolicy.fixed(2))
        for count in _ROWS:
            rows = pa.table({"id": range(count), "routing_key": [str(number % 100) for number in range(count)]})
            for line in _measured(client, rows, given.rounds):
                print(line, flush=True)


if __name__ == "__main__":
    main()
