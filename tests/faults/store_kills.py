"""Kills landings, merges and upkeeps of tables in S3: `make store-kills ARGS='--kills 300'`.

A run is killed as `kill -9` does, while a request is on its way: before the server has it, or after the server has done
it. Half of the kills are at one request after the other, the others at any moment. Polars and DuckDB then read the
table: it has the whole work or none of it. The work is done again, and the table must have it once, and no file too
many after an upkeep. Prints its seed and a line for each table and work; its status is 1 if a table was wrong.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import count, cycle
from pathlib import Path
from typing import Any

from tests.faults.s3_proxy import Fault, S3Proxy
from tests.integration.pravega_jobs.landing_job import new_lake
from tests.integration.pravega_jobs.store_works import WORKS, Found, Work
from tests.integration.pravega_jobs.upkeep_job import kept_up
from tests.system.s3_server import BUCKET, S3Server
from tests.system.servers import free_ports

from aiopravega.errors import TableUnavailableError

_DUCKDB = Path(__file__).parents[2] / "build" / "duckdb-1.5.5" / "bin" / "python"
# The share of kills at one request after the other; the others are at any moment.
_AT_REQUESTS = 0.5
_TRIES = 5


class Runs:
    """Runs of works in processes that are forked from one that has done nothing, and are killed.

    Args:
        kind: the kind of tables.
        proxy: the proxy that they ask.
    """

    def __init__(self, kind: str, proxy: S3Proxy) -> None:
        self.proxy = proxy
        command = [sys.executable, "-m", "tests.integration.pravega_jobs.store_works", kind]
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ended(
        self, lake: Any, name: str, fault: Fault | None = None, at: int = 0, after: float | None = None
    ) -> tuple[str, int]:
        """Run a work that is killed at a request, or after some seconds.

        Returns:
            `killed`, or the status `0` or `1`; and the number of requests.
        """
        self._say(json.dumps([lake.where, name]))
        victim = int(self._answer())
        self.proxy.plan(fault, at, victim=victim)
        timer = None if after is None else threading.Timer(after, _kill, [victim])
        self._say("go")
        if timer is not None:
            timer.start()
        answer = self._answer()
        if timer is not None:
            timer.cancel()
        requests = len(self.proxy.seen()[0])
        self.proxy.plan()
        return answer, requests

    def _say(self, text: str) -> None:
        assert self.program.stdin is not None
        print(text, file=self.program.stdin, flush=True)

    def _answer(self) -> str:
        assert self.program.stdout is not None
        return self.program.stdout.readline().strip()

    def end(self) -> None:
        self.program.kill()
        self.program.wait()


def _kill(victim: int) -> None:
    try:
        os.kill(victim, 9)
    except ProcessLookupError:
        return  # it was faster


class DuckDB:
    """A process that reads tables by DuckDB.

    Args:
        environment: the variables by which it finds the store.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        command = [str(_DUCKDB), str(Path(__file__).parent / "duckdb_reader.py")]
        given = dict(os.environ) | dict(environment)
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=given)

    def ask(self, function: str, address: str, columns: Sequence[str]) -> Found:
        """The rows of a table, sorted, with 0 for null.

        Raises:
            WrongTableError: it cannot read the table.
        """
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        print(json.dumps([function, address, columns]), file=self.program.stdin, flush=True)
        line = self.program.stdout.readline()
        if not line:
            raise WrongTableError(f"DuckDB cannot read {address}")
        return [tuple(row) for row in json.loads(line)]

    def end(self) -> None:
        self.program.kill()
        self.program.wait()


class WrongTableError(Exception):
    """A table is not as it must be."""


def answered(do: Callable[[], Any]) -> Any:
    """What a function gives; as a scheduler does, it is called again if the store, amid kills, has no answer."""
    for _ in range(_TRIES - 1):
        try:
            return do()
        except TableUnavailableError as error:
            print(f"tried again: {error}", flush=True)
            time.sleep(1)
    return do()


def judged(table: Any, work: Work, duckdb: DuckDB) -> Found:
    """The rows of a table, which two readers find."""
    found: Found
    found, also = answered(lambda: (work.judged(table), work.read_by(duckdb.ask, table)))
    if found != also:
        raise WrongTableError(f"Polars finds {found}, DuckDB {also}")
    return found


