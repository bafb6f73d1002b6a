"""Rounds beside the kills: what users do to checkpoints, write ids, clocks, ledgers and streams between two runs.

Each of them has lost or doubled rows once. Writes wait in the driver, so that two cores are enough for all of them;
each round runs in one process and on a cluster of two executors.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from tests.faults import between, faults
from tests.faults.between import Meanwhile
from tests.faults.case import ONCE, REUSED, SEALED, WRONG_LEDGER, Case
from tests.faults.faults import Results
from tests.faults.rounds import COMMITTING, DECIDING, FINISHING, QUERY, At, Round, Server, cases
from tests.faults.rows import Rows

# A fault that takes the `master` of its jobs.
Mastered = Callable[..., Results]
_LOCAL, _CLUSTER = "local[2]", "local-cluster[2,1,1024]"
_BATCH = Case("", "", "before")
_FOREACH = replace(QUERY, foreach=True)
_OTHER_LEDGER = {"commit_ledger": "{scope}/other"}
_DECIDED, _HALF, _DONE = DECIDING[2], COMMITTING[1], FINISHING[2]
# In a query: the second micro-batch is decided, and the third one is done and Spark has not noted it.
_DECIDED_2: At = ("prepared", "after", 2)
_DONE_3: At = ("done", "after", 3)
_DAY = 86_400.0
# All that a query reads, in one micro-batch.
_ALL_BYTES = 10_000_000


def _both(name: str, words: str, fault: Mastered, found: tuple[Case, ...], server: Server = "plain") -> Iterator[Round]:
    yield Round(name, words, partial(fault, master=_LOCAL), found, server)
    on_cluster = tuple(replace(case, name=f"{case.name}-cluster") for case in found)
    yield Round(f"{name}-cluster", f"{words}; on a cluster", partial(fault, master=_CLUSTER), on_cluster, server)


def _then(meanwhile: Meanwhile) -> Mastered:
    return partial(faults.driver_killed, meanwhile=meanwhile)


def hole_rounds() -> Iterator[Round]:
    """All of them."""
    yield from _used_ids()
    yield from _forgotten_records()
    yield from _ledgers()
    yield from _streams()


def _used_ids() -> Iterator[Round]:
    """A write id that is used again for other rows."""
    yield from _both(
        "reused",
        "driver; the next run has other rows",
        faults.driver_killed,
        cases(
            "reused",
            (_DECIDED, _HALF, *FINISHING[1:]),
            replace(_BATCH, rows_again=Rows(seed=99), ending=REUSED),
        ),
    )
    yield from _both(
        "put-back",
        "driver; then a checkpoint of before is put back",
        _then(between.checkpoints_put_back),
        cases(
            "put-back",
            (_DECIDED_2, ("done", "before", 3), _DONE_3),
            replace(QUERY, trigger_bytes_again=60_000, ending=REUSED),
        ),
    )
    again = (_DECIDED_2, _DONE_3)
    yield from _both(
        "no-checkpoint",
        "driver; then the checkpoint is deleted",
        _then(between.checkpoints_deleted),
        cases("no-checkpoint", again, _FOREACH)
        + cases("no-checkpoint-other", again, replace(_FOREACH, trigger_bytes_again=60_000, ending=REUSED)),
    )


def _forgotten_records() -> Iterator[Round]:
    """Another job removes what it believes to be old."""
    found = cases("", (_DECIDED, _DONE)) + cases("query", (_DECIDED_2, _DONE_3), QUERY)
    for name, words, skew, ahead in (
        ("retained", "driver, whose clock was two days behind; then a job that remembers for a day", -2 * _DAY, 0.0),
        ("ahead", "driver; then a job whose clock is 40 days ahead", 0.0, 40.0),
    ):
        yield from _both(
            name,
            words,
            partial(
                faults.driver_killed,
                meanwhile=partial(between.another_job_forgets, clock_days=ahead),
                skews={"driver": skew},
            ),
            _named(name, found),
        )


def _ledgers() -> Iterator[Round]:
    """Another ledger, or a ledger that is empty."""
    found = cases("", (_DECIDED, _DONE), replace(_BATCH, ending=WRONG_LEDGER))
    found += cases("query", (_DECIDED_2, _DONE_3), replace(QUERY, ending=WRONG_LEDGER))
    yield from _both(
        "no-ledger",
        "driver; then the ledger's table is deleted",
        _then(between.ledger_deleted),
        _named("no-ledger", found),
    )
    other = tuple(replace(case, options_again=_OTHER_LEDGER) for case in found)
    yield from _both(
        "other-ledger", "driver; the next run names another ledger", faults.driver_killed, _named("other-ledger", other)
    )


def _streams() -> Iterator[Round]:
    """Streams that are sealed, or deleted and made again; and the shortest leases."""
    whole = replace(QUERY, trigger_bytes=_ALL_BYTES)
    yield from _both(
        "sealed",
        "driver; then the stream is sealed",
        _then(between.streams_sealed),
        cases("sealed", FINISHING[1:], replace(_BATCH, ending=ONCE))
        + cases("sealed", (_DECIDED,), replace(_BATCH, ending=SEALED))
        + cases("sealed-query", FINISHING[1:], whole)
        + cases("sealed-query", (_DONE_3,), replace(QUERY, ending=SEALED)),
    )
    yield from _both(
        "made-again",
        "driver; then the stream is deleted and made again",
        faults.streams_made_again,
        cases("made-again", (_DECIDED, _HALF, _DONE)) + cases("made-again-query", (_DECIDED, _DONE), QUERY),
    )
    yield from _both(
        "shortest",
        "driver; the server grants leases of 20 s at most",
        faults.driver_killed,
        cases("shortest", (_DECIDED, _HALF, _DONE)) + cases("shortest-query", (_DECIDED_2, _DONE_3), QUERY),
        "short leases",
    )


def _named(prefix: str, found: tuple[Case, ...]) -> tuple[Case, ...]:
    return tuple(replace(case, name=f"{prefix}-{case.name.lstrip('-')}") for case in found)
