"""One event that is too long for an append: written into its own segment, which is merged into the stream's.

As the Java client does it, readers see all of the event or nothing. Here the merge also leaves a mark on the stream's
segment, and is done only if the mark is not there yet: so the event gets in once, whatever answers are lost.
"""

import asyncio
import contextlib
import uuid
from typing import Final

from aiopravega import wire
from aiopravega.control import Access
from aiopravega.errors import (
    AlreadyExistsError,
    PravegaConnectionError,
    PravegaError,
    SegmentNotFoundError,
    SegmentSealedError,
    StreamTruncatedError,
)
from aiopravega.names import SegmentId
from aiopravega.retry import Retries
from aiopravega.store import SegmentStore
from aiopravega.write.appender import SegmentAppender
from aiopravega.write.batch import BLOCK_BYTES, FramedBlock

_IN_FLIGHT: Final = 8 * BLOCK_BYTES
# The value of the mark: the field normally holds the number of a writer's last event.
_MERGED: Final = 1


class LargeEvent:
    """An event on its way into a stream."""

    def __init__(self, store: SegmentStore, data: bytes | bytearray | memoryview) -> None:
        self._store = store
        self._data = memoryview(data)
        self._mark = uuid.uuid4()
        self._may_be_in = False  # a merge was requested

    async def write_to(self, segment: SegmentId) -> None:
        """Write it to a segment, unless an attempt before has done so; it is durable then.

        Raises:
            SegmentSealedError: the segment takes no events, and this one is not in it.
            SegmentNotFoundError: the segment does not exist.
            StreamTruncatedError: the segment was removed during the merge: it is not known whether the event was in it.
            PravegaError: why it could not be written within the retry timeout; it may be in the segment.
        """
        retries = Retries(self._store.retry_policy, f"write an event of {len(self._data):,} bytes to {segment}")
        while True:
            try:
                await self._attempt(segment)
            except SegmentSealedError:
                if not self._may_be_in or not await self._is_in(segment):
                    raise
            except SegmentNotFoundError as error:
                if not await self._is_in(segment):
                    lost = PravegaConnectionError(f"the part of the event that was written is gone: {error}")
                    await asyncio.sleep(retries.pause_after(lost))
                    continue
            except PravegaError as error:
                await asyncio.sleep(retries.pause_after(error))
                continue
            return

    async def _attempt(self, segment: SegmentId) -> None:
        if (await self._store.info(segment)).sealed:  # checked before all of the event is sent
            raise SegmentSealedError(f"{segment} is sealed")
        created, _ = await self._store.request_once(
            segment,
            Access.WRITE,
            lambda request_id, token: wire.CreateTransientSegment(request_id, uuid.uuid4(), str(segment), token),
            wire.SegmentCreated,
        )
        await self._fill(segment, created.segment)
        self._may_be_in = True
        updates = (wire.AttributeUpdate(self._mark, _MERGED),)
        with contextlib.suppress(AlreadyExistsError):  # an earlier attempt succeeded, but its answer was lost
            await self._store.request_once(
                segment,
                Access.WRITE,
                lambda request_id, token: wire.MergeSegments(request_id, str(segment), created.segment, token, updates),
                wire.SegmentsMerged,
            )

    async def _fill(self, segment: SegmentId, transient: str) -> None:
        """Write the event's frame into its own segment, durably."""
        appender = SegmentAppender(self._store, segment, transient, _IN_FLIGHT)
        try:
            appender.enqueue(FramedBlock(wire.event_header(len(self._data)), 1))
            for start in range(0, len(self._data), BLOCK_BYTES):
                appender.enqueue(FramedBlock(self._data[start : start + BLOCK_BYTES], 1))
                await appender.room()
            await appender.drained()
        finally:
            await appender.close()

    async def _is_in(self, segment: SegmentId) -> bool:
        """True if the segment has the mark; a set-up of a writer with its name shows it, even in a sealed segment."""
        try:
            setup = await self._store.request(
                segment,
                Access.WRITE,
                lambda request_id, token: wire.SetupAppend(request_id, self._mark, str(segment), token),
                wire.AppendSetup,
            )
        except SegmentNotFoundError as error:
            if not self._may_be_in:
                raise
            raise StreamTruncatedError(
                f"{segment} was removed while an event of {len(self._data):,} bytes was merged into it: it is not "
                "known whether the stream has the event. Read the stream before you write the event again"
            ) from error
        return setup.last_event_number == _MERGED