def check(lake: Any, table: Any, work: Work, ended: str, duckdb: DuckDB) -> str:
    """Judge a table after a kill, and after the next run; returns what the killed run had done."""
    found = judged(table, work, duckdb)
    if found not in (work.before, work.after) or (ended == "0" and found != work.after) or ended == "1":
        raise WrongTableError(f"after a run that ended with {ended!r}: {found}")
    answered(lambda: work.run(lake, table))
    if judged(table, work, duckdb) != work.after or len(table.holdings()) != work.held:
        raise WrongTableError(f"after the next run: {work.judged(table)}, {len(table.holdings())} holdings")
    answered(lambda: kept_up(table))
    if judged(table, work, duckdb) != work.after or lake.leftovers(table):
        raise WrongTableError(f"after an upkeep: {work.judged(table)}, {lake.leftovers(table)}")
    return "whole" if found == work.after else "nothing"


class Killing:
    """Kills of one work on tables of one kind: at each of its requests in turn, and at any moment.

    Args:
        kind: the kind of tables.
        name: the name of the work.
        runs: runs of such tables.
        where: the text that names a lake, with `*` for a name of its own.
        chance: the random numbers.
        duckdb: reads the tables.
    """

    def __init__(self, kind: str, name: str, runs: Runs, where: str, chance: random.Random, duckdb: DuckDB) -> None:
        self.duckdb = duckdb
        self.kind, self.name, self.runs, self.where, self.chance = kind, name, runs, where, chance
        self.work, self.numbers, self.counts = WORKS[name], count(), Counter[str]()
        self.at_requests, self.requests, self.seconds = count(), 0, 0.0

    def one(self) -> bool:
        """Kill a run, and judge the table; returns False if the run was faster."""
        if not self.requests:
            self._measure()
        if self.chance.random() < _AT_REQUESTS:
            at, side = divmod(next(self.at_requests) % (2 * self.requests), 2)
            fault = (Fault.KILL_BEFORE, Fault.KILL_AFTER)[side]
            return self._judged(f"{fault} {at}", fault=fault, at=at)
        seconds = self.chance.random() * self.seconds
        return self._judged(f"killed after {seconds:.3f} s", after=seconds)

    def __str__(self) -> str:
        counts = ", ".join(f"{number} {what}" for what, number in sorted(self.counts.items()))
        return f"{self.kind}, {self.name}: {self.requests} requests in {self.seconds:.2f} s; {counts}"

    def _measure(self) -> None:
        lake = self._lake()
        self.work.prepare(lake)
        started = time.monotonic()
        ended, requests = self.runs.ended(lake, self.name)
        assert ended == "0", ended
        self.requests, self.seconds = requests, time.monotonic() - started

    def _judged(self, how: str, **kill: Any) -> bool:
        lake = self._lake()
        table = self.work.prepare(lake)
        ended, _ = self.runs.ended(lake, self.name, **kill)
        try:
            found = check(lake, table, self.work, ended, self.duckdb)
        except WrongTableError as error:
            raise WrongTableError(f"{self.kind}, {self.name}, {how}: {error}") from None
        is_killed = ended == "killed"
        self.counts[f"killed{' at a request' if 'fault' in kill else ''}, {found}" if is_killed else "lived"] += 1
        return is_killed

    def _lake(self) -> Any:
        return new_lake(self.kind, self.where.replace("*", f"{self.name}-{next(self.numbers)}"))


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--minutes", type=float, default=600.0, help="end earlier, with fewer kills")
    parser.add_argument("--works", nargs="+", choices=tuple(WORKS), default=tuple(WORKS))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    chance, started, killed = random.Random(given.seed), time.monotonic(), 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(S3Server(free_ports(1)[0], folder / "s3.log"))
        proxy = stack.enter_context(S3Proxy(server.url, free_ports(1)[0], folder / "proxy.log"))
        os.environ.update(server.environment() | {"AWS_ENDPOINT_URL": proxy.url})
        kinds = {"delta-s3": f"s3://{BUCKET}/*", "iceberg-s3": f"{folder}/*#s3://{BUCKET}/iceberg-*"}
        runs = {kind: Runs(kind, proxy) for kind in kinds}
        for each in runs.values():
            stack.callback(each.end)
        duckdb = DuckDB({"AWS_ENDPOINT_URL": server.url})
        stack.callback(duckdb.end)
        ways = [Killing(kind, name, runs[kind], kinds[kind], chance, duckdb) for name in given.works for kind in kinds]
        for way in cycle(ways):
            if killed >= given.kills or time.monotonic() - started > given.minutes * 60:
                break
            try:
                killed += way.one()
            except WrongTableError as error:
                print(f"WRONG {error}")
                return 1
            if killed and not killed % 20:
                print(f"{killed} kills after {(time.monotonic() - started) / 60:.1f} minutes", flush=True)
    print("\n".join(map(str, ways)))
    print(f"{killed} kills in {(time.monotonic() - started) / 60:.1f} minutes: no table was wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main())
