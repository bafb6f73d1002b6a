"""The protocol of exactly-once writes: decide, commit, and finish or complete what another attempt left.

Each attempt of a write has its own transactions. `begin` finds what earlier attempts left, `commit` decides and
commits, `abandon` gives up. A process may die between any two awaits here: the next run of the same write again finds
what to do in the ledger and in the states of the transactions. The caller writes the events into the transactions.
"""

import logging
from asyncio import gather
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from aiopravega.control import Controller, TransactionState
from aiopravega.errors import (
    PartialCommitError,
    PravegaError,
    PravegaTimeoutError,
    TransactionAbortedError,
    TransactionError,
)
from aiopravega.ledger.commits.cleanup import abort_leftovers, sweep
from aiopravega.ledger.commits.contents import PartitionCommit
from aiopravega.ledger.commits.record import CommitRecord, CommitState, StoredCommit
from aiopravega.ledger.commits.recovery import FINISH_WITHIN, PendingFinisher
from aiopravega.ledger.commits.table import CommitTable
from aiopravega.ledger.commits.transactions import TransactionSet
from aiopravega.ledger.commits.verdict import Verdict, describe_forgotten, judge, listed, lost, opened
from aiopravega.ledger.commits.write_job import WriteJob, check_first, check_next, check_open, not_done, prepared
from aiopravega.names import StreamName

logger = logging.getLogger(__name__)

