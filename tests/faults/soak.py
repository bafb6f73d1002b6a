"""Faults at random for a while: `make soak`. Prints its seed and a line per round; stops at the first wrong row.

A round has some writes, each at a random point, and one fault for all; in one round of four, the writes are
streaming queries. All faults come in turn, in a random order. Everything follows from the seed but what the machine's
own timing adds. With `--store`, the summary goes into the documentation.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from example_dags import small_spark
from tests.faults import faults, report
from tests.faults.case import Case
from tests.faults.faults import TOKEN_SECONDS, Fault
from tests.faults.field import field
from tests.faults.matrix import COMMITTING, DECIDING, FINISHING, IN_A_BATCH, LEAVING, OPENING, SENDING, At
from tests.faults.report import Soak
from tests.faults.rows import Rows

from pravega_emulator import DurablePravega

_TASK: tuple[At, ...] = OPENING + SENDING + LEAVING
_ANY: tuple[At, ...] = _TASK + DECIDING + COMMITTING + FINISHING
_CASES_OF_A_ROUND = (3, 7)
_QUERIES_OF_A_ROUND = (2, 4)
_ROUNDS_PER_STREAMING_ROUND = 4
_SERVERS = ("segmentstore", "controller", "bookie", "zookeeper")

# Faults, and the points at which they can strike.
_FAULTS: dict[str, tuple[Fault, tuple[At, ...]]] = {
    "driver killed": (faults.driver_killed, _ANY),
    "driver killed, stream scaled": (partial(faults.driver_killed, meanwhile=faults.streams_scale), _ANY),
    "driver and executors killed": (partial(faults.driver_killed, on_cluster=True), _ANY),
    "Python workers killed": (faults.worker_killed, _ANY),
    "executors killed": (faults.executor_killed, _TASK),
    "zombie": (faults.zombie, _ANY),
    "connections cut": (faults.connections_cut, _ANY),
    **{f"{name} killed": (faults.server_killed(name), _ANY) for name in _SERVERS},
    "all servers killed": (faults.server_killed(*_SERVERS), _ANY),
}


def _writes(chance: random.Random, points: tuple[At, ...], number: int) -> Iterator[Case]:
    for index in range(chance.randint(*_CASES_OF_A_ROUND)):
        point, side, nth = chance.choice(points)
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


def _queries(chance: random.Random, points: tuple[At, ...], number: int) -> Iterator[Case]:
    names = {point for point, _, _ in points}
    for index in range(chance.randint(*_QUERIES_OF_A_ROUND)):
        point, side, nth = chance.choice([at for at in IN_A_BATCH if at[0] in names])
        yield Case(f"round-{number}-query-{index}", point, side, nth, streaming=True, segments=chance.randint(1, 5))


def _faults(chance: random.Random) -> Iterator[str]:
    """The names of all faults in a random order, again and again."""
    while True:
        yield from chance.sample(list(_FAULTS), len(_FAULTS))


def soak(cluster: DurablePravega, folder: Path, seed: int, minutes: float) -> Soak | None:
    """Run rounds until the time is up; None if a row was lost, doubled or out of order."""
    chance = random.Random(seed)
    begun = time.monotonic()
    found = Soak(seed)
    for number, name in enumerate(_faults(chance), 1):
        fault, points = _FAULTS[name]
        streaming = number % _ROUNDS_PER_STREAMING_ROUND == 0
        cases = tuple((_queries if streaming else _writes)(chance, points, number))
        own = folder / str(number)
        own.mkdir()
        with field(cluster.config, own, cases, cluster) as ready:
            results = fault(ready)
        for case in cases:
            result = results[case.name]
            if not result.is_exact or result.ended != case.ending:
                print(f"round {number}, {name}: {case}: {result}", flush=True)
                return None
        kind = "queries" if streaming else "writes"
        found.faults[name].update(
            {"rounds": 1, kind: len(cases), "rows": sum(each.events for each in results.values())}
        )
        found.minutes = round((time.monotonic() - begun) / 60, 1)
        print(f"round {number}: {name}, {len(cases)} {kind}: each row once", flush=True)
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
    small_spark.use()
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    print(f"seed {given.seed}; what the jobs say is in {folder} until all is well", flush=True)
    with DurablePravega(auth=True, token_seconds=TOKEN_SECONDS) as cluster:
        found = soak(cluster, folder, given.seed, given.minutes)
    if found is None:
        return 1
    shutil.rmtree(folder)
    print("\n".join(report.soak_lines(found)))
    if given.store:
        report.store_soak(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
