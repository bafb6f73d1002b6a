"""The fault matrix: rounds of cases. The cases of a round share a server, a job, and the fault that meets them.

A case's name is its stream. Its seed, which decides its rows, is its index in the matrix.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from tests.faults import between, faults
from tests.faults.case import PARTIAL, Case
from tests.faults.holes import hole_rounds
from tests.faults.rounds import (
    BEGINNING,
    COMMITTING,
    DECIDING,
    FINISHING,
    IN_A_BATCH,
    LEAVING,
    OPENING,
    QUERY,
    SENDING,
    SHORT,
    At,
    Round,
    cases,
)
from tests.faults.rows import Rows

TASK = OPENING + SENDING + LEAVING
DRIVER = DECIDING + COMMITTING + FINISHING
# The points with which the matrix begins.
_FIRST: tuple[At, ...] = (
    ("open", "after", 2),
    ("block", "amid", 2),
    ("leave", "after", 2),
    ("prepared", "before", 1),
    ("prepared", "after", 1),
    ("commit", "after", 2),
)
# Cases for every run of the tests: before a write is decided, in a task; while it is, and afterwards, in the driver.
QUICK = frozenset({"worker-leave-after-2", "driver-prepared-after-1", "driver-commit-after-2"})
_DAY = 86_400.0
_LARGE = Rows(seed=0, count=300, longest=40_000)


def _rest(points: Iterable[At]) -> tuple[At, ...]:
    return tuple(point for point in points if point not in _FIRST)


def _rounds() -> Iterator[Round]:
    killed = faults.driver_killed
    yield Round("driver", "driver", killed, cases("driver", _FIRST))
    yield Round("driver-2", "driver", killed, cases("driver", BEGINNING + _rest(TASK + DRIVER)))
    yield Round("worker", "Python worker of task or driver", faults.worker_killed, cases("worker", _FIRST))
    yield Round(
        "worker-2",
        "Python worker of task or driver",
        faults.worker_killed,
        cases("worker", BEGINNING + _rest(TASK + DRIVER)),
    )
    yield Round("executor", "executor", faults.executor_killed, cases("executor", TASK))
    yield Round(
        "all",
        "driver and executors",
        partial(killed, on_cluster=True),
        cases("all", SENDING + LEAVING + (("prepared", "after", 1), ("commit", "after", 1))),
    )
    yield Round(
        "large",
        "driver, amid blocks of 1 MiB",
        killed,
        cases("large", (("block", "amid", 4), ("acknowledgement", "before", 3)), Case("", "", "before", rows=_LARGE)),
    )
    yield Round(
        "zombie",
        "nobody; the driver sleeps until its retry is done",
        faults.zombie,
        cases("zombie", (("block", "amid", 2), ("leave", "after", 2), *DECIDING, ("commit", "after", 1), FINISHING[1])),
    )
    yield Round(
        "scaling",
        "driver; then the stream scales",
        partial(killed, meanwhile=between.streams_scale),
        cases("scaling", (("leave", "after", 2), ("prepared", "after", 1), ("commit", "after", 1))),
    )
    yield Round("cut", "all connections", faults.connections_cut, cases("cut", SENDING + LEAVING[1:] + DRIVER))
    yield Round(
        "answers",
        "the next answers",
        faults.answers_lost,
        cases(
            "answers",
            (("open", "before", 2), ("block", "amid", 2), ("hold", "before", 1), ("prepared", "before", 1)),
        ),
    )
    yield Round(
        "answers-2",
        "the next answers",
        faults.answers_lost,
        cases("answers", (("begin", "before", 1), ("commit", "before", 1), ("commit", "before", 3), FINISHING[1])),
    )
    yield Round(
        "leases",
        "driver; then the leases",
        partial(killed, meanwhile=between.leases_run_out),
        cases("leases", (LEAVING[1], *DECIDING, *COMMITTING, FINISHING[1]), SHORT),
        "short leases",
    )
    yield Round(
        "other-rows",
        "driver; then the leases, and the next run has other rows",
        partial(killed, meanwhile=between.leases_run_out),
        cases("other", (("prepared", "after", 1),), replace(SHORT, rows_again=Rows(seed=99)))
        + cases("other", (("commit", "after", 2),), replace(SHORT, rows_again=Rows(seed=99), ending=PARTIAL)),
        "short leases",
    )
    yield Round(
        "suspended",
        "nobody; the job sleeps until its leases are gone",
        faults.suspended,
        cases("suspended", (SENDING[0], LEAVING[1], *DECIDING, ("commit", "after", 1)), SHORT),
        "short leases",
    )
    for words, skew in (("ahead", _DAY), ("behind", -_DAY)):
        yield Round(
            f"clock-{words}",
            f"driver, whose clock was a day {words}",
            partial(killed, skews={"driver": skew}),
            cases(f"clock-{words}", (LEAVING[1], ("prepared", "after", 1), ("commit", "after", 1))),
        )
    yield Round(
        "tokens",
        "all tokens, which are too old",
        faults.tokens_expire,
        cases("tokens", (*SENDING, LEAVING[1], ("prepared", "before", 1), ("commit", "after", 1))),
        "durable",
    )
    for name, words in (
        ("segmentstore", "segment store"),
        ("controller", "controller"),
        ("bookie", "bookie"),
        ("zookeeper", "ZooKeeper"),
    ):
        yield Round(
            name,
            words,
            faults.server_killed(name),
            cases(name, (SENDING[0], ("prepared", "before", 1), ("commit", "after", 1))),
            "durable",
        )
    yield Round(
        "servers",
        "all servers",
        faults.server_killed("controller", "segmentstore", "bookie", "zookeeper"),
        cases("servers", (SENDING[0], ("prepared", "before", 1), ("commit", "after", 1))),
        "durable",
    )
    yield from _streaming_rounds()
    yield from hole_rounds()


def _streaming_rounds() -> Iterator[Round]:
    killed = faults.driver_killed
    yield Round("query", "driver", killed, cases("query", IN_A_BATCH, QUERY))
    yield Round(
        "query-worker",
        "Python worker of task or driver",
        faults.worker_killed,
        cases("query-worker", IN_A_BATCH, QUERY),
    )
    yield Round(
        "query-all",
        "driver and executors",
        partial(killed, on_cluster=True),
        cases("query-all", IN_A_BATCH[:5], QUERY),
    )
    yield Round(
        "query-zombie",
        "nobody; the driver sleeps until its retry is done",
        faults.zombie,
        cases("query-zombie", IN_A_BATCH[2:7], QUERY),
    )
    yield Round("query-cut", "all connections", faults.connections_cut, cases("query-cut", IN_A_BATCH[1:7], QUERY))
    yield Round(
        "query-leases",
        "driver; then the leases",
        partial(killed, meanwhile=between.leases_run_out),
        cases("query-leases", IN_A_BATCH[2:7], replace(SHORT, streaming=True)),
        "short leases",
    )
    yield Round(
        "query-segmentstore",
        "segment store",
        faults.server_killed("segmentstore"),
        cases("query-segmentstore", (IN_A_BATCH[1], *IN_A_BATCH[3:6]), QUERY),
        "durable",
    )
    yield Round(
        "query-servers",
        "all servers",
        faults.server_killed("controller", "segmentstore", "bookie", "zookeeper"),
        cases("query-servers", IN_A_BATCH[3:6], QUERY),
        "durable",
    )


def _seeded(rounds: Iterable[Round]) -> Iterator[Round]:
    seed = 0
    for found in rounds:
        seeded = []
        for case in found.cases:
            seed += 1
            rows = case.rows and replace(case.rows, seed=seed)
            seeded.append(replace(case, seed=seed, rows=rows))
        yield replace(found, cases=tuple(seeded))


ROUNDS = tuple(_seeded(_rounds()))
