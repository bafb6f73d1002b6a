"""Kills writes into three streams: `make sink-kills ARGS='--kills 500'`.

A write is killed as `kill -9` does: right before or right after a request, one after the other, or some moments after a
random one. Then the same write is repeated, maybe killed once more before; or another process finishes what is decided,
at one of the streams; or nobody does anything but the writes that come later. Pravega's official Python client reads
the streams in the end: each write is in all three, each event once and those of a key in their order, or in none of
them; a write that was repeated is in all. With `--table`, each write also has rows in a table: they are there once, if
the write was repeated, and never before the streams have theirs. Prints its seed and counts; its status is 1 if a write
was wrong.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from itertools import count as numbers
from pathlib import Path

from tests.faults.field import read_officially
from tests.faults.sink_writes import SCOPE, STREAMS, write, wrong, wrong_in_table
from tests.faults.steps import Steps

from aiopravega import PravegaConfig, ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import NotVisibleError
from pravega_emulator import PravegaEmulator

# The share of kills at one request after the other; the others are some moments after one.
_AT_REQUESTS = 0.5
_LONGEST_PAUSE = 0.05
_WAYS = ("repeated", "killed again and repeated", "finished by another", "left to later writes")


class Killing:
    """Writes that are killed, and what becomes of them.

    Args:
        client: a client of the server.
        folder: where the steps of a run are counted.
        chance: the random numbers.
        table: the text of a table that gets rows as well; None: none does.
    """

    def __init__(self, client: PravegaClient, folder: Path, chance: random.Random, table: str | None) -> None:
        self.client, self.steps, self.chance, self.table = client, Steps(folder), chance, table
        self.counts, self.must_be_there, self.in_tables = Counter[str](), dict[str, bool](), dict[str, bool]()
        self.at_requests, self.requests = numbers(1), 0
        command = [sys.executable, "-m", "tests.faults.sink_writes", client.config.controller_uri, str(folder)]
        command += [] if table is None else [table]
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def one(self, name: str) -> bool:
        """Kill a write, and continue in some way; returns False if it was faster."""
        if not self.requests:
            for first in ("the first one", "the second one"):  # the first one also makes the ledger and the marks
                assert not self._is_killed(first, None, 0.0)
                self.must_be_there[first], self.requests = True, self.steps.number
        is_killed = self._is_killed(name, *self._planned())
        way = self.chance.choice(_WAYS) if is_killed else "lived"
        if way == "killed again and repeated":
            self._is_killed(name, *self._planned())
        if way in ("repeated", "killed again and repeated"):
            write(self.client, name, self.table)
        if way == "finished by another":
            way += ", whole" if self._is_finished(name) else ", nothing"
        self.counts[way] += 1
        self.must_be_there[name] = way != "left to later writes" and not way.endswith("nothing")
        self.in_tables[name] = way.endswith(("repeated", "lived"))
        return is_killed

    def end(self) -> None:
        """End the program that writes."""
        self.program.terminate()
        self.program.wait()

    def _planned(self) -> tuple[int, float]:
        if self.chance.random() < _AT_REQUESTS:
            return next(self.at_requests) % self.requests + 1, 0.0
        return self.chance.randrange(1, self.requests), self.chance.random() * _LONGEST_PAUSE

    def _is_killed(self, name: str, step: int | None, seconds: float) -> bool:
        self.steps.plan(step, seconds)
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        print(name, file=self.program.stdin, flush=True)
        status = int(self.program.stdout.readline())
        assert status in (0, -signal.SIGKILL), f"{name} has ended with {status}"
        return status == -signal.SIGKILL

    def _is_finished(self, name: str) -> bool:
        stream = StreamName(SCOPE, self.chance.choice(STREAMS))
        self.client.commit_ledger(SCOPE).protocol().finish_unfinished(stream)
        try:
            self.client.visible_write(stream, name)
        except NotVisibleError as error:
            return "its rows are not in" in str(error)
        return True


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--table", action="store_true", help="write rows into a table as well")
    parser.add_argument("--minutes", type=float, default=600.0, help="end earlier, with fewer kills")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    started, killed = time.monotonic(), 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(PravegaEmulator())
        client = stack.enter_context(PravegaClient(PravegaConfig(controller_uri=server.controller_uri)))
        client.create_scope(SCOPE)
        for stream in STREAMS:
            client.create_stream(StreamName(SCOPE, stream), ScalingPolicy.fixed(2))
        table = f"parquet:{folder / 'table'}" if given.table else None
        killing = Killing(client, folder, random.Random(given.seed), table)
        stack.callback(killing.end)
        for number in numbers():
            if killed >= given.kills or time.monotonic() - started > given.minutes * 60:
                break
            killed += killing.one(f"write {number}")
            if not number % 50:
                print(f"{killed} kills after {(time.monotonic() - started) / 60:.1f} minutes", flush=True)
        killing.must_be_there["the last one"] = True
        write(client, "the last one", table)  # which finishes what is left
        contents = read_officially(client.config, SCOPE, STREAMS, folder)
        mistakes = list(wrong(contents, killing.must_be_there))
        if table is not None:
            there = {json.loads(event)["write"] for events in contents.values() for event in events}
            mistakes += wrong_in_table(table, there, killing.in_tables)
    for mistake in mistakes:
        print(f"WRONG {mistake}")
    counts = ", ".join(f"{number} {way}" for way, number in sorted(killing.counts.items()))
    print(f"{killing.requests} steps a write; {counts}; {sum(map(len, contents.values())):,} events")
    print(f"{killed} kills in {(time.monotonic() - started) / 60:.1f} minutes: {len(mistakes)} writes were wrong")
    return bool(mistakes)


if __name__ == "__main__":
    sys.exit(main())
