"""Transactions: events that become visible all at once, or never.

A transaction keeps its lease alive by itself while it is open. It survives the process that made it: any process that
knows its id can commit or abort it (`PravegaClient.attach_transaction`).
"""

import asyncio
import logging
import random
import time
import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self

from aiopravega.control import Controller, KeyRange, PingStatus, TransactionState, hold_transaction
from aiopravega.errors import (
    ConfigurationError,
    PravegaConnectionError,
    PravegaError,
    PravegaTimeoutError,
    SegmentNotFoundError,
    TransactionAbortedError,
    TransactionError,
)
from aiopravega.names import StreamName
from aiopravega.routing import SegmentMap, key_position
from aiopravega.store import SegmentStore
from aiopravega.times import EventTime, TimeUnit
from aiopravega.write.batch import FramedBlock, check_event, keyless_blocks
from aiopravega.write.lanes import Lanes

logger = logging.getLogger(__name__)

# The shortest lease that Pravega takes is 10 s, the longest by default 600 s.
DEFAULT_LEASE = 60.0
# Pings per lease: two may fail before the lease runs out.
_PINGS_PER_LEASE = 3
# How long the end of a block waits until readers see the events.
_VISIBLE_WITHIN = 60.0
_FIRST_POLL = 0.02
_LONGEST_POLL = 0.5


