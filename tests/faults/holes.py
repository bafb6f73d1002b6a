"""Rounds beside the kills: what users do to checkpoints, write ids, clocks, ledgers and streams between two runs.

Each of it has lost or doubled rows once. All of it comes to one job, each to a stream of its own: the starts of Spark
take longer than the writes. Writes wait in the driver, so that two cores are enough for all of them; each round runs
in one process and on a cluster of two executors.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from tests.faults import between, faults
from tests.faults.between import LEASE_ENDS_SECONDS, LEASE_SECONDS, Change
from tests.faults.case import REUSED, SEALED, WRONG_LEDGER, Case
from tests.faults.faults import Results
from tests.faults.rounds import COMMITTING, DECIDING, FINISHING, QUERY, STRAGGLING, At, Round, Server, cases
from tests.faults.rows import Rows

# A fault that takes the `master` of its jobs.
Mastered = Callable[..., Results]
_LOCAL, _CLUSTER = "local[2]", "local-cluster[2,1,1024]"
_BATCH = Case("", "", "before")
_FOREACH = replace(QUERY, foreach=True)
_DECIDED, _HALF, _DONE = DECIDING[2], COMMITTING[1], FINISHING[2]
# In a query: the second micro-batch is decided, and the third one is done and Spark has not noted it.
_DECIDED_2: At = ("prepared", "after", 2)
_DONE_3: At = ("done", "after", 3)
# All that a query reads, in one micro-batch.
_WHOLE = replace(QUERY, trigger_bytes=10_000_000)


def hole_rounds() -> Iterator[Round]:
    """All of them."""
    yield Round(
        "reused",
        "driver; the next run has other rows",
        faults.driver_killed,
        cases("reused", (_DECIDED, _HALF, *FINISHING[1:]), _other_rows(_BATCH)),
    )
    yield Round(
        "put-back",
        "driver; then a checkpoint of before is put back",
        partial(faults.driver_killed, meanwhile=between.for_all(between.checkpoint_put_back)),
        cases("put-back", (_DECIDED_2, ("done", "before", 3), _DONE_3), _other_batches(QUERY)),
    )
    found = (*_used_ids(), *_forgotten_records(), *_ledgers(), *_streams(), *_unfinished())
    yield from _both("changed", "driver", faults.changed, found)
    yield from _both(
        "shortest",
        "driver; the server grants leases of 20 s at most",
        faults.driver_killed,
        cases("shortest", (_DECIDED, _HALF)) + cases("shortest-query", (_DECIDED_2, _DONE_3), QUERY),
        "short leases",
    )
    # One write a round: only then is a process idle on two cores.
    for name, like in (("straggler", _BATCH), ("straggler-query", QUERY)):
        yield from _both(
            name,
            "process of a task that has ended; another task continues beyond all leases",
            partial(faults.idle_workers_killed, seconds=LEASE_SECONDS + LEASE_ENDS_SECONDS),
            cases(name, STRAGGLING[1:], like),
            "short leases",
        )


def _both(name: str, words: str, fault: Mastered, found: tuple[Case, ...], server: Server = "plain") -> Iterator[Round]:
    yield Round(name, words, partial(fault, master=_LOCAL), found, server)
    on_cluster = tuple(
        replace(case, name=f"{case.name}-cluster", words=case.words and f"{case.words}; on a cluster") for case in found
    )
    yield Round(f"{name}-cluster", f"{words}; on a cluster", partial(fault, master=_CLUSTER), on_cluster, server)


def _changed(
    prefix: str, words: str, points: Iterable[At], like: Case, change: Change | None = None
) -> tuple[Case, ...]:
    return cases(f"changed-{prefix}", points, replace(like, words=f"driver; {words}", between=change))


def _other_rows(like: Case) -> Case:
    return replace(like, rows_again=Rows(seed=99), ending=REUSED)


def _other_batches(like: Case) -> Case:
    return replace(like, trigger_bytes_again=60_000, ending=REUSED)


def _used_ids() -> Iterator[Case]:
    """A write id that is used again, for the same rows or for others."""
    yield from _changed("rows", "the next run has other rows", (_DONE,), _other_rows(_BATCH))
    put_back = "then a checkpoint of before is put back"
    yield from _changed("put-back", put_back, (_DONE_3,), _other_batches(QUERY), between.checkpoint_put_back)
    deleted = "then the checkpoint is deleted"
    yield from _changed("foreach", deleted, (_DONE_3,), _FOREACH, between.checkpoint_deleted)
    yield from _changed("foreach-other", deleted, (_DONE_3,), _other_batches(_FOREACH), between.checkpoint_deleted)


def _forgotten_records() -> Iterator[Case]:
    """Another job removes what it believes to be old."""
    for name, words, change in (
        ("ahead", "then a job whose clock is 40 days ahead removes records", None),
        ("old", "two days later, a job that remembers for one removes records", between.made_old),
    ):
        yield from _changed(name, words, (_DECIDED, _DONE), _BATCH, change)
        yield from _changed(f"{name}-query", words, (_DONE_3,), QUERY, change)


def _ledgers() -> Iterator[Case]:
    """Another ledger, or a ledger that is empty."""
    batch, query = replace(_BATCH, ending=WRONG_LEDGER), replace(QUERY, ending=WRONG_LEDGER)
    for name, like, points in (("", batch, (_DECIDED, _DONE)), ("-query", query, (_DONE_3,))):
        other = replace(like, options_again={"commit_ledger": "{scope}/other"})
        yield from _changed(f"other-ledger{name}", "the next run names another ledger", points, other)
        own = replace(like, options={"commit_ledger": "{scope}/deleted"})
        yield from _changed(
            f"no-ledger{name}", "then the ledger's table is deleted", points, own, between.ledger_deleted
        )


def _streams() -> Iterator[Case]:
    """Streams that are sealed, or deleted and made again."""
    sealed = "then the stream is sealed"
    yield from _changed("sealed", sealed, (_DONE,), _BATCH, between.sealed)
    yield from _changed("sealed", sealed, (_DECIDED,), replace(_BATCH, ending=SEALED), between.sealed)
    yield from _changed("sealed-query", sealed, (_DONE,), _WHOLE, between.sealed)
    yield from _changed("sealed-query", sealed, (_DONE_3,), replace(QUERY, ending=SEALED), between.sealed)
    again = "then the stream is deleted and made again"
    yield from _changed("made-again", again, (_HALF, _DONE), _BATCH, between.made_again)
    yield from _changed("made-again-query", again, (_DONE,), QUERY, between.made_again)


def _unfinished() -> Iterator[Case]:
    """A driver dies amid its commits, and nobody starts its job again: another write to the stream comes next."""
    words = "another write without a write id comes next"
    other = replace(_BATCH, named=False, adds=True, rows_again=Rows(seed=98, first=300))
    yield from _changed("unfinished", words, (_DECIDED, _HALF), other)
    query = replace(_WHOLE, named=False, adds=True, rows_again=Rows(seed=98, first=1200), kind_again="batch")
    yield from _changed("unfinished-query", words, (_HALF,), query)