# How long readers may have to wait for decided commits before the caller gets an error, in seconds.
DEFAULT_VISIBLE_WITHIN = 60.0
DEFAULT_POLL = 0.05
# How long a write is remembered, in seconds: a run that starts it later writes it again.
DEFAULT_RETAIN = 30 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A decided write after its commits: its record if it is done, or the partitions that are lost."""

    done: CommitRecord | None = None
    lost: frozenset[int] = frozenset()


class CommitProtocol:
    """Exactly-once commits over one ledger.

    `visible_within` is how many seconds a commit waits until readers see the events; None: it does not wait. `poll` is
    the longest pause between two checks meanwhile. `retain` is for how many seconds, at least, the ledger remembers a
    write of this protocol that is done; None: forever. `claimant` is the work that the writes are for, as a text: a
    later try of the same work recognises its own records by it.
    """

    def __init__(
        self,
        controller: Controller,
        ledger: CommitTable,
        *,
        visible_within: float | None = DEFAULT_VISIBLE_WITHIN,
        poll: float = DEFAULT_POLL,
        retain: float | None = DEFAULT_RETAIN,
        claimant: str | None = None,
    ) -> None:
        self._controller = controller
        self._ledger = ledger
        self._visible_within = visible_within
        self._poll = poll
        self._retain = retain
        self._claimant = claimant

    async def begin(self, sink: StreamName, write_id: str, attempt: UUID, generation: int = 1) -> WriteJob:
        """Begin a write, or find that it is done: then `WriteJob.done` is its record, and nothing is to be written.

        A write that an earlier attempt decided is finished here. If some of it is lost forever, the job is to write
        just that (`WriteJob.needs`).

        Raises:
            GenerationError: the generation cannot follow: the one before it is not done, or not known.
            WriteClosedError: the range that it was for was taken over.
            PartialCommitError: an earlier attempt was not finished, and it is not known any more what is in the stream.
            StreamNotFoundError: the stream does not exist.
        """
        current = (await self._controller.first_segment(sink)).number
        found = await self._ledger.lookup(sink, write_id)
        job = WriteJob(sink, write_id, attempt, current, replaces=found, generation=generation)
        check_open(job)
        if found is None or found.record.incarnation != current:
            check_first(job)
            if found is not None:
                logger.info("%s went to an earlier stream of that name, which was deleted", job)
            return job
        check_next(job, found.record)
        newest = found.record.generation
        if generation < newest:
            return job.when_done(found.record.generations[generation - 1])
        if found.record.state is CommitState.DONE:
            return job.when_done(found.record) if generation == newest else await self._following(job, found)
        if found.record.state is CommitState.REOPENED:
            return job
        logger.info("%s was decided by attempt %s: finishing it", found.record.name, found.record.attempt)
        outcome = await self._finish_other(found)
        if generation > newest:
            if outcome.done is None:
                raise not_done(job, found.record, outcome.lost)
            return await self.begin(sink, write_id, attempt, generation)
        if outcome.done is not None:
            return job.when_done(outcome.done)
        if len(outcome.lost) == len(found.record.partitions):
            logger.warning("%s: attempt %s lost its leases; none of its events is visible", job, found.record.attempt)
            return job
        logger.warning(
            "%s is in the stream but for the partitions %s: this attempt completes it", job, listed(outcome.lost)
        )
        return replace(job, lost=outcome.lost)

    async def commit(
        self, job: WriteJob, partitions: Sequence[PartitionCommit], witnessed_at: datetime | None = None
    ) -> CommitRecord:
        """Decide the job and commit all its transactions, which must be flushed.

        A commit that waits until readers see it takes its turn: then no other such commit is between its cuts. The
        transactions of partitions that the job does not need are aborted: all, if the write is done already.

        Args:
            job: as `begin` gave it.
            partitions: what the tasks have written.
            witnessed_at: the latest time at which the servers opened one of the transactions
                (`Transaction.witnessed_at`). A write without such a witness is remembered forever.

        Raises:
            WriteSupersededError: another attempt was first; these transactions are aborted.
            TransactionAbortedError: leases ran out before all was committed, or the stream was deleted and made again
                since `begin`. To run the job again is safe: it starts again if nothing is visible, or writes what is
                missing.
            PartialCommitError: an earlier attempt is in the stream in part, and these events do not complete it.
            PravegaTimeoutError: all is decided, but not visible in time.
        """
        if job.done is not None:
            await self.abandon(job, [part.txn_id for part in partitions])
            return job.done
        wanted = [part for part in partitions if job.needs(part.partition)]
        transactions = TransactionSet.of(self._controller, job.sink, wanted)
        surplus = [part.txn_id for part in partitions if not job.needs(part.partition)]
        needs_turn = self._visible_within is not None and bool(wanted)
        async with self._ledger.turns.take(job.sink, job.write_id, needed=needs_turn) as turn:
            stored = await self._decide(job, partitions, transactions, witnessed_at)
            outcome = await self._commit_all(stored, transactions)
            kept = stored.record.transactions
            leftovers = abort_leftovers(self._controller, self._ledger, job.sink, job.attempt, surplus, kept)
            await gather(turn.give_back(), leftovers)
        if outcome.done is not None:
            await sweep(self._ledger, outcome.done)
            return outcome.done
        raise TransactionAbortedError(
            f"{job}: the leases of {len(outcome.lost)} of its {len(kept)} transactions ran out before "
            "they were committed. Run it again with the same write id: what is in the stream is not written again."
        )

    async def _decide(
        self, job: WriteJob, written: Sequence[PartitionCommit], transactions: TransactionSet, at: datetime | None
    ) -> StoredCommit:
        """Put the record of a job; if that fails, its transactions are aborted."""
        wanted = [part for part in written if job.needs(part.partition)]
        try:
            # A lease that ran out is found here, while the job can still fail as a whole.
            start, *_ = await gather(self._start(job), self._check_same_stream(job), transactions.hold())
            record = prepared(job, wanted, start, at, self._retain, self._claimant)
            stored = await self._ledger.prepare(record, job.replaces)
        except PravegaError:
            await self.abandon(job, [part.txn_id for part in written])
            raise
        logger.info("%s is decided: attempt %s, %d transactions", job, job.attempt, len(wanted))
        return stored

    async def finish(self, stored: StoredCommit) -> CommitRecord | None:
        """Finish what an attempt has decided, for any process; harmless while the attempt does the same.

        Returns:
            The record, done; or None: some of it is lost, so only the job itself can write that again.

        Raises:
            PartialCommitError: it is not known any more what is in the stream.
            WriteSupersededError: another attempt has replaced the record meanwhile.
            PravegaTimeoutError: all is decided, but not visible in time.
        """
        return (await self._finish_other(stored)).done

    async def finish_unfinished(self, sink: StreamName, within: float = FINISH_WITHIN) -> int:
        """Finish what drivers of any write to a stream have decided and left, as every write should before its own.

        If a write cannot be finished and none of it is visible, its open transactions are aborted. It takes `within`
        seconds at most and never fails: a write that could not be finished is named in a warning.

        Returns:
            How many writes were finished.
        """
        return await PendingFinisher(self._controller, self._ledger, self.finish).finish(sink, within)

    async def _check_same_stream(self, job: WriteJob) -> None:
        """Check that the transactions are in the stream that the record names: if not, a restart would write again."""
        current = (await self._controller.first_segment(job.sink)).number
        if current != job.incarnation:
            raise TransactionAbortedError(
                f"{job}: the stream was deleted and made again while the job ran, so none of it is committed. "
                "Run it again: it writes to the new stream."
            )

    async def abandon(self, job: WriteJob, transactions: Collection[UUID]) -> None:
        """Abort the transactions of an attempt that failed, unless it is decided: then a restart finishes it.

        It never fails: what cannot be aborted now is logged and times out.
        """
        try:
            found = await self._ledger.lookup(job.sink, job.write_id)
        except PravegaError as error:
            logger.warning("%s: its transactions are left to their leases: %s", job, error)
            return
        if found is not None and found.record.attempt == job.attempt:
            logger.warning("%s is decided; the next run with this write id finishes it", job)
            return
        await abort_leftovers(self._controller, self._ledger, job.sink, job.attempt, transactions)

    async def _finish_other(self, stored: StoredCommit) -> _Outcome:
        """Finish what an earlier attempt decided; if partitions of it are lost, the rest is committed."""
        record = stored.record
        outcome = await self._complete(stored)
        await abort_leftovers(self._controller, self._ledger, record.sink, record.attempt, kept=record.transactions)
        return outcome

    async def _complete(self, stored: StoredCommit) -> _Outcome:
        record = stored.record
        transactions = TransactionSet.of(self._controller, record.sink, record.partitions)
        states = await transactions.states()
        if judge(states.values()) is Verdict.WHOLE:
            try:
                await transactions.hold(opened(states))
            except TransactionError as error:
                logger.info("%s: %s", record.name, error)
                states = await transactions.states()
        if judge(states.values()) in (Verdict.LOST, Verdict.FORGOTTEN):
            missing = await self._lost(record, transactions)
            if len(missing) == len(record.partitions):
                return _Outcome(lost=missing)
            # Its own driver lives, and has committed a part meanwhile: it may die before it commits the rest.
        return await self._commit_all(stored, transactions)

    async def _start(self, job: WriteJob) -> str | None:
        """The cut before the events that a job commits, with the ones that an earlier attempt has in the stream."""
        if job.replaces is not None and job.lost is not None:
            return job.replaces.record.start
        return await self._ledger.tail(job.sink)

    async def _following(self, job: WriteJob, found: StoredCommit) -> WriteJob:
        """A job for the generation after one that is done; the end of the one that is done is found first."""
        record = found.record
        if record.end is None:
            transactions = TransactionSet.of(self._controller, record.sink, record.partitions)
            states = await transactions.states()
            pending = [partition for partition, state in states.items() if state is TransactionState.COMMITTING]
            await self._wait_visible(record, transactions, self._visible_within or DEFAULT_VISIBLE_WITHIN, pending)
            record = record.model_copy(update={"end": await self._ledger.tail(record.sink)})
        return replace(job, replaces=StoredCommit(record, found.version))

    async def _commit_all(self, stored: StoredCommit, transactions: TransactionSet) -> _Outcome:
        """Commit a decided record and mark it done, unless partitions are lost; then the rest is committed."""
        record = stored.record
        if not await transactions.commit() and (missing := await self._lost(record, transactions)):
            return _Outcome(lost=missing)
        if self._visible_within is not None:
            await self._wait_visible(record, transactions, self._visible_within)
        end = None if self._visible_within is None else await self._ledger.tail(record.sink)
        finished = await self._ledger.finish(stored, end)
        logger.info("%s is done: %d events, %d bytes", record.name, record.total_events, record.total_bytes)
        return _Outcome(finished.record)

    async def _wait_visible(
        self, record: CommitRecord, transactions: TransactionSet, limit: float, among: Collection[int] | None = None
    ) -> None:
        waiting = await transactions.wait_visible(limit, self._poll, among)
        if waiting:
            raise PravegaTimeoutError(
                f"{record.name}: {waiting} of {len(record.partitions)} commits are decided, but not visible "
                f"after {limit:g} s. Run it again with the same write id: that only waits."
            )

    async def _lost(self, record: CommitRecord, transactions: TransactionSet) -> frozenset[int]:
        """The partitions that will never be committed. If none is committed, the open ones are aborted."""
        states = await transactions.states()
        if judge(states.values()) is Verdict.LOST:
            await transactions.abort(opened(states))
            states = await transactions.states()
        if judge(states.values()) is Verdict.FORGOTTEN:
            raise PartialCommitError(describe_forgotten(record, states))
        return lost(states)