class TransactionHandle:
    """A transaction known by its id: its state, commit and abort. Its commit notes a time under `writer_id`."""

    def __init__(self, controller: Controller, stream: StreamName, txn_id: uuid.UUID, writer_id: str) -> None:
        self.stream = stream
        self.txn_id = txn_id
        self.writer_id = writer_id
        self._controller = controller

    async def state(self) -> TransactionState:
        """The state of the transaction now; UNKNOWN if it never existed, or ended long ago."""
        return await self._controller.transaction_state(self.stream, self.txn_id)

    async def ping(self, lease: float) -> None:
        """Keep the transaction open for another `lease` seconds.

        Raises:
            TransactionAbortedError: it is aborted, or its lease has run out.
            TransactionError: it is committed, unknown, or has reached its longest life.
        """
        status = await self._controller.ping_transaction(self.stream, self.txn_id, int(lease * 1000))
        if status is PingStatus.ABORTED:
            raise TransactionAbortedError(f"{self} was aborted, or its lease of {lease:g} s ran out")
        if status is PingStatus.DISCONNECTED:
            raise PravegaConnectionError(f"the controller cannot keep the lease of {self} now")
        if status is not PingStatus.OK:
            raise TransactionError(f"{self} cannot be kept open: the controller answered {status.name}")

    async def hold(self) -> float:
        """Keep the transaction open for as long as the server grants; returns the seconds.

        Raises:
            TransactionAbortedError: it is aborted, or its lease has run out.
            TransactionError: it is committed, unknown, or has reached its longest life.
        """
        return await hold_transaction(self._controller, self.stream, self.txn_id)

    async def commit(
        self, time: EventTime | None = None, *, wait: float | None = None, unit: TimeUnit = TimeUnit.MS
    ) -> None:
        """Request the commit, which is certain after that; safe to repeat. Wait up to `wait` seconds until it is done.

        Args:
            time: the writer writes nothing older from now on; Pravega makes the stream's watermarks from such times. It
                is noted when the events are in the stream; a time before an earlier one is not noted.
            wait: seconds.
            unit: what a datetime is counted in; a number is noted as it is.

        Raises:
            TransactionAbortedError: it was aborted, or its lease ran out before.
            PravegaTimeoutError: the commit is decided, but its events are not visible within `wait` seconds.
            ConfigurationError: the time has no zone; the commit was not requested.
        """
        number = None if time is None else unit.number(time)
        # A writer that is named without a time holds back the stream's watermarks.
        writer_id = "" if number is None else self.writer_id
        await self._controller.commit_transaction(self.stream, self.txn_id, writer_id, number)
        if wait is not None:
            await self.wait_committed(wait)

    async def wait_committed(self, timeout: float) -> None:
        """Wait until a requested commit is done and readers see the events.

        Raises:
            TransactionAbortedError: it was aborted.
            PravegaTimeoutError: it is not done within `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        poll = _FIRST_POLL
        while True:
            state = await self.state()
            if state is TransactionState.COMMITTED:
                return
            if state in (TransactionState.ABORTED, TransactionState.ABORTING):
                raise TransactionAbortedError(f"{self} was aborted, or its lease ran out; no event of it is visible")
            if time.monotonic() > deadline:
                raise PravegaTimeoutError(f"{self} is {state.name} after {timeout:g} s; its commit is decided: wait")
            await asyncio.sleep(poll)
            poll = min(poll * 2, _LONGEST_POLL)

    async def abort(self) -> None:
        """Discard the events; safe to repeat.

        Raises:
            TransactionError: it is committed, or unknown.
        """
        await self._controller.abort_transaction(self.stream, self.txn_id)

    def __str__(self) -> str:
        return f"transaction {self.txn_id} of {self.stream}"


class Transaction(TransactionHandle):
    """An open transaction that takes events; made by `PravegaClient.transaction`, used with `async with`.

    At the end of the block it commits and waits until readers see the events; it aborts if the block raises.
    """

    def __init__(
        self,
        controller: Controller,
        store: SegmentStore,
        stream: StreamName,
        txn_id: uuid.UUID,
        segments: Sequence[KeyRange],
        lease: float,
        writer_id: str,
    ) -> None:
        super().__init__(controller, stream, txn_id, writer_id)
        self._lease = lease
        self._store = store
        self._lanes = Lanes(store, segments, txn_id)
        self._keeper = asyncio.create_task(self._keep_lease())
        self._lost: PravegaError | None = None
        self._time: int | None = None

    @property
    def segments(self) -> SegmentMap:
        """The segments that the transaction writes to; they do not change when the stream scales."""
        return self._lanes.map

    async def witnessed_at(self) -> datetime:
        """A time after the transaction was opened, by the clock of the segment store that has its first segment.

        Raises:
            SegmentNotFoundError: the transaction is committed or aborted.
        """
        segment = self.segments.segments[0]
        return await self._store.changed_at(segment, segment.transaction(self.txn_id))

    async def write(self, data: bytes | bytearray | memoryview, routing_key: str | None = None) -> None:
        """Accept one event; waits while too many bytes are in flight.

        Raises:
            EventTooLargeError: more than 8 MiB; nothing is sent.
            TransactionAbortedError: the transaction was aborted, or its lease ran out.
        """
        check_event(data)
        full = self._lanes.add(data, random.random() if routing_key is None else key_position(routing_key))
        if full is not None:
            await self._emit(full)

    async def write_many(self, events: Iterable[bytes], routing_keys: Iterable[str | None] | None = None) -> None:
        """Accept many events; like `write` for each, with less work per event."""
        if routing_keys is None:
            for block in keyless_blocks(events):
                await self.write_block(self._lanes.next_lane(), block)
            return
        for data, key in zip(events, routing_keys, strict=True):
            await self.write(data, key)

    async def write_block(self, lane: int, block: FramedBlock) -> None:
        """Accept whole framed events for the segment at index `lane` of `segments`."""
        await self._emit(lane)  # events that were accepted before come first
        try:
            self._lanes.appenders[lane].enqueue(block)
            await self._lanes.appenders[lane].room()
        except SegmentNotFoundError as error:
            raise self._gone() from error

    async def flush(self) -> None:
        """Wait until every accepted event is durable in the transaction."""
        for lane in range(len(self._lanes.builders)):
            await self._emit(lane)
        try:
            await self._lanes.drained()
        except SegmentNotFoundError as error:
            raise self._gone() from error
        self._check_lease()

    def note_time(self, time: EventTime, *, unit: TimeUnit = TimeUnit.MS) -> None:
        """Have the commit at the end of the block note this time, as `commit` does.

        Raises:
            ConfigurationError: the time has no zone, or lies before one that was given already.
        """
        number = unit.number(time)
        if self._time is not None and number < self._time:
            raise ConfigurationError(f"cannot note time {number} of {self}: it is before {self._time}, noted already")
        self._time = number

    async def commit(
        self, time: EventTime | None = None, *, wait: float | None = None, unit: TimeUnit = TimeUnit.MS
    ) -> None:
        """Flush, then commit; see `TransactionHandle.commit`."""
        if time is not None:
            self.note_time(time, unit=unit)
        try:
            await self.flush()
        finally:
            await self.detach()  # after a failure too: without renewal the lease ends it
        await super().commit(self._time, wait=wait)

    async def abort(self) -> None:
        """Discard the events."""
        await self.detach()
        await super().abort()

    async def detach(self) -> None:
        """Stop writing and keeping the lease, but leave the transaction open for any process that knows its id."""
        self._keeper.cancel()
        await asyncio.gather(self._keeper, return_exceptions=True)
        await self._lanes.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.commit(wait=_VISIBLE_WITHIN)
            return
        try:
            await self.abort()
        except PravegaError as failure:  # the block's own error is more important; the lease will end
            logger.warning("could not abort %s: %s", self, failure)

    async def _emit(self, lane: int) -> None:
        self._check_lease()
        rejected = self._lanes.emit(lane)
        appender = self._lanes.appenders[lane]
        try:
            if rejected is not None and appender.error is not None:
                raise appender.error
            await appender.room()
        except SegmentNotFoundError as error:
            raise self._gone() from error

    def _gone(self) -> TransactionAbortedError:
        return TransactionAbortedError(
            f"{self} takes no more events: it was aborted, or its lease of {self._lease:g} s ran out. Write again in "
            "a new transaction, with a longer lease if this machine was asleep or overloaded."
        )

    def _check_lease(self) -> None:
        if self._lost is not None:
            raise self._lost

    async def _keep_lease(self) -> None:
        while True:
            await asyncio.sleep(self._lease / _PINGS_PER_LEASE)
            try:
                await self.ping(self._lease)
            except TransactionError as error:
                self._lost = error
                return
            except PravegaError as error:
                logger.warning("could not renew the lease of %s: %s", self, error)
                if not error.retryable:  # the client is closed, or may not: no later ping would be in time
                    return
