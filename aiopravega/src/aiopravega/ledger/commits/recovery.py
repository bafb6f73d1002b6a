"""Recovery of writes that drivers have decided and left: inspect them, finish them, or do as a person decides.

The protocol continues its own write by itself wherever that is safe (`aiopravega.ledger.commits.protocol`). Writes of
drivers that died are finished by the next process. Every process finishes a decided write in the same way, so it does
no harm if the driver lives and does the same: a commit that was asked for twice is one commit, and `done` is put once.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from aiopravega.bounded import each
from aiopravega.control import Controller, TransactionState
from aiopravega.errors import LedgerError, NotFoundError, PartialCommitError, PravegaError
from aiopravega.ledger.commits.completion import remaining
from aiopravega.ledger.commits.contents import CommitState
from aiopravega.ledger.commits.pending import PendingWrite
from aiopravega.ledger.commits.record import CommitRecord, StoredCommit
from aiopravega.ledger.commits.table import CommitTable
from aiopravega.ledger.commits.transactions import TransactionSet
from aiopravega.ledger.commits.verdict import Verdict, inside, judge, opened
from aiopravega.names import StreamName

logger = logging.getLogger(__name__)
# Finishes a decided write, as `CommitProtocol.finish` does.
Finish = Callable[[StoredCommit], Awaitable[CommitRecord | None]]

# Seconds that a write may take to finish the writes of others: its own rows matter more.
FINISH_WITHIN: Final = 15.0
# Writes that are finished at a time, and at most by one write.
_AT_ONCE: Final = 4
_MOST: Final = 100


class Standing(StrEnum):
    """The state of a write, by its record and its transactions."""

    DONE = "done"
    UNDECIDED = "undecided"  # its stream was to have a part of a write that was not decided, as far as is known
    TABLES = "without its tables"  # done in its streams; its tables do not have their rows, as far as is known
    UNFINISHED = "unfinished"  # decided; all of it is committed, or can be
    LOST = "lost"  # decided, but none of its events is visible
    PARTIAL = "partial"  # some of it is visible, and the rest is lost
    FORGOTTEN = "forgotten"  # decided, but it is not known any more what is visible
    GONE = "gone"  # its stream was deleted
    CLOSED = "closed"  # its range was taken over; none of it was decided


ADVICE = {
    Standing.DONE: "nothing to do",
    Standing.UNDECIDED: "start the write into all of its streams again. To write to this one alone: `resolve --forget`",
    Standing.TABLES: "start the write again: it puts the rows into its tables. If they are there, say `resolve --done`",
    Standing.UNFINISHED: "start the write again, or say `finish`: it is finished then",
    Standing.LOST: "start the write again: it is written from the beginning",
    Standing.PARTIAL: "start the write again: the same rows complete it. Else decide with `resolve`",
    Standing.FORGOTTEN: "read the stream, and decide with `resolve`",
    Standing.GONE: "nothing to do",
    Standing.CLOSED: "nothing to do: another run has its range",
}
_NOTHING_MORE: Final = frozenset({Standing.DONE, Standing.TABLES, Standing.GONE, Standing.CLOSED})
_BY_VERDICT = {
    Verdict.WHOLE: Standing.UNFINISHED,
    Verdict.LOST: Standing.LOST,
    Verdict.PARTIAL: Standing.PARTIAL,
    Verdict.FORGOTTEN: Standing.FORGOTTEN,
}


class Resolution(StrEnum):
    """A decision of a person about a write."""

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
        """The number of transactions in each state that they have."""
        return dict(Counter(state.name.lower() for state in self.states.values()))


async def inspect(controller: Controller, stored: StoredCommit) -> Inspection:
    """Find the state of a write; nothing is changed."""
    record = stored.record
    if record.state in (CommitState.CLOSED, CommitState.REOPENED):
        return Inspection(stored, Standing.CLOSED, {})
    try:
        parts = await remaining(controller, record)
        if record.main is not None:
            return Inspection(stored, Standing.UNDECIDED, {})
        states = await TransactionSet.of(controller, record.sink, parts).states()
    except NotFoundError:
        return Inspection(stored, Standing.GONE, {})
    verdict = judge(states.values())
    if record.state is CommitState.DONE and verdict in (Verdict.WHOLE, Verdict.FORGOTTEN):
        return Inspection(stored, Standing.TABLES if record.waiting_tables else Standing.DONE, states)
    return Inspection(stored, _BY_VERDICT[verdict], states)


async def resolve(
    controller: Controller, table: CommitTable, found: Inspection, decision: Resolution, *, by: str | None = None
) -> None:
    """Do as a person has decided. Transactions that are still open are aborted first, so that none is committed later.

    Args:
        controller: of the stream.
        table: the ledger's.
        found: the write.
        decision: of the person.
        by: the person, who is noted beside the author of the write; a record that is forgotten notes nobody.

    Raises:
        LedgerError: the write can still be finished by itself, or is done already.
        TableConflictError: the record has changed meanwhile.
    """
    record = found.record
    if decision is Resolution.DONE and found.standing is Standing.TABLES:
        await table.amend(found.stored, record.landed(datetime.now(UTC)))
        return
    if decision is not Resolution.FORGET and record.state is CommitState.DONE:
        raise LedgerError(f"{record.name} is done already; it can only be forgotten")
    if found.standing is Standing.UNDECIDED and decision is not Resolution.FORGET:
        raise LedgerError(f"{record.name} was not decided; it can only be forgotten")
    if found.standing is Standing.UNFINISHED:
        raise LedgerError(f"{record.name} can still be finished by itself: {ADVICE[found.standing]}")
    await TransactionSet.of(controller, record.sink, record.partitions).abort(opened(found.states))
    if decision is Resolution.FORGET:
        await table.forget_newest(found.stored)
        return
    kept = record.partitions
    if decision is Resolution.ACCEPT:
        there = inside(found.states)
        kept = tuple(part for part in record.partitions if part.partition in there)
    authors = record.by if by is None else f"{record.by}; {decision} by {by}"
    decided = record.model_copy(update={"partitions": kept, "resolved": True, "by": authors})
    await table.amend(found.stored, decided.done(datetime.now(UTC)))


async def finish_stored(controller: Controller, finish: Finish, stored: StoredCommit) -> Inspection:
    """Finish a write that is decided, if that is possible; returns its state then.

    If some of a write is lost and none of it is visible, the rest is aborted.

    Raises:
        WriteSupersededError: another attempt has replaced the record meanwhile.
        PravegaTimeoutError: all is decided, but not visible in time.
    """
    found = await inspect(controller, stored)
    if found.standing in _NOTHING_MORE:
        return found
    try:
        record = await finish(stored)
    except PartialCommitError:
        record = None
    if record is None:
        return await inspect(controller, stored)
    return Inspection(StoredCommit(record, stored.version), Standing.DONE, found.states)


class PendingFinisher:
    """Finishes the pending writes of a stream within a time; errors are logged, not raised."""

    def __init__(self, controller: Controller, table: CommitTable, finish: Finish) -> None:
        self._controller = controller
        self._table = table
        self._finish_decided = finish

    async def finish(self, sink: StreamName, within: float) -> int:
        """Finish what is pending; returns how many writes were finished."""
        deadline = asyncio.get_running_loop().time() + within
        try:
            async with asyncio.timeout_at(deadline):
                pending = await self._table.pending.of(sink)
        except NotFoundError:  # no ledger, and so no writes
            return 0
        except (PravegaError, TimeoutError) as error:
            logger.warning("could not look for unfinished writes to %s: %s", sink, str(error) or f"{within:g} s passed")
            return 0
        some = random.sample(pending, min(len(pending), _MOST))

        async def one(write: PendingWrite) -> bool:
            try:
                async with asyncio.timeout_at(deadline):
                    return await self._finish(write)
            except TimeoutError:
                logger.warning("%s is unfinished, and could not be finished within %g s", write.name, within)
            except PravegaError as error:
                logger.warning("%s is unfinished, and could not be finished: %s", write.name, error)
            return False

        return sum(await each(one, some, _AT_ONCE))

    async def _finish(self, write: PendingWrite) -> bool:
        stored = await self._table.stored(write.record)
        if stored is None or stored.record.attempt != write.attempt:
            return False  # not decided: its driver may be about to; if it is dead, the entry is removed when it is old
        if stored.record.state is CommitState.DONE:
            await self._table.pending.remove(write.attempt, write.sink)
            return False
        found = await finish_stored(self._controller, self._finish_decided, stored)
        if found.standing is Standing.DONE:
            logger.info("%s was decided by %s and is finished now", write.name, stored.record.by or "a driver")
            return True
        if found.standing is not Standing.UNFINISHED:
            # Only the same write again or a person can do more: other writes need not read it each time.
            await self._table.pending.remove(write.attempt, write.sink)
        if found.standing is not Standing.GONE:
            logger.warning(
                "%s was decided by %s and not finished in time: it is %s (transactions: %s). To do: %s",
                write.name,
                stored.record.by or "a driver",
                found.standing,
                ", ".join(f"{count} {state}" for state, count in sorted(found.counts.items())),
                ADVICE[found.standing],
            )
        return False
