"""Conditional writes: an event is written only if the segment ends at the offset that the writer expects.

So several clients share one state: the first write succeeds, and the other clients read it. As in Java's
`ConditionalOutputStreamImpl`, an event whose answer was lost is not written twice.
"""

import asyncio
import uuid

from aiopravega import wire
from aiopravega.control import Access
from aiopravega.errors import PravegaConnectionError, PravegaTimeoutError, ProtocolError
from aiopravega.names import SegmentId
from aiopravega.net import Connection
from aiopravega.retry import retrying
from aiopravega.store import SegmentStore


class ConditionalWriter:
    """A writer to one segment."""

    def __init__(self, store: SegmentStore, segment: SegmentId) -> None:
        self._store = store
        self._segment = segment
        self._id = uuid.uuid4()
        self._number = 0

    async def write(self, event: bytes, expected: int) -> bool:
        """Write an event if the segment ends at offset `expected`; returns False if it does not.

        A written event is durable.

        Raises:
            PravegaError: it could not be written within the retry timeout; it may be in the segment.
        """
        self._number += 1
        return await retrying(
            lambda: self._attempt(event, expected), self._store.retry_policy, f"write to {self._segment}"
        )

    async def _attempt(self, event: bytes, expected: int) -> bool:
        setup, connection = await self._store.request_once(
            self._segment,
            Access.WRITE,
            lambda request_id, token: wire.SetupAppend(request_id, self._id, str(self._segment), token),
            wire.AppendSetup,
        )
        if setup.last_event_number >= self._number:
            return True  # an attempt before, whose answer was lost
        try:
            reply = await self._ask(connection, event, expected)
        except PravegaConnectionError:
            self._store.forget(self._segment, Access.WRITE)
            raise
        if isinstance(reply, wire.DataAppended | wire.ConditionalCheckFailed):
            return isinstance(reply, wire.DataAppended)
        if isinstance(reply, wire.InvalidEventNumber):
            raise PravegaConnectionError(f"write to {self._segment}: an attempt over a lost connection came late")
        error = wire.error_for(reply, str(self._segment))
        raise error or ProtocolError(f"write to {self._segment}: unexpected answer {reply!r:.200}")

    async def _ask(self, connection: Connection, event: bytes, expected: int) -> wire.Reply:
        answer: asyncio.Future[wire.Reply] = asyncio.get_running_loop().create_future()

        def on_reply(reply: wire.Reply) -> None:
            if not answer.done():
                answer.set_result(reply)

        def on_closed(error: Exception) -> None:
            if not answer.done():
                answer.set_exception(error)

        request_id = connection.register_writer(self._id, on_reply, on_closed)
        command = wire.ConditionalAppend.of(self._id, self._number, expected, event, request_id)
        try:
            async with asyncio.timeout(self._store.request_timeout):
                await connection.send([wire.encode(command)])
                return await answer
        except PravegaConnectionError:  # may be a TimeoutError too
            raise
        except TimeoutError as error:
            raise PravegaTimeoutError(
                f"{connection.endpoint} did not answer a write to {self._segment} within "
                f"{self._store.request_timeout:g} s"
            ) from error
        finally:
            connection.unregister_writer(self._id)
            if answer.done() and not answer.cancelled():
                answer.exception()  # taken here, so that asyncio logs nothing
