"""The blocking forms of the event writer and of transactions.

Their `write` does not wait for the loop's thread: it adds events to a queue (`aiopravega.blocking.event_queue`). All
other calls of a writer come after the events that were written before.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, cast
from uuid import UUID

from aiopravega import client as aio_client
from aiopravega.blocking.bridge import Face, OpenFace, Twin, calls, derived, mirrors, shows, waits
from aiopravega.blocking.handover import Handover
from aiopravega.loop import LoopThread
from aiopravega.names import StreamName
from aiopravega.routing import SegmentMap
from aiopravega.sizes import MAX_EVENT
from aiopravega.write import transaction as aio
from aiopravega.write.batch import FramedBlock
from aiopravega.write.writer import EventWriter as AioWriter

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class _Writing(Twin[A_co], Protocol[A_co]):
    """A blocking form with a queue of events."""

    @property
    def handover(self) -> Handover:
        """Its events that the writer has not accepted yet."""


def follows(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]],
    otherwise: Callable[[A], Coroutine[Any, Any, None]] | None = None,
) -> Callable[Concatenate[_Writing[A], P], T]:
    """The blocking form of a coroutine method that comes after all events that were written.

    If an event could not be written, `otherwise` is called instead, and the error is raised.
    """

    def call(twin: _Writing[A], /, *args: P.args, **kwargs: P.kwargs) -> T:
        coroutine = method(twin.asynchronous, *args, **kwargs)
        end = None if otherwise is None else partial(otherwise, twin.asynchronous)
        return twin.run(twin.handover.before(coroutine, end))

    return cast(Callable[Concatenate[_Writing[A], P], T], derived(call, method))


def drops(method: Callable[[A], Coroutine[Any, Any, None]]) -> Callable[[_Writing[A]], None]:
    """The blocking form of a coroutine method that forgets events that are not flushed."""

    def call(twin: _Writing[A], /) -> None:
        async def dropped() -> None:
            await twin.handover.drop()
            await method(twin.asynchronous)

        twin.run(dropped())

    return cast(Callable[[_Writing[A]], None], derived(call, method))


class EventWriter(OpenFace[AioWriter]):
    """Writes to one stream; made by `PravegaClient.writer`, used with `with`. Threads can share it.

    Events are on their way when `write` returns; `flush` and the end of the block wait until all are durable. The error
    of an event that could not be written is raised by a later call, or at the end of the block.
    """

    def __init__(self, loop: LoopThread, writer: AioWriter) -> None:
        super().__init__(loop, writer)

        async def write(blocks: list[tuple[int, FramedBlock]], segments: SegmentMap) -> None:
            await writer.write_blocks([block for _, block in blocks], segments)

        self.handover = Handover(loop, lambda: writer.segments, write)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run(self.handover.leave(self.asynchronous.__aexit__, kind, error, trace))

    @property
    def stream(self) -> StreamName:
        """The stream that it writes to."""
        return self.asynchronous.stream

    @property
    def writer_id(self) -> str:
        """The name under which it notes times."""
        return self.asynchronous.writer_id

    segments = shows(AioWriter.segments)

    @mirrors(AioWriter.write)
    def write(self, data: bytes | bytearray | memoryview, routing_key: str | None = None) -> None:
        if len(data) > MAX_EVENT:  # never part of a batch, even if the writer takes it
            self._write_now(data, routing_key)
        else:
            self.handover.add(data, routing_key)

    _write_now = follows(AioWriter.write)
    write_many = follows(AioWriter.write_many)
    write_blocks = follows(AioWriter.write_blocks)
    flush = follows(AioWriter.flush)
    note_time = follows(AioWriter.note_time)

    @mirrors(AioWriter.close)
    def close(self) -> None:
        self.__exit__(None, None, None)


class TransactionHandle(Face[aio.TransactionHandle]):
    """A transaction known by its id: its state, commit and abort. Its commit notes a time under `writer_id`."""

    @property
    def stream(self) -> StreamName:
        """The stream of its events."""
        return self.asynchronous.stream

    @property
    def txn_id(self) -> UUID:
        """The id under which any process can commit or abort it."""
        return self.asynchronous.txn_id

    @property
    def writer_id(self) -> str:
        """The name under which its commit notes a time."""
        return self.asynchronous.writer_id

    state = waits(aio.TransactionHandle.state)
    ping = waits(aio.TransactionHandle.ping)
    hold = waits(aio.TransactionHandle.hold)
    commit = waits(aio.TransactionHandle.commit)
    wait_committed = waits(aio.TransactionHandle.wait_committed)
    abort = waits(aio.TransactionHandle.abort)

    def __str__(self) -> str:
        return str(self.asynchronous)


class Transaction(TransactionHandle):
    """An open transaction that takes events; made by `PravegaClient.transaction`, used with `with`.

    At the end of the block it commits and waits until readers see the events; it aborts if the block raises, or if an
    event could not be written. That error is raised by a later call, or at the end of the block.
    """

    def __init__(self, loop: LoopThread, transaction: aio.Transaction) -> None:
        super().__init__(loop, transaction)
        self._transaction = transaction

        async def write(blocks: list[tuple[int, FramedBlock]], _: SegmentMap) -> None:
            for lane, block in blocks:
                await transaction.write_block(lane, block)

        self.handover = Handover(loop, lambda: transaction.segments, write)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run(self.handover.leave(self.asynchronous.__aexit__, kind, error, trace))

    @property
    def asynchronous(self) -> aio.Transaction:
        """The object of the asyncio API that does the work, for coroutines that `run` waits for."""
        return self._transaction

    segments = shows(aio.Transaction.segments)
    witnessed_at = waits(aio.Transaction.witnessed_at)

    @mirrors(aio.Transaction.write)
    def write(self, data: bytes | bytearray | memoryview, routing_key: str | None = None) -> None:
        self.handover.add(data, routing_key)

    write_many = follows(aio.Transaction.write_many)
    write_block = follows(aio.Transaction.write_block)
    flush = follows(aio.Transaction.flush)
    note_time = calls(aio.Transaction.note_time)
    # A transaction that is not kept open any more ends by itself.
    commit = follows(aio.Transaction.commit, otherwise=aio.Transaction.detach)
    abort = drops(aio.Transaction.abort)
    detach = drops(aio.Transaction.detach)


class OpeningTransaction(Face[aio_client.OpeningTransaction]):
    """Opens the transaction on entering."""

    def __enter__(self) -> Transaction:
        self._transaction = Transaction(self.loop, self.run(self.asynchronous.__aenter__()))
        return self._transaction

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._transaction.__exit__(kind, error, trace)
