"""Completion of a decided write: commit all of its transactions, wait until readers see them, and mark it done.

Its own driver does this, and any process that finds the record of a driver that died. Both do the same, and none of it
can happen twice.
"""

import logging
from asyncio import gather
from collections.abc import Collection
from dataclasses import dataclass

from aiopravega.control import Controller
from aiopravega.errors import (
    NotFoundError,
    PartialCommitError,
    PravegaTimeoutError,
    StreamNotFoundError,
    TransactionError,
)
from aiopravega.ledger.commits.contents import PartitionCommit
from aiopravega.ledger.commits.record import CommitRecord, StoredCommit
from aiopravega.ledger.commits.table import CommitTable
from aiopravega.ledger.commits.transactions import TransactionSet
from aiopravega.ledger.commits.verdict import Verdict, describe_forgotten, judge, lost, opened
from aiopravega.names import StreamName

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A decided write after its commits: its record if it is done, or the partitions that are lost."""

    done: CommitRecord | None = None
    lost: frozenset[int] = frozenset()


class Completion:
    """Completes the decided writes of a ledger.

    `visible_within` is how many seconds it waits until readers see the events; None: it does not wait. `poll` is the
    longest pause between two checks meanwhile.
    """

    def __init__(self, controller: Controller, ledger: CommitTable, visible_within: float | None, poll: float) -> None:
        self._controller = controller
        self._ledger = ledger
        self._visible_within = visible_within
        self._poll = poll

    async def complete(self, stored: StoredCommit) -> Outcome:
        """Complete what another process has decided; if partitions of it are lost, the rest is committed.

        Raises:
            PartialCommitError: it is not known any more what is in the streams.
            WriteSupersededError: another attempt has replaced the record meanwhile.
            PravegaTimeoutError: all is decided, but not visible in time.
        """
        record = stored.record
        parts = await remaining(self._controller, record) if record.others else record.partitions
        transactions = TransactionSet.of(self._controller, record.sink, parts)
        states = await transactions.states()
        if judge(states.values()) is Verdict.WHOLE:
            try:
                await transactions.hold(opened(states))
            except TransactionError as error:
                logger.info("%s: %s", record.name, error)
                states = await transactions.states()
        if judge(states.values()) in (Verdict.LOST, Verdict.FORGOTTEN):
            missing = await self._lost(record, transactions)
            if len(missing) == len(parts):
                return Outcome(lost=missing)
            # Its own driver lives, and has committed a part meanwhile: it may die before it commits the rest.
        return await self.commit(stored, transactions)

    async def commit(self, stored: StoredCommit, transactions: TransactionSet) -> Outcome:
        """Commit a decided record and mark it done, unless partitions are lost; then the rest is committed."""
        record = stored.record
        if not await transactions.commit() and (missing := await self._lost(record, transactions)):
            return Outcome(lost=missing)
        ends: list[str | None] = []
        if self._visible_within is not None:
            await self.wait_visible(record, transactions, self._visible_within)
            ends = await self.ends(record)
        finished = await self._ledger.finish(stored, *ends)
        logger.info("%s is done: %d events, %d bytes", record.name, record.total_events, record.total_bytes)
        return Outcome(finished.record)

    async def ends(self, record: CommitRecord) -> list[str | None]:
        """The cuts at the ends of the streams of a write, for its record."""

        async def end(stream: StreamName) -> str | None:
            try:
                return await self._ledger.tail(stream)
            except NotFoundError:
                if record.others:  # the other streams have their parts
                    return None
                raise

        return await gather(*map(end, record.streams))

    async def wait_visible(
        self, record: CommitRecord, transactions: TransactionSet, limit: float, among: Collection[int] | None = None
    ) -> None:
        """Wait until readers see what is committed.

        Raises:
            PravegaTimeoutError: they do not within `limit` seconds.
        """
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


async def remaining(controller: Controller, record: CommitRecord) -> tuple[PartitionCommit, ...]:
    """The partitions of a write whose streams are there; what was in deleted streams is gone with them.

    Raises:
        StreamNotFoundError: none of the streams is there, as it was when the write was decided.
    """

    async def is_there(stream: StreamName, incarnation: int) -> bool:
        try:
            return (await controller.first_segment(stream)).number == incarnation
        except NotFoundError:
            return False

    answers = await gather(*(is_there(stream, number) for stream, number in record.incarnations.items()))
    there = {stream for stream, is_one in zip(record.streams, answers, strict=True) if is_one}
    if not there:
        raise StreamNotFoundError(f"{record.name}: no stream of it is there any more")
    return tuple(part for part in record.partitions if (part.stream or record.sink) in there)
