"""The queue of single events from any thread to a writer in the loop's thread: in batches, because each hop costs.

Threads add events. A task in the loop's thread writes each batch that is full, or a few milliseconds old, one after
another. A thread that begins a batch while too many wait has to wait as well: that bounds the memory. The writer makes
events durable; this module does not know how.
"""

import asyncio
import random
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Final, TypeVar

from aiopravega import wire
from aiopravega.errors import PravegaError
from aiopravega.loop import LoopThread
from aiopravega.routing import SegmentMap, key_position
from aiopravega.write.batch import BLOCK_BYTES, BLOCK_EVENTS, FramedBlock, check_event

T = TypeVar("T")

# A batch is full with so many events, or with the bytes of a block.
BATCH_EVENTS: Final = 4 * BLOCK_EVENTS
# Batches at a time: one is being written, one waits to be written, and one is open for events.
MOST_BATCHES: Final = 3
# The longest time that an event waits for others in its batch, in seconds.
LINGER: Final = 0.005


class _Batch:
    """Events with their positions in the key space."""

    __slots__ = ("dropped", "events", "size", "written")

    def __init__(self) -> None:
        self.events: list[tuple[bytes, float]] = []
        self.size = 0
        self.written = asyncio.Event()  # or dropped
        self.dropped = False


class Handover:
    """The events that one writer has not accepted yet, in batches.

    Args:
        loop: the writer's.
        segments: the segments that the writer writes to now; raises the reason if the writer takes no events.
        write: writes blocks, each with the index of its segment among `segments`.
    """

    def __init__(
        self,
        loop: LoopThread,
        segments: Callable[[], SegmentMap],
        write: Callable[[list[tuple[int, FramedBlock]], SegmentMap], Coroutine[Any, Any, None]],
    ) -> None:
        self._loop, self._segments, self._write = loop, segments, write
        # The lock protects the following fields; no thread holds it while it waits. The threads' own steps are single
        # stores: an interrupt between them does no harm.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._batches: deque[_Batch] = deque()
        self._open: _Batch | None = None  # the last batch, while it takes events
        self._lingers = False
        self._error: Exception | None = None
        # Changed in the loop's thread only.
        self._writing: asyncio.Task[None] | None = None

    def add(self, data: bytes | bytearray | memoryview, routing_key: str | None) -> None:
        """Add an event, in any thread; wait while too many batches wait.

        Raises:
            EventTooLargeError: the event has more than 8 MiB; it is not added.
            PravegaError: the error of an earlier event that could not be written, or of a writer that takes no events.
        """
        check_event(data)
        event = bytes(data), random.random() if routing_key is None else key_position(routing_key)
        self._loop.check_caller()
        with self._lock:
            batch = self._open or self._begin()
            batch.events.append(event)
            batch.size += wire.EVENT_HEADER + len(event[0])
            if batch.size < BLOCK_BYTES and len(batch.events) < BATCH_EVENTS:
                return
            self._open = None
        self._loop.call_soon(self._start)

    def _begin(self) -> _Batch:
        """A new batch, as soon as there is room; the lock is released while this waits."""
        while len(self._batches) >= MOST_BATCHES and self._error is None and self._open is None:
            self._changed.wait()
        if self._error is not None:
            raise self._error
        if self._open is not None:  # another thread has begun it
            return self._open
        self._segments()
        batch = _Batch()
        self._batches.append(batch)
        self._open = batch
        if not self._lingers:
            self._loop.call_later(LINGER, self._end_linger)
            self._lingers = True
        return batch

    def _end_linger(self) -> None:
        with self._lock:
            self._lingers = False
            self._open = None
        self._start()

    def _start(self) -> None:
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())

    async def _write_all(self) -> None:
        while self._batches and self._batches[0] is not self._open:
            batch = self._batches[0]
            try:
                segments = self._segments()
                await self._write(blocks_of(batch.events, segments), segments)
            except Exception as error:  # noqa: BLE001 - the thread that added the event must see any error
                self._error = error
                self._drop_all()
                return
            batch.written.set()
            with self._lock:
                self._batches.popleft()
                self._changed.notify_all()

    def _drop_all(self) -> None:
        with self._lock:
            for batch in self._batches:
                batch.dropped = True
                batch.written.set()
            self._batches.clear()
            self._open = None
            self._changed.notify_all()

    async def written(self) -> None:
        """Wait, in the loop's thread, until the writer has accepted all events that were added before.

        Raises:
            PravegaError: an event could not be written.
        """
        with self._lock:
            self._open = None
            last = self._batches[-1] if self._batches else None
        if last is not None:
            self._start()
            await last.written.wait()
        if self._error is not None:
            raise self._error
        if last is not None and last.dropped:
            raise PravegaError("events were dropped: another thread has closed their writer meanwhile")

    async def before(
        self, call: Coroutine[Any, Any, T], otherwise: Callable[[], Coroutine[Any, Any, None]] | None
    ) -> T:
        """Await a call after all events that were added before; `otherwise` is called if one could not be written."""
        try:
            await self.written()
        except BaseException:
            call.close()
            if otherwise is not None:
                await self.drop()
                await otherwise()
            raise
        return await call

    async def drop(self) -> None:
        """Drop, in the loop's thread, the events that the writer has not accepted."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        self._drop_all()

    async def leave(
        self,
        leave: Callable[..., Coroutine[Any, Any, None]],
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the writer's block, as if the block had raised the error of an event that could not be written."""
        try:
            if kind is None:
                await self.written()
        except BaseException as failure:
            kind, error, trace = type(failure), failure, failure.__traceback__
            raise
        finally:
            await self.drop()
            await leave(kind, error, trace)


def blocks_of(events: Sequence[tuple[bytes, float]], segments: SegmentMap) -> list[tuple[int, FramedBlock]]:
    """Blocks of events with their positions, by the index of their segment; events of a segment keep their order."""
    lanes: dict[int, tuple[list[bytes], list[float]]] = {}
    for data, position in events:
        payloads, positions = lanes.setdefault(segments.index_for(position), ([], []))
        payloads.append(data)
        positions.append(position)
    return [
        (lane, FramedBlock(wire.frame_events(payloads), len(payloads), positions))
        for lane, (payloads, positions) in lanes.items()
    ]
