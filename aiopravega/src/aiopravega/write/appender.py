"""Appends blocks to one segment, each exactly once, even if connections break.

The segment store remembers the last event number of every writer id; a writer that reconnects asks for it and sends
again only what is missing. This module knows one segment: its callers handle routing and scaling.
"""

import asyncio
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from aiopravega import wire
from aiopravega.control import Access
from aiopravega.errors import (
    PravegaConnectionError,
    PravegaError,
    PravegaTimeoutError,
    ProtocolError,
    SegmentSealedError,
)
from aiopravega.names import SegmentId
from aiopravega.net import Connection
from aiopravega.retry import Retries
from aiopravega.store import SegmentStore
from aiopravega.write.batch import BLOCK_BYTES, FramedBlock
from aiopravega.write.window import SendWindow


@dataclass(slots=True)
class _Sent:
    last_event: int
    block: FramedBlock
    at: float = 0.0  # when the block was last sent, by the loop's clock


class SegmentAppender:
    """A writer of blocks to one segment, or to a transaction's part of it.

    `enqueue` decides the order and returns at once; `room` and `drained` wait. Once `error` is set, nothing more is
    sent. If the error is a sealed segment, the blocks in `leftovers` surely are not in the segment.
    """

    def __init__(self, store: SegmentStore, segment: SegmentId, name: str, max_in_flight: int) -> None:
        self.segment = segment
        self.error: PravegaError | None = None
        self._store = store
        self._name = name
        self._window = SendWindow(min(BLOCK_BYTES, max_in_flight), max_in_flight)
        self._writer_id = uuid.uuid4()
        self._unacknowledged: deque[_Sent] = deque()
        self._unsent: deque[_Sent] = deque()
        self._in_flight = 0
        self._last_event = 0
        self._sealed: SegmentSealedError | None = None
        self._failure: PravegaError | None = None
        self._retries = Retries(store.retry_policy, f"append to {name}")
        # Ends a session that gets no acknowledgement for too long.
        self._patience: asyncio.Timeout | None = None
        self._wake = asyncio.Event()
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    @property
    def leftovers(self) -> list[FramedBlock]:
        """Blocks without an acknowledgement, in order."""
        return [sent.block for sent in self._unacknowledged]

    def enqueue(self, block: FramedBlock) -> None:
        """Put a block in the queue; it is sent after all earlier ones.

        Raises:
            PravegaError: why this appender has stopped.
        """
        if self.error is not None:
            raise self.error
        self._last_event += block.events
        sent = _Sent(self._last_event, block)
        self._unacknowledged.append(sent)
        self._unsent.append(sent)
        self._in_flight += block.size
        if len(self._unacknowledged) == 1:
            self._expect_progress()
        self._wake.set()

    async def room(self) -> None:
        """Wait until the bytes in flight are within their bound."""
        await self._until(lambda: self._in_flight <= self._window.size)

    async def drained(self) -> None:
        """Wait until every block up to now is acknowledged, which means durable."""
        last = self._last_event
        await self._until(lambda: not self._unacknowledged or self._unacknowledged[0].last_event > last)

    async def _until(self, done: Callable[[], bool]) -> None:
        while not done():
            if self.error is not None:
                raise self.error
            self._changed.clear()
            await self._changed.wait()

    async def close(self) -> None:
        """Stop; blocks without an acknowledgement may or may not be in the segment."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        await self._wake.wait()  # a segment without blocks needs no set-up
        while True:
            try:
                await self._session()
            except PravegaError as error:
                try:
                    pause = self._retries.pause_after(error)
                except PravegaError as final:
                    self._stop(final)
                    return
            except Exception as error:  # a defect of ours must reach the caller, not vanish with the task
                self._stop(ProtocolError(f"append to {self._name} failed unexpectedly: {error!r}"))
                raise
            else:
                pause = 0.0
            await asyncio.sleep(pause)

    def _stop(self, error: PravegaError) -> None:
        self.error = error
        self._changed.set()

    async def _session(self) -> None:
        """Append over one connection, until it breaks or the segment is sealed."""
        setup, connection = await self._store.request_once(
            self.segment,
            Access.WRITE,
            lambda request_id, token: wire.SetupAppend(request_id, self._writer_id, self._name, token),
            wire.AppendSetup,
        )
        self._acknowledge(setup.last_event_number)
        if self._sealed is not None:
            raise self._sealed
        self._failure = None
        self._unsent = deque(self._unacknowledged)
        request_id = connection.register_writer(self._writer_id, self._on_reply, self._on_failure)
        try:
            async with asyncio.timeout(None) as self._patience:
                self._expect_progress()
                await self._send_all(connection, request_id)
        except TimeoutError:
            # Other requests do not get an answer over this connection either.
            await connection.close()
            self._store.forget(self.segment, Access.WRITE)
            raise PravegaTimeoutError(
                f"{connection.endpoint} acknowledged no append to {self._name} within {self._store.request_timeout:g} s"
            ) from None
        except SegmentSealedError as error:
            # One more set-up shows which of the blocks under way are in the segment.
            self._sealed = error
        except PravegaError:
            self._store.forget(self.segment, Access.WRITE)
            raise
        finally:
            self._patience = None
            connection.unregister_writer(self._writer_id)

    def _expect_progress(self) -> None:
        """Restart the time limit: a block was acknowledged, or the first one was sent."""
        if self._patience is not None and not self._patience.expired():
            limit = asyncio.get_running_loop().time() + self._store.request_timeout
            self._patience.reschedule(limit if self._unacknowledged else None)

    async def _send_all(self, connection: Connection, request_id: int) -> None:
        while True:
            while self._unsent and self._failure is None:
                sent = self._unsent.popleft()
                block, sent.at = sent.block, asyncio.get_running_loop().time()
                end = wire.AppendBlockEnd(self._writer_id, block.size, b"", block.events, sent.last_event, request_id)
                header = wire.append_block_header(self._writer_id, block.size)
                await connection.send([header, block.payload, wire.encode(end)])
            if self._failure is not None:
                raise self._failure
            self._wake.clear()
            await self._wake.wait()

    def _on_reply(self, reply: wire.Reply) -> None:
        if isinstance(reply, wire.DataAppended):
            self._retries.progressed()
            self._acknowledge(reply.event_number)
            return
        if isinstance(reply, wire.InvalidEventNumber):
            # Blocks of the last connection arrived after the set-up of this one. Set up again.
            self._on_failure(PravegaConnectionError(f"append to {self._name}: blocks of a lost connection came late"))
            return
        error = wire.error_for(reply, self._name)
        self._on_failure(error or ProtocolError(f"append to {self._name}: unexpected answer {reply!r:.200}"))

    def _on_failure(self, error: PravegaError) -> None:
        if self._failure is None:
            self._failure = error
        self._wake.set()

    def _acknowledge(self, event_number: int) -> None:
        waiting, now = self._unacknowledged, asyncio.get_running_loop().time()
        while waiting and waiting[0].last_event <= event_number:
            sent = waiting.popleft()
            self._in_flight -= sent.block.size
            self._window.answered(sent.at, now, sent.block.size)
        self._expect_progress()
        self._changed.set()
