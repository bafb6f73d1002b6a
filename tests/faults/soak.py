"""Faults at random for a while: `make soak`. Prints its seed and a line per round; stops at the first wrong row.

A round has some writes, each at a random point, with random rows, and one random fault for all. Everything follows
from the seed but what the machine's own timing adds.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.faults import faults
from tests.faults.case import Case
from tests.faults.faults import TOKEN_SECONDS, Fault
from tests.faults.field import field
from tests.faults.matrix import COMMITTING, DECIDING, FINISHING, LEAVING, OPENING, SENDING, At
from tests.faults.rows import Rows

from aiopravega.emulator import DurablePravega

_TASK: tuple[At, ...] = OPENING + SENDING + LEAVING
_ANY: tuple[At, ...] = _TASK + DECIDING + COMMITTING + FINISHING
_CASES_OF_A_ROUND = (3, 7)
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


def _cases(chance: random.Random, points: tuple[At, ...], number: int) -> Iterator[Case]:
    for place in range(chance.randint(*_CASES_OF_A_ROUND)):
        point, side, nth = chance.choice(points)
        partitions = chance.randint(nth, 6)
        rows = Rows(
            seed=chance.randrange(10_000),
            count=partitions * chance.randint(1, 500),
            partitions=partitions,
            longest=chance.choice((1, 100, 5_000)),
        )
        yield Case(
            f"round-{number}-case-{place}",
            point,
            side,
            nth,
            rows.seed,
            rows=rows,
            segments=chance.randint(1, 5),
        )


def main() -> int:
    """Run rounds until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    given = parser.parse_args()
    chance = random.Random(given.seed)
    end = time.monotonic() + given.minutes * 60
    events, ended, number = 0, Counter[str](), 0
    print(f"seed {given.seed}", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="faults-") as folder,
        DurablePravega(auth=True, token_seconds=TOKEN_SECONDS) as cluster,
    ):
        while time.monotonic() < end:
            number += 1
            name = chance.choice(list(_FAULTS))
            fault, points = _FAULTS[name]
            cases = tuple(_cases(chance, points, number))
            place = Path(folder) / str(number)
            place.mkdir()
            with field(cluster.config, place, cases, cluster) as ready:
                results = fault(ready)
            for case in cases:
                result = results[case.name]
                events += result.events
                ended[result.ended] += 1
                if not result.is_exact or result.ended != case.ending:
                    print(f"round {number}, {name}: {case}: {result}", flush=True)
                    return 1
            print(f"round {number}: {name}, {len(cases)} writes: each row once", flush=True)
    print(f"{number} rounds, {ended.total()} writes, {events:,} rows: 0 lost, 0 doubled, 0 out of order")
    return 0


if __name__ == "__main__":
    sys.exit(main())
