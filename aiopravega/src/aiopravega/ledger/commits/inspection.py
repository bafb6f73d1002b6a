"""What a person sees of writes, and decides about them: how records and transactions stand, and what can be done.

The protocol continues by itself wherever that is safe (`aiopravega.ledger.commits.protocol`). This is for the rest,
and for those who want to know.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from aiopravega.control import Controller, TransactionState
from aiopravega.errors import LedgerError, NotFoundError
from aiopravega.ledger.commits.commit_record import CommitRecord, CommitState, StoredCommit
from aiopravega.ledger.commits.transactions import TransactionSet
from aiopravega.ledger.commits.verdict import Verdict, inside, judge, opened

if TYPE_CHECKING:
    from aiopravega.ledger.commits.commit_ledger import CommitLedger


class Standing(StrEnum):
    """How a write stands."""

    DONE = "done"
    UNFINISHED = "unfinished"  # decided; all of it is committed, or can be
    LOST = "lost"  # decided, but none of its events is visible
    PARTIAL = "partial"  # some of it is visible, and the rest is lost
    FORGOTTEN = "forgotten"  # decided, but it is not known any more what is visible
    GONE = "gone"  # its stream was deleted


ADVICE = {
    Standing.DONE: "nothing to do",
    Standing.UNFINISHED: "start the write again, or say `finish`: it is finished then",
    Standing.LOST: "start the write again: it is written from the beginning",
    Standing.PARTIAL: "start the write again: the same rows complete it. Else decide with `resolve`",
    Standing.FORGOTTEN: "read the stream, and decide with `resolve`",
    Standing.GONE: "nothing to do",
}
_BY_VERDICT = {
    Verdict.WHOLE: Standing.UNFINISHED,
    Verdict.LOST: Standing.LOST,
    Verdict.PARTIAL: Standing.PARTIAL,
    Verdict.FORGOTTEN: Standing.FORGOTTEN,
}


class Resolution(StrEnum):
    """What a person can decide about a write."""

    ACCEPT = "accept"  # what is in the stream is the write, and it is done
    DONE = "done"  # all of it is in the stream, as the person knows, and it is done
    FORGET = "forget"  # its newest generation never was, and can be written again


@dataclass(frozen=True, slots=True)
class Inspection:
    """A write with the states of its transactions, by partition."""

    stored: StoredCommit
    standing: Standing
    states: dict[int, TransactionState]

    @property
    def record(self) -> CommitRecord:
        """The write's record."""
        return self.stored.record

    @property
    def counts(self) -> dict[str, int]:
        """How many transactions are in which state."""
        return dict(Counter(state.name.lower() for state in self.states.values()))


async def inspect(controller: Controller, stored: StoredCommit) -> Inspection:
    """Find the state of a write; nothing is changed."""
    record = stored.record
    try:
        if (await controller.first_segment(record.sink)).number != record.incarnation:
            return Inspection(stored, Standing.GONE, {})
        states = await _transactions(controller, record).states()
    except NotFoundError:
        return Inspection(stored, Standing.GONE, {})
    verdict = judge(states.values())
    if record.state is CommitState.DONE and verdict in (Verdict.WHOLE, Verdict.FORGOTTEN):
        return Inspection(stored, Standing.DONE, states)
    return Inspection(stored, _BY_VERDICT[verdict], states)


async def resolve(controller: Controller, ledger: "CommitLedger", found: Inspection, decision: Resolution) -> None:
    """Do what a person has decided. Transactions that are still open are aborted first, so that nothing comes after.

    Raises:
        LedgerError: the write can still be finished by itself, or is done already.
        TableConflictError: the record has changed meanwhile.
    """
    record = found.record
    if decision is not Resolution.FORGET and record.state is CommitState.DONE:
        raise LedgerError(f"{record.name} is done already; it can only be forgotten")
    if found.standing is Standing.UNFINISHED:
        raise LedgerError(f"{record.name} can still be finished by itself: {ADVICE[found.standing]}")
    await _transactions(controller, record).abort(opened(found.states))
    if decision is Resolution.FORGET:
        await ledger.forget_newest(found.stored)
        return
    kept = record.partitions
    if decision is Resolution.ACCEPT:
        there = inside(found.states)
        kept = tuple(part for part in record.partitions if part.partition in there)
    decided = record.model_copy(update={"partitions": kept, "resolved": True})
    await ledger.amend(found.stored, decided.done(datetime.now(UTC)))


def _transactions(controller: Controller, record: CommitRecord) -> TransactionSet:
    return TransactionSet(controller, record.sink, {part.partition: part.txn_id for part in record.partitions})
