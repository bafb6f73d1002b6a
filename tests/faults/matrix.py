"""The fault matrix: rounds of cases. The cases of a round share a server, a job, and the fault that meets them.

A case's name is its stream. Its seed, which decides its rows, is its index in the matrix.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from tests.faults import faults
from tests.faults.case import PARTIAL, REUSED, Case, Side
from tests.faults.faults import Fault
from tests.faults.rows import Rows

Server = Literal["plain", "short leases", "durable"]
At = tuple[str, Side, int]

# Where tasks are, and where the driver is. Of three partitions, the second one is met.
OPENING: tuple[At, ...] = (("open", "before", 2), ("open", "after", 2))
SENDING: tuple[At, ...] = (("block", "amid", 2), ("acknowledgement", "before", 2))
LEAVING: tuple[At, ...] = (("flush", "after", 2), ("leave", "after", 2))
BEGINNING: tuple[At, ...] = (("begin", "before", 1), ("lookup", "after", 1))
DECIDING: tuple[At, ...] = (("hold", "before", 1), ("prepared", "before", 1), ("prepared", "after", 1))
COMMITTING: tuple[At, ...] = (("commit", "after", 1), ("commit", "after", 2), ("commit", "after", 3))
FINISHING: tuple[At, ...] = (("visible", "before", 1), ("done", "before", 1), ("done", "after", 1))
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
# In the second micro-batch, of three partitions into two segments.
IN_A_BATCH: tuple[At, ...] = (
    ("open", "after", 5),
    ("block", "amid", 8),
    ("leave", "after", 5),
    ("prepared", "before", 2),
    ("prepared", "after", 2),
    ("commit", "after", 5),
    ("done", "before", 2),
    ("done", "after", 2),
)
_QUERY = Case("", "", "before", streaming=True)
# What the server with short leases takes.
_SHORT = Case("", "", "before", options={"transaction_timeout_ms": "15000"})
_DAY = 86_400.0
_LARGE = Rows(seed=0, count=300, longest=40_000)


@dataclass(frozen=True)
class Round:
    """Cases that one fault meets at once; `words` say what dies."""

    name: str
    words: str
    fault: Fault
    cases: tuple[Case, ...]
    server: Server = "plain"


def _cases(prefix: str, points: Iterable[At], like: Case | None = None) -> tuple[Case, ...]:
    model = like or Case("", "", "before")
    return tuple(
        replace(model, name=f"{prefix}-{point}-{side}-{nth}", point=point, side=side, nth=nth)
        for point, side, nth in points
    )


def _rest(points: Iterable[At]) -> tuple[At, ...]:
    return tuple(point for point in points if point not in _FIRST)


def _rounds() -> Iterator[Round]:
    killed = faults.driver_killed
    yield Round("driver", "driver", killed, _cases("driver", _FIRST))
    yield Round("driver-2", "driver", killed, _cases("driver", BEGINNING + _rest(TASK + DRIVER)))
    yield Round("worker", "Python worker of task or driver", faults.worker_killed, _cases("worker", _FIRST))
    yield Round(
        "worker-2",
        "Python worker of task or driver",
        faults.worker_killed,
        _cases("worker", BEGINNING + _rest(TASK + DRIVER)),
    )
    yield Round("executor", "executor", faults.executor_killed, _cases("executor", TASK))
    yield Round(
        "all",
        "driver and executors",
        partial(killed, on_cluster=True),
        _cases("all", SENDING + LEAVING + (("prepared", "after", 1), ("commit", "after", 1))),
    )
    yield Round(
        "large",
        "driver, amid blocks of 1 MiB",
        killed,
        _cases("large", (("block", "amid", 4), ("acknowledgement", "before", 3)), Case("", "", "before", rows=_LARGE)),
    )
    yield Round(
        "zombie",
        "nobody; the driver sleeps until its retry is done",
        faults.zombie,
        _cases(
            "zombie", (("block", "amid", 2), ("leave", "after", 2), *DECIDING, ("commit", "after", 1), FINISHING[1])
        ),
    )
    yield Round(
        "scaling",
        "driver; then the stream scales",
        partial(killed, meanwhile=faults.streams_scale),
        _cases("scaling", (("leave", "after", 2), ("prepared", "after", 1), ("commit", "after", 1))),
    )
    yield Round("cut", "all connections", faults.connections_cut, _cases("cut", SENDING + LEAVING[1:] + DRIVER))
    yield Round(
        "answers",
        "the next answers",
        faults.answers_lost,
        _cases(
            "answers",
            (("open", "before", 2), ("block", "amid", 2), ("hold", "before", 1), ("prepared", "before", 1)),
        ),
    )
    yield Round(
        "answers-2",
        "the next answers",
        faults.answers_lost,
        _cases("answers", (("begin", "before", 1), ("commit", "before", 1), ("commit", "before", 3), FINISHING[1])),
    )
    yield Round(
        "leases",
        "driver; then the leases",
        partial(killed, meanwhile=faults.leases_run_out),
        _cases("leases", (LEAVING[1], *DECIDING, *COMMITTING, FINISHING[1]), _SHORT),
        "short leases",
    )
    yield Round(
        "other-rows",
        "driver; then the leases, and the next run has other rows",
        partial(killed, meanwhile=faults.leases_run_out),
        _cases("other", (("prepared", "after", 1),), replace(_SHORT, rows_again=Rows(seed=99)))
        + _cases("other", (("commit", "after", 2),), replace(_SHORT, rows_again=Rows(seed=99), ending=PARTIAL)),
        "short leases",
    )
    yield Round(
        "suspended",
        "nobody; the job sleeps until its leases are gone",
        faults.suspended,
        _cases("suspended", (SENDING[0], LEAVING[1], *DECIDING, ("commit", "after", 1)), _SHORT),
        "short leases",
    )
    for words, skew in (("ahead", _DAY), ("behind", -_DAY)):
        yield Round(
            f"clock-{words}",
            f"driver, whose clock was a day {words}",
            partial(killed, skews={"driver": skew}),
            _cases(f"clock-{words}", (LEAVING[1], ("prepared", "after", 1), ("commit", "after", 1))),
        )
    yield Round(
        "tokens",
        "all tokens, which are too old",
        faults.tokens_expire,
        _cases("tokens", (*SENDING, LEAVING[1], ("prepared", "before", 1), ("commit", "after", 1))),
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
            _cases(name, (SENDING[0], ("prepared", "before", 1), ("commit", "after", 1))),
            "durable",
        )
    yield Round(
        "servers",
        "all servers",
        faults.server_killed("controller", "segmentstore", "bookie", "zookeeper"),
        _cases("servers", (SENDING[0], ("prepared", "before", 1), ("commit", "after", 1))),
        "durable",
    )
    yield from _streaming_rounds()
    yield from _reusing_rounds()


def _streaming_rounds() -> Iterator[Round]:
    killed = faults.driver_killed
    yield Round("query", "driver", killed, _cases("query", IN_A_BATCH, _QUERY))
    yield Round(
        "query-worker",
        "Python worker of task or driver",
        faults.worker_killed,
        _cases("query-worker", IN_A_BATCH, _QUERY),
    )
    yield Round(
        "query-all",
        "driver and executors",
        partial(killed, on_cluster=True),
        _cases("query-all", IN_A_BATCH[:5], _QUERY),
    )
    yield Round(
        "query-zombie",
        "nobody; the driver sleeps until its retry is done",
        faults.zombie,
        _cases("query-zombie", IN_A_BATCH[2:7], _QUERY),
    )
    yield Round("query-cut", "all connections", faults.connections_cut, _cases("query-cut", IN_A_BATCH[1:7], _QUERY))
    yield Round(
        "query-leases",
        "driver; then the leases",
        partial(killed, meanwhile=faults.leases_run_out),
        _cases("query-leases", IN_A_BATCH[2:7], replace(_SHORT, streaming=True)),
        "short leases",
    )
    yield Round(
        "query-segmentstore",
        "segment store",
        faults.server_killed("segmentstore"),
        _cases("query-segmentstore", (IN_A_BATCH[1], *IN_A_BATCH[3:6]), _QUERY),
        "durable",
    )
    yield Round(
        "query-servers",
        "all servers",
        faults.server_killed("controller", "segmentstore", "bookie", "zookeeper"),
        _cases("query-servers", IN_A_BATCH[3:6], _QUERY),
        "durable",
    )


def _reusing_rounds() -> Iterator[Round]:
    """A write id that is used again for other rows."""
    killed = faults.driver_killed
    yield Round(
        "reused",
        "driver; the next run has other rows",
        killed,
        _cases(
            "reused",
            (DECIDING[2], COMMITTING[1], *FINISHING[1:]),
            Case("", "", "before", rows_again=Rows(seed=99), ending=REUSED),
        ),
    )
    yield Round(
        "put-back",
        "driver; then a checkpoint of before is put back",
        partial(killed, meanwhile=faults.checkpoints_put_back),
        _cases(
            "put-back",
            (("prepared", "after", 2), ("done", "before", 3), ("done", "after", 3)),
            replace(_QUERY, trigger_bytes_again=60_000, ending=REUSED),
        ),
    )


def _seeded(rounds: Iterable[Round]) -> Iterator[Round]:
    seed = 0
    for found in rounds:
        cases = []
        for case in found.cases:
            seed += 1
            rows = case.rows and replace(case.rows, seed=seed)
            cases.append(replace(case, seed=seed, rows=rows))
        yield replace(found, cases=tuple(cases))


ROUNDS = tuple(_seeded(_rounds()))
