"""The protocol of exactly-once writes: decide, commit, and finish what another attempt left.

Every attempt of a write has transactions of its own. `begin` looks what earlier attempts left, `commit` decides
and commits, `abandon` gives up. A process may die between any two awaits here: whoever begins the same write
again finds what to do in the ledger and in the states of the transactions. How events get into the transactions
is not known here.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from aiopravega.control import Controller, TransactionState
from aiopravega.errors import (
    PartialCommitError,
    PravegaError,
    PravegaTimeoutError,
    TransactionAbortedError,
    TransactionError,
)
from aiopravega.ledger.commit_ledger import CommitLedger, StoredCommit
from aiopravega.ledger.record import CommitRecord, CommitState, PartitionCommit
from aiopravega.ledger.transactions import TransactionSet
from aiopravega.ledger.verdict import Verdict, describe_partial, judge
from aiopravega.names import StreamName

logger = logging.getLogger(__name__)

# How long readers may have to wait for decided commits before a caller is told, in seconds.
DEFAULT_VISIBLE_WITHIN = 60.0
DEFAULT_POLL = 0.05


@dataclass(frozen=True, slots=True)
class WriteJob:
    """One attempt of one write. `replaces` is the record of a lost attempt that this one may replace."""

    sink: StreamName
    write_id: str
    attempt: UUID
    incarnation: int
    replaces: StoredCommit | None = None

    def __str__(self) -> str:
        return f"write {self.write_id!r} to {self.sink}"


class CommitProtocol:
    """Exactly-once commits over one ledger.

    `visible_within` is how many seconds a commit waits until readers see the events; None: it does not wait.
    `poll` is the pause between two looks meanwhile.
    """

    def __init__(
        self,
        controller: Controller,
        ledger: CommitLedger,
        *,
        visible_within: float | None = DEFAULT_VISIBLE_WITHIN,
        poll: float = DEFAULT_POLL,
    ) -> None:
        self._controller = controller
        self._ledger = ledger
        self._visible_within = visible_within
        self._poll = poll

    async def begin(self, sink: StreamName, write_id: str, attempt: UUID) -> WriteJob | CommitRecord:
        """Look what is known of a write: returns a job to go on with, or the record of a write that is done.

        What an earlier attempt decided and did not finish is finished here.

        Raises:
            PartialCommitError: an earlier attempt is in the stream in part, and the rest of it is lost.
            StreamNotFoundError: there is no such stream.
        """
        incarnation = await self._incarnation(sink)
        found = await self._ledger.lookup(sink, write_id)
        job = WriteJob(sink, write_id, attempt, incarnation, replaces=found)
        if found is None:
            return job
        if found.record.incarnation != incarnation:
            logger.info("%s went to an earlier stream of that name, which was deleted", job)
            return job
        if found.record.state is CommitState.DONE:
            return found.record
        logger.info("%s was decided by attempt %s: finishing it", job, found.record.attempt)
        return await self._finish_other(found) or job

    async def commit(self, job: WriteJob, partitions: Sequence[PartitionCommit]) -> CommitRecord:
        """Decide the job and commit all its transactions, which must be flushed.

        Raises:
            WriteSupersededError: another attempt was first; these transactions are aborted.
            TransactionAbortedError: leases ran out before anything was committed; nothing of the job is visible.
            PartialCommitError: leases ran out in the middle of committing.
            PravegaTimeoutError: all is decided, but not visible in time.
        """
        record = CommitRecord(
            state=CommitState.PREPARED,
            sink=job.sink,
            incarnation=job.incarnation,
            write_id=job.write_id,
            attempt=job.attempt,
            partitions=tuple(partitions),
            prepared_at=datetime.now(UTC),
        )
        transactions = self._transactions(record)
        try:
            await transactions.hold()  # a lease that ran out is found here, while the job can still fail as a whole
            stored = await self._ledger.prepare(record, job.replaces)
        except PravegaError:
            await self.abandon(job, [partition.txn_id for partition in partitions])
            raise
        logger.info("%s is decided: attempt %s, %d transactions", job, job.attempt, len(partitions))
        finished = await self._commit_all(stored, transactions)
        if finished is None:
            raise TransactionAbortedError(
                f"{job}: the leases of its transactions ran out before they were committed; nothing of it is visible. "
                "Run it again with the same write id."
            )
        return finished

    async def abandon(self, job: WriteJob, transactions: Iterable[UUID]) -> None:
        """Abort the transactions of an attempt that failed, unless it is decided: then a restart finishes it.

        It never fails: what cannot be aborted now is logged and times out.
        """
        try:
            found = await self._ledger.lookup(job.sink, job.write_id)
            if found is not None and found.record.attempt == job.attempt:
                logger.warning("%s is decided; whoever starts it again with this write id finishes it", job)
                return
            ours = TransactionSet(self._controller, job.sink, dict(enumerate(transactions)))
            await ours.abort()
        except PravegaError as error:
            logger.warning("%s: its transactions are left to their leases: %s", job, error)

    async def _finish_other(self, stored: StoredCommit) -> CommitRecord | None:
        """Finish what an earlier attempt decided; None: all of it is lost, and nothing of it is visible."""
        transactions = self._transactions(stored.record)
        states = await transactions.states()
        if judge(states.values()) is Verdict.WHOLE:
            try:
                await transactions.hold(_open(states))
            except TransactionError as error:
                logger.info("%s: %s", stored.record.name, error)
                states = await transactions.states()
        if judge(states.values()) is Verdict.LOST and await self._is_lost(stored.record, transactions):
            return None
        return await self._commit_all(stored, transactions)

    async def _commit_all(self, stored: StoredCommit, transactions: TransactionSet) -> CommitRecord | None:
        """Commit a decided record and mark it done; None: all of it is lost, and nothing of it is visible."""
        record = stored.record
        if not await transactions.commit():
            states = await transactions.states()
            verdict = judge(states.values())
            if verdict is Verdict.LOST and await self._is_lost(record, transactions):
                return None
            if verdict is not Verdict.WHOLE:
                raise PartialCommitError(describe_partial(record, states))
        if self._visible_within is not None:
            missing = await transactions.wait_visible(self._visible_within, self._poll)
            if missing:
                raise PravegaTimeoutError(
                    f"{record.name}: {missing} of {len(record.partitions)} commits are decided, but not visible "
                    f"after {self._visible_within:g} s. Run it again with the same write id: that only waits on."
                )
        finished = await self._ledger.finish(stored)
        logger.info("%s is done: %d events, %d bytes", record.name, record.total_events, record.total_bytes)
        return finished.record

    async def _is_lost(self, record: CommitRecord, transactions: TransactionSet) -> bool:
        """Make sure that nothing of a lost attempt can be committed any more, by a zombie of it; whether that holds."""
        await transactions.abort(_open(await transactions.states()))
        lost = judge((await transactions.states()).values()) is Verdict.LOST
        if lost:
            logger.warning("%s: attempt %s lost its leases; nothing of it is visible", record.name, record.attempt)
        return lost

    def _transactions(self, record: CommitRecord) -> TransactionSet:
        return TransactionSet(
            self._controller, record.sink, {part.partition: part.txn_id for part in record.partitions}
        )

    async def _incarnation(self, sink: StreamName) -> int:
        """A number that no other stream of this name had: segment numbers go on when a stream is made again."""
        return min(entry.segment.number for entry in await self._controller.epoch_segments(sink, 0))


def _open(states: Mapping[int, TransactionState]) -> list[int]:
    return [partition for partition, state in states.items() if state is TransactionState.OPEN]
