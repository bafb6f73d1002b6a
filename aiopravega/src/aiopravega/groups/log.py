"""The stream in which the members of a reader group keep its state: `_RG` and the group's name, of one segment.

A reader that has read many changes writes the whole state once more, and notes its offset as a mark on the segment;
events before it may be removed. So reading begins at the mark, or at the head if there is none. Source:
`StateSynchronizerImpl` and `RevisionedStreamClientImpl` in Pravega's client.
"""

import asyncio
import contextlib
import uuid
from typing import Final, Self

from aiopravega import wire
from aiopravega.control import Access, Controller
from aiopravega.control.reader_groups import no_group
from aiopravega.cuts import SegmentRange
from aiopravega.errors import (
    AlreadyExistsError,
    PravegaConnectionError,
    PravegaTimeoutError,
    ProtocolError,
    ReaderGroupStateError,
    SegmentNotFoundError,
    StreamNotFoundError,
    StreamTruncatedError,
)
from aiopravega.groups.changes import apply_event
from aiopravega.groups.state import GroupState
from aiopravega.names import SegmentId, group_stream
from aiopravega.net import Connection
from aiopravega.read.events import read_segment
from aiopravega.retry import retrying
from aiopravega.store import SegmentStore

# Readers shorten the state at most every few seconds; reading it takes some milliseconds.
_ATTEMPTS: Final = 10
# Bytes of states that are not needed any more, before they are removed; reading them takes one request.
_LONGEST: Final = 64 * 1024


class ConditionalWriter:
    """A writer to one segment: an event is written only if the segment ends at the offset that the writer expects.

    So several clients share one state: the first write succeeds, and the other clients read it. As in Java's
    `ConditionalOutputStreamImpl`, an event whose answer was lost is not written twice.
    """

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


class GroupLog:
    """The state of one group as of the last `refresh`, and a way to add to it.

    Attributes:
        state: None if no state was written: a subscriber that only reports to the controller has none.
        offset: the offset up to which the state's events were read.
    """

    def __init__(self, store: SegmentStore, group: str, segment: SegmentId) -> None:
        self.state: GroupState | None = None
        self.offset = 0
        self._store = store
        self._group = group
        self._segment = segment
        self._writer = ConditionalWriter(store, segment)

    @classmethod
    async def open(cls, controller: Controller, store: SegmentStore, scope: str, name: str) -> Self:
        """Open a group's log, and read its present state.

        Raises:
            ReaderGroupNotFoundError: there is no such group.
            ReaderGroupStateError: its state is not understood.
        """
        missing = no_group(scope, name)
        try:
            segments = await controller.head_segments(group_stream(scope, name))
        except StreamNotFoundError as error:
            raise missing from error
        if not segments:
            raise missing
        log = cls(store, f"{scope}/{name}", next(iter(segments)))
        try:
            await log.refresh()
        except SegmentNotFoundError as error:
            raise missing from error
        return log

    async def refresh(self) -> None:
        """Read the events since the last call.

        Raises:
            SegmentNotFoundError: the group was deleted.
            ReaderGroupStateError: its state is not understood.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await self._read()
            except StreamTruncatedError:
                self.state, self.offset = None, 0
                if attempt == _ATTEMPTS:
                    raise
            else:
                return

    async def _read(self) -> None:
        if self.state is None:
            info, mark = await asyncio.gather(self._store.info(self._segment), self._mark())
            start = info.start_offset if mark is None else mark
        else:
            info, start = await self._store.info(self._segment), self.offset
        if start > info.write_offset:  # written since
            info = await self._store.info(self._segment)
        wanted = SegmentRange(self._segment, start, info.write_offset)
        events = [event async for event in read_segment(self._store, wanted)]
        # A change that is not understood leaves half of a state.
        state, self.state = self.state, None
        for event in events:
            try:
                state = apply_event(state, event.data)
            except ReaderGroupStateError as error:
                raise ReaderGroupStateError(
                    f"the state of reader group {self._group} is not understood, at offset {event.offset} of "
                    f"{self._segment}: {error}"
                ) from error
        self.state, self.offset = state, info.write_offset

    async def _mark(self) -> int | None:
        return await self._store.attribute(self._segment, wire.REVISION_MARK)

    async def append_whole(self, event: bytes) -> bool:
        """Write an event with a whole state, as `append` does; from time to time, earlier events are removed."""
        before = self.offset
        if not await self._writer.write(event, before):
            await self.refresh()
            return False
        mark, info = await asyncio.gather(self._mark(), self._store.info(self._segment))
        if before - info.start_offset > _LONGEST:
            await self._move_mark(mark, before)
        await self.refresh()
        return True

    async def _move_mark(self, mark: int | None, offset: int) -> None:
        """Move the mark to an offset, and remove events before the earlier mark, as Java does."""
        name = str(self._segment)
        with contextlib.suppress(AlreadyExistsError, StreamTruncatedError):  # another client does it
            await self._store.set_attribute(self._segment, wire.REVISION_MARK, offset, mark)
            if mark is not None:
                await self._store.request(
                    self._segment,
                    Access.WRITE,
                    lambda request_id, token: wire.TruncateSegment(request_id, name, mark, token),
                    wire.SegmentTruncated,
                )

    async def append(self, event: bytes) -> bool:
        """Write an event if no other client has written since the state was read; returns False if one has.

        The state is read again in both cases.
        """
        done = await self._writer.write(event, self.offset)
        await self.refresh()
        return done
