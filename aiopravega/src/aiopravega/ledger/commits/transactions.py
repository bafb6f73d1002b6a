"""The transactions of one write: their states, leases, commits and ends.

Every step asks for all of them at once, within a bound: the controller then takes the commits of an old epoch in
one go, instead of making two new epochs for each. A transaction that refuses a step shows why in its state.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Self, TypeVar
from uuid import UUID

from aiopravega.bounded import each
from aiopravega.control import Controller, TransactionState, hold_transaction
from aiopravega.errors import TransactionError
from aiopravega.ledger.commits.contents import PartitionCommit
from aiopravega.names import StreamName

logger = logging.getLogger(__name__)
R = TypeVar("R")

# More calls at a time than this only queue on the controller's side.
_CALLS_AT_ONCE = 200
# Before the second check of commits, in seconds; each pause is twice the one before it.
_FIRST_PAUSE = 0.005
# A controller that has just started may accept a commit and forget to do it, until it is asked for again: one that is
# not done after so many seconds.
_ASK_AGAIN = 5.0


class TransactionSet:
    """Transactions of a write, by the partition that each holds.

    They are in `stream`; `elsewhere` has the streams of partitions that are in others.
    """

    def __init__(
        self,
        controller: Controller,
        stream: StreamName,
        transactions: Mapping[int, UUID],
        elsewhere: Mapping[int, StreamName] | None = None,
    ) -> None:
        self._controller = controller
        self._stream = stream
        self._transactions = dict(transactions)
        self._elsewhere = dict(elsewhere or {})

    @classmethod
    def of(cls, controller: Controller, stream: StreamName, partitions: Collection[PartitionCommit]) -> Self:
        """The transactions of some partitions of a write, whose first stream is `stream`."""
        elsewhere = {part.partition: part.stream for part in partitions if part.stream is not None}
        return cls(controller, stream, {part.partition: part.txn_id for part in partitions}, elsewhere)

    async def states(self, among: Collection[int] | None = None) -> dict[int, TransactionState]:
        """The state of each transaction."""
        return await self._each(self._controller.transaction_state, among)

    async def hold(self, among: Collection[int] | None = None) -> None:
        """Keep them open for as long as the server grants.

        Raises:
            TransactionAbortedError: one is aborted, or its lease has run out.
            TransactionError: one is committed already, or unknown.
        """
        await self._each(lambda stream, txn_id: hold_transaction(self._controller, stream, txn_id), among)

    async def commit(self, among: Collection[int] | None = None) -> bool:
        """Ask for their commits; returns True if all were accepted, and so are certain."""
        accepted = await self._each(
            lambda stream, txn_id: _accepted(self._controller.commit_transaction(stream, txn_id)), among
        )
        return all(accepted.values())

    async def abort(self, among: Collection[int] | None = None) -> bool:
        """Ask for their ends; returns True if all were accepted, so that none of them can be committed later."""
        accepted = await self._each(
            lambda stream, txn_id: _accepted(self._controller.abort_transaction(stream, txn_id)), among
        )
        return all(accepted.values())

    async def wait_visible(self, limit: float, poll: float, among: Collection[int] | None = None) -> int:
        """Wait up to `limit` seconds until commits that were accepted are done; returns how many are not.

        `poll` is the longest pause between two checks, in seconds: the first ones are shorter, because a commit of few
        segments takes some milliseconds. A commit that takes longer than some seconds is asked for again.
        """
        began = asked = time.monotonic()
        pause = min(poll, _FIRST_PAUSE)
        waiting = list(self._transactions if among is None else among)
        while True:
            states = await self.states(waiting)
            waiting = [partition for partition in waiting if states[partition] is not TransactionState.COMMITTED]
            now = time.monotonic()
            if not waiting or now > began + limit:
                return len(waiting)
            if now > asked + _ASK_AGAIN:
                logger.info("%d commits are not done after %.0f s: they are asked for again", len(waiting), now - began)
                await self.commit([part for part in waiting if states[part] is TransactionState.COMMITTING])
                asked = now
            await asyncio.sleep(pause)
            pause = min(2 * pause, poll)

    async def _each(
        self, step: Callable[[StreamName, UUID], Awaitable[R]], among: Collection[int] | None
    ) -> dict[int, R]:
        """Do a step with some transactions, or all; an error is raised after the other steps have ended."""

        def one(partition: int) -> Awaitable[R]:
            return step(self._elsewhere.get(partition, self._stream), self._transactions[partition])

        partitions = list(self._transactions if among is None else among)
        return dict(zip(partitions, await each(one, partitions, _CALLS_AT_ONCE), strict=True))


async def _accepted(call: Awaitable[None]) -> bool:
    try:
        await call
    except TransactionError as error:
        logger.info("%s", error)
        return False
    return True
