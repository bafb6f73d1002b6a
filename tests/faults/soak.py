"""Faults at random for a while: `make soak`. Prints its seed and a line per round; stops at the first wrong row.

A round has some writes, each at a random point, and one fault for all; in one round of four, the writes are
streaming queries. Before one round of five, runs of Dagster or Airflow are killed (`tests/faults/hosts`). Where an
error is the right answer, rows may be missing and none may be there twice; a run that ends without one must have
written all of its rows. All faults come in turn, in a random order. Everything follows from the seed but what the
machine's own timing adds. With `--store`, the summary goes into the documentation.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from example_dags import small_spark
from tests.faults import between, faults, report
from tests.faults.case import ONCE, REUSED, SEALED, WRONG_LEDGER, Case, Ending, Result
from tests.faults.faults import TOKEN_SECONDS, Fault
from tests.faults.field import field
from tests.faults.hosts.kills import Kills, one_of
from tests.faults.report import Soak
from tests.faults.rounds import (
    COMMITTING,
    DECIDING,
    FINISHING,
    IN_A_BATCH,
    IN_THE_FIRST_BATCH,
    LEAVING,
    OPENING,
    SENDING,
    STRAGGLING,
    STRAGGLING_IN_A_BATCH,
    At,
)
from tests.faults.rows import Rows

from pravega_emulator import DurablePravega

_TASK: tuple[At, ...] = OPENING + SENDING + LEAVING
_ANY: tuple[At, ...] = _TASK + DECIDING + COMMITTING + FINISHING
_CASES_OF_A_ROUND = (3, 7)
_QUERIES_OF_A_ROUND = (2, 4)
_ROUNDS_PER_STREAMING_ROUND = 4
_ROUNDS_PER_HOST_ROUND = 5
_SERVERS = ("segmentstore", "controller", "bookie", "zookeeper")
_40_DAYS = 40 * 86_400.0
# What queries read in a micro-batch after their checkpoint was put back: the same as before, or more.
_TRIGGER_BYTES_AGAIN = (40_000, 60_000, 90_000)
# How long a task continues after the process of another one was killed.
_STRAGGLER_SECONDS = 15.0


@dataclass(frozen=True)
class _Action:
    """A fault, the points at which it can strike batch writes and queries, and the errors that are right answers."""

    fault: Fault
    points: tuple[At, ...] = _ANY
    in_queries: tuple[At, ...] = IN_A_BATCH
    refusals: tuple[Ending, ...] = ()
    trigger_bytes_again: tuple[int | None, ...] = (None,)


def _then(meanwhile: between.Meanwhile) -> Fault:
    return partial(faults.driver_killed, meanwhile=meanwhile)


def _clocks(seconds: float) -> Fault:
    return partial(faults.driver_killed, skews={"driver": seconds, "executor": seconds})


_ACTIONS = {
    "driver killed": _Action(faults.driver_killed),
    "driver killed, stream scaled": _Action(_then(between.streams_scale)),
    "driver and executors killed": _Action(partial(faults.driver_killed, on_cluster=True)),
    "Python workers killed": _Action(faults.worker_killed),
    "executors killed": _Action(faults.executor_killed, _TASK, IN_A_BATCH[:3]),
    "worker killed after its task": _Action(
        partial(faults.idle_workers_killed, seconds=_STRAGGLER_SECONDS), STRAGGLING, STRAGGLING_IN_A_BATCH
    ),
    "zombie": _Action(faults.zombie),
    "connections cut": _Action(faults.connections_cut),
    **{f"{name} killed": _Action(faults.server_killed(name)) for name in _SERVERS},
    "all servers killed": _Action(faults.server_killed(*_SERVERS)),
    "checkpoint put back": _Action(
        _then(between.for_all(between.checkpoint_put_back)),
        (),
        refusals=(REUSED,),
        trigger_bytes_again=_TRIGGER_BYTES_AGAIN,
    ),
    "clocks 40 days ahead": _Action(_clocks(_40_DAYS)),
    "clocks 40 days behind": _Action(_clocks(-_40_DAYS)),
    "another job, 40 days ahead, forgets": _Action(_then(between.another_job_forgets)),
    "ledger deleted": _Action(_then(between.for_all(between.ledger_deleted)), refusals=(WRONG_LEDGER,)),
    "stream sealed": _Action(_then(between.for_all(between.sealed)), refusals=(SEALED,)),
    # What later micro-batches find deleted, no run writes again.
    "stream made again": _Action(faults.streams_made_again, in_queries=IN_THE_FIRST_BATCH),
}


def _writes(chance: random.Random, action: _Action, number: int) -> Iterator[Case]:
    for index in range(chance.randint(*_CASES_OF_A_ROUND)):
        point, side, nth = chance.choice(action.points)
        partitions = chance.randint(nth, 6)
        rows = Rows(
            seed=chance.randrange(10_000),
            count=partitions * chance.randint(1, 500),
            partitions=partitions,
            longest=chance.choice((1, 100, 5_000)),
        )
        yield Case(
            f"round-{number}-case-{index}",
            point,
            side,
            nth,
            rows.seed,
            rows=rows,
            segments=chance.randint(1, 5),
        )


def _queries(chance: random.Random, action: _Action, number: int) -> Iterator[Case]:
    for index in range(chance.randint(*_QUERIES_OF_A_ROUND)):
        point, side, nth = chance.choice(action.in_queries)
        yield Case(
            f"round-{number}-query-{index}",
            point,
            side,
            nth,
            streaming=True,
            trigger_bytes_again=chance.choice(action.trigger_bytes_again),
            segments=chance.randint(1, 5),
        )


def _names(chance: random.Random) -> Iterator[str]:
    """The names of all actions in a random order, again and again."""
    while True:
        yield from chance.sample(list(_ACTIONS), len(_ACTIONS))


def _is_right(action: _Action, result: Result) -> bool:
    """True if all rows are there once; or if the write was refused by name, and no row is there twice."""
    if result.ended == ONCE:
        return result.is_exact
    return result.ended in action.refusals and not (result.doubled or result.strange or result.disordered)


def _kill_hosts(kills: Kills, chance: random.Random, number: int, found: Soak) -> bool:
    """A round that kills runs of a host; false if something is wrong."""
    way, count = one_of(chance)
    words, result = kills.round(way, count, chance)
    print(f"round {number}: {words}", flush=True)
    name = f"runs of {way[0].capitalize()} killed"
    found.faults[name].update({"rounds": 1, "kills": result.kills, "rows": result.events, **result.refused})
    return result.is_right


def soak(cluster: DurablePravega, kills: Kills, folder: Path, seed: int, minutes: float) -> Soak | None:
    """Run rounds until the time is up; None if a row was lost, doubled or out of order."""
    chance = random.Random(seed)
    begun = time.monotonic()
    found = Soak(seed)
    for number, name in enumerate(_names(chance), 1):
        if number % _ROUNDS_PER_HOST_ROUND == 0 and not _kill_hosts(kills, chance, number, found):
            return None
        action = _ACTIONS[name]
        streaming = number % _ROUNDS_PER_STREAMING_ROUND == 0 or not action.points
        cases = tuple((_queries if streaming else _writes)(chance, action, number))
        own = folder / str(number)
        own.mkdir()
        with field(cluster.config, own, cases, cluster) as ready:
            results = action.fault(ready)
        for case in cases:
            if not _is_right(action, results[case.name]):
                print(f"round {number}, {name}: {case}: {results[case.name]}", flush=True)
                return None
        kind = "queries" if streaming else "writes"
        endings = Counter(result.ended for result in results.values())
        rows = sum(result.events for result in results.values() if result.ended == ONCE)
        refused = {ending: times for ending, times in endings.items() if ending != ONCE}
        found.faults[name].update({"rounds": 1, kind: len(cases), "rows": rows, **refused})
        found.minutes = round((time.monotonic() - begun) / 60, 1)
        print(f"round {number}: {name}, {len(cases)} {kind}: {dict(endings)}", flush=True)
        if found.minutes >= minutes:
            break
    return found


def main() -> int:
    """Run, print the summary, and keep what the jobs said if something went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--store", action="store_true", help="store the summary, for the documentation")
    given = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    small_spark.use()
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    print(f"seed {given.seed}; what the jobs say is in {folder} until all is well", flush=True)
    with (
        DurablePravega(auth=True, token_seconds=TOKEN_SECONDS) as cluster,
        Kills(cluster.config, folder) as kills,
    ):
        found = soak(cluster, kills, folder, given.seed, given.minutes)
    if found is None:
        return 1
    shutil.rmtree(folder)
    print("\n".join(report.soak_lines(found)))
    if given.store:
        report.store_soak(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
