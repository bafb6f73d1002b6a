"""The protocol of exactly-once writes: decide, commit, and finish or complete what another attempt left.

Each attempt of a write has its own transactions. `begin` finds what earlier attempts left, `commit` decides and
commits, `abandon` gives up. A process may die between any two awaits here: the next run of the same write again finds
what to do in the ledger and in the states of the transactions. The caller writes the events into the transactions.
"""

import logging
from asyncio import gather
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from aiopravega.control import Controller, TransactionState
from aiopravega.errors import PravegaError, TransactionAbortedError
from aiopravega.ledger.commits.cleanup import abort_leftovers, sweep
from aiopravega.ledger.commits.completion import Completion, Outcome
from aiopravega.ledger.commits.contents import CommitState, PartitionCommit
from aiopravega.ledger.commits.record import CommitRecord, StoredCommit
from aiopravega.ledger.commits.recovery import FINISH_WITHIN, PendingFinisher
from aiopravega.ledger.commits.table import CommitTable
from aiopravega.ledger.commits.transactions import TransactionSet
from aiopravega.ledger.commits.verdict import listed
from aiopravega.ledger.commits.write_job import (
    JoinedStream,
    WriteJob,
    check_first,
    check_next,
    check_open,
    check_streams,
    not_done,
    part_records,
    prepared,
)
from aiopravega.names import StreamName

logger = logging.getLogger(__name__)

# How long readers may have to wait for decided commits before the caller gets an error, in seconds.
DEFAULT_VISIBLE_WITHIN = 60.0
DEFAULT_POLL = 0.05
# How long a write is remembered, in seconds: a run that starts it later writes it again.
DEFAULT_RETAIN = 30 * 24 * 3600.0


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
        self._completion = Completion(controller, ledger, visible_within, poll)
        self._visible_within = visible_within
        self._retain = retain
        self._claimant = claimant

    async def begin(
        self,
        sink: StreamName,
        write_id: str,
        attempt: UUID,
        generation: int = 1,
        others: Collection[StreamName] = (),
    ) -> WriteJob:
        """Begin a write, or find that it is done: then `WriteJob.done` is its record, and nothing is to be written.

        A write that an earlier attempt decided is finished here. If some of it is lost forever, the job is to write
        just that (`WriteJob.needs`). If there are `others`, it is a write into all of these streams.

        Raises:
            SinksError: under the write id, other streams were written to.
            GenerationError: the generation cannot follow: the one before it is not done, or not known.
            WriteClosedError: the range that it was for was taken over.
            PartialCommitError: an earlier attempt was not finished, and it is not known any more what is in the stream.
            StreamNotFoundError: the stream does not exist.
        """
        sink, *rest = sorted({sink, *others}, key=str)
        current = (await self._controller.first_segment(sink)).number
        found = await self._ledger.lookup(sink, write_id)
        joined = await gather(*(self._join(stream, write_id) for stream in rest))
        job = WriteJob(sink, write_id, attempt, current, replaces=found, generation=generation, joined=tuple(joined))
        check_open(job)
        check_streams(job)
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
            return await self.begin(sink, write_id, attempt, generation, rest)
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
            await self.abandon(job, {part.txn_id: job.stream_of(part) for part in partitions})
            return job.done
        wanted = [part for part in partitions if job.needs(part.partition)]
        transactions = TransactionSet.of(self._controller, job.sink, wanted)
        surplus = {part.txn_id: job.stream_of(part) for part in partitions if not job.needs(part.partition)}
        written = {job.stream_of(part) for part in wanted} if self._visible_within is not None else set()
        async with self._ledger.turns.take_all(sorted(written, key=str), job.write_id) as turns:
            stored = await self._decide(job, partitions, transactions, witnessed_at)
            outcome = await self._completion.commit(stored, transactions)
            kept = stored.record.transactions
            leftovers = abort_leftovers(self._controller, self._ledger, job.sink, job.attempt, surplus, kept)
            await gather(*(turn.give_back() for turn in turns), leftovers)
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
            starts, *_ = await gather(self._starts(job), self._check_same_streams(job), transactions.hold())
            record = prepared(job, wanted, starts, at, self._retain, self._claimant)
            await gather(*(self._ledger.join(*part) for part in part_records(job)))
            stored = await self._ledger.prepare(record, job.replaces)
        except PravegaError:
            await self.abandon(job, {part.txn_id: job.stream_of(part) for part in written})
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

    async def _join(self, stream: StreamName, write_id: str) -> JoinedStream:
        first, found = await gather(self._controller.first_segment(stream), self._ledger.lookup(stream, write_id))
        return JoinedStream(stream, first.number, found)

    async def _check_same_streams(self, job: WriteJob) -> None:
        """Check that the transactions are in the streams that the record names: if not, a restart would write again."""

        async def check(stream: StreamName, incarnation: int) -> None:
            if (await self._controller.first_segment(stream)).number != incarnation:
                raise TransactionAbortedError(
                    f"{job}: {stream} was deleted and made again while the job ran, so none of it is committed. "
                    "Run it again: it writes to the new stream."
                )

        joined = (check(one.stream, one.incarnation) for one in job.joined)
        await gather(check(job.sink, job.incarnation), *joined)

    async def abandon(self, job: WriteJob, transactions: Collection[UUID] | Mapping[UUID, StreamName]) -> None:
        """Abort the transactions of an attempt that failed, unless it is decided: then a restart finishes it.

        It never fails: what cannot be aborted now is logged and times out. The transactions are in the job's stream,
        or each has its stream.
        """
        try:
            found = await self._ledger.lookup(job.sink, job.write_id)
        except PravegaError as error:
            logger.warning("%s: its transactions are left to their leases: %s", job, error)
            return
        if found is not None and found.record.attempt == job.attempt:
            logger.warning("%s is decided; the next run with this write id finishes it", job)
            return
        surplus = transactions if isinstance(transactions, Mapping) else dict.fromkeys(transactions, job.sink)
        await abort_leftovers(self._controller, self._ledger, job.sink, job.attempt, surplus)

    async def _finish_other(self, stored: StoredCommit) -> Outcome:
        """Finish what an earlier attempt decided; if partitions of it are lost, the rest is committed."""
        record = stored.record
        outcome = await self._completion.complete(stored)
        await abort_leftovers(self._controller, self._ledger, record.sink, record.attempt, kept=record.transactions)
        return outcome

    async def _starts(self, job: WriteJob) -> Sequence[str | None]:
        """The cuts before the events that a job commits, with the ones that an earlier attempt has in the streams."""
        if job.replaces is not None and job.lost is not None:
            return job.replaces.record.starts
        return await gather(*map(self._ledger.tail, job.streams))

    async def _following(self, job: WriteJob, found: StoredCommit) -> WriteJob:
        """A job for the generation after one that is done; the end of the one that is done is found first."""
        record = found.record
        if record.end is None:
            transactions = TransactionSet.of(self._controller, record.sink, record.partitions)
            states = await transactions.states()
            pending = [partition for partition, state in states.items() if state is TransactionState.COMMITTING]
            limit = self._visible_within or DEFAULT_VISIBLE_WITHIN
            await self._completion.wait_visible(record, transactions, limit, pending)
            record = record.ending(*await self._completion.ends(record))
        return replace(job, replaces=StoredCommit(record, found.version))
