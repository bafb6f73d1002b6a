"""Blocking forms of the event writer and of transactions."""

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self
from uuid import UUID

from aiopravega.control import TransactionState
from aiopravega.loop import LoopThread
from aiopravega.routing import SegmentMap
from aiopravega.times import EventTime, TimeUnit
from aiopravega.write.batch import Block
from aiopravega.write.transaction import Transaction as AsyncTransaction
from aiopravega.write.transaction import TransactionHandle as AsyncHandle
from aiopravega.write.writer import EventWriter as AsyncWriter


class EventWriter:
    """See `aiopravega.write.writer.EventWriter`; use it with `with`."""

    def __init__(self, loop: LoopThread, writer: AsyncWriter) -> None:
        self._loop = loop
        self._writer = writer

    def __enter__(self) -> Self:
        self._loop.run(self._writer.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._writer.__aexit__(kind, error, trace))

    def write(self, data: bytes | bytearray | memoryview, routing_key: str | None = None) -> None:
        """Accept one event; prefer `write_many` for more than a few."""
        self._loop.run(self._writer.write(data, routing_key))

    def write_many(self, events: Iterable[bytes], routing_keys: Iterable[str | None] | None = None) -> None:
        """Accept many events."""
        self._loop.run(self._writer.write_many(events, routing_keys))

    @property
    def segments(self) -> SegmentMap:
        """The segments that it writes to now."""
        return self._writer.segments

    def write_blocks(self, blocks: Sequence[Block], grouped_by: SegmentMap) -> None:
        """Accept whole framed events, grouped by `segments`."""
        self._loop.run(self._writer.write_blocks(blocks, grouped_by))

    def flush(self) -> None:
        """Wait until every accepted event is durable."""
        self._loop.run(self._writer.flush())

    @property
    def writer_id(self) -> str:
        """The name under which it notes times."""
        return self._writer.writer_id

    def note_time(self, time: EventTime, *, unit: TimeUnit = TimeUnit.MS) -> None:
        """Flush, then note that whatever this writer writes from now on is not older than `time`."""
        self._loop.run(self._writer.note_time(time, unit=unit))


class TransactionHandle:
    """See `aiopravega.write.transaction.TransactionHandle`."""

    def __init__(self, loop: LoopThread, handle: AsyncHandle) -> None:
        self._loop = loop
        self._handle = handle

    @property
    def txn_id(self) -> UUID:
        """The id under which any process can commit or abort it."""
        return self._handle.txn_id

    def state(self) -> TransactionState:
        """Where the transaction stands now."""
        return self._loop.run(self._handle.state())

    def ping(self, lease: float) -> None:
        """Keep the transaction open for another `lease` seconds."""
        self._loop.run(self._handle.ping(lease))

    def hold(self) -> float:
        """Keep the transaction open for as long as the server grants; returns the seconds."""
        return self._loop.run(self._handle.hold())

    def commit(self, time: EventTime | None = None, *, wait: float | None = None, unit: TimeUnit = TimeUnit.MS) -> None:
        """Ask for the commit, noting `time`, and wait up to `wait` seconds until readers see it."""
        self._loop.run(self._handle.commit(time, wait=wait, unit=unit))

    def wait_committed(self, timeout: float) -> None:
        """Wait until a commit that was asked for is done."""
        self._loop.run(self._handle.wait_committed(timeout))

    def abort(self) -> None:
        """Throw the events away."""
        self._loop.run(self._handle.abort())


class Transaction(TransactionHandle):
    """See `aiopravega.write.transaction.Transaction`; use it with `with`."""

    def __init__(self, loop: LoopThread, transaction: AsyncTransaction) -> None:
        super().__init__(loop, transaction)
        self._transaction = transaction

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._transaction.__aexit__(kind, error, trace))

    @property
    def segments(self) -> SegmentMap:
        """The segments that the transaction writes to."""
        return self._transaction.segments

    def write(self, data: bytes | bytearray | memoryview, routing_key: str | None = None) -> None:
        """Accept one event; prefer `write_many` or `write_block` for more than a few."""
        self._loop.run(self._transaction.write(data, routing_key))

    def write_many(self, events: Iterable[bytes], routing_keys: Iterable[str | None] | None = None) -> None:
        """Accept many events."""
        self._loop.run(self._transaction.write_many(events, routing_keys))

    def note_time(self, time: EventTime, *, unit: TimeUnit = TimeUnit.MS) -> None:
        """Have the commit note this time."""
        self._transaction.note_time(time, unit=unit)

    def write_block(self, lane: int, block: Block) -> None:
        """Accept whole framed events for the segment at index `lane` of `segments`."""
        self._loop.run(self._transaction.write_block(lane, block))

    def flush(self) -> None:
        """Wait until every accepted event is durable in the transaction."""
        self._loop.run(self._transaction.flush())

    def detach(self) -> None:
        """Stop writing, but leave the transaction open for whoever knows its id."""
        self._loop.run(self._transaction.detach())
