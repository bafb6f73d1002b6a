"""Requests at the tails of segments, which the segment stores hold back until there is something to read.

One is open for each segment that has been read to its tail. It brings no data: however many segments there are and
however fast they grow, the memory is that of the requests.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final

from aiopravega import wire
from aiopravega.control import Access
from aiopravega.errors import PravegaError, SegmentNotFoundError, SegmentSealedError, StreamTruncatedError
from aiopravega.names import SegmentId
from aiopravega.store import SegmentStore

# A segment store holds a read at the tail for two minutes, then answers without data.
_HELD_SECONDS: Final = 150.0
# The fewest bytes that a segment store takes for a length: the answer only says that there are some.
_FEWEST_BYTES: Final = 8


class News(Enum):
    """The answer to a request at the tail of a segment."""

    CHANGED = auto()  # there is data, or the segment was sealed, truncated or deleted
    NOTHING = auto()
    END = auto()


class TailWaits:
    """The open requests of one reader."""

    def __init__(self, store: SegmentStore) -> None:
        self._store = store
        self._open: dict[SegmentId, asyncio.Task[News | PravegaError]] = {}
        self._answered: deque[SegmentId] = deque()
        self._news = asyncio.Event()

    def __len__(self) -> int:
        """The segments that are waited for, or whose answers have not been taken."""
        return len(self._open)

    @property
    def have_answers(self) -> bool:
        """True if `answers` gives any."""
        return bool(self._answered)

    def wait(self, segment: SegmentId, offset: int) -> None:
        """Have the segment store say when a segment continues after an offset."""
        task = self._open[segment] = asyncio.create_task(self._ask(segment, offset))

        def answered(task: asyncio.Task[News | PravegaError]) -> None:
            if not task.cancelled():
                self._answered.append(segment)
                self._news.set()

        task.add_done_callback(answered)

    def answers(self) -> Iterator[tuple[SegmentId, News | PravegaError]]:
        """Take the answers that have come."""
        self._news.clear()
        while self._answered:
            segment = self._answered.popleft()
            yield segment, self._open.pop(segment).result()

    async def answered(self, limit: float | None) -> bool:
        """Wait until there are answers; returns False after so many seconds."""
        try:
            async with asyncio.timeout(limit):
                await self._news.wait()
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Drop all requests."""
        tasks = list(self._open.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, segment: SegmentId, offset: int) -> News | PravegaError:
        try:
            reply = await self._store.request(
                segment,
                Access.READ,
                lambda request_id, token: wire.ReadSegment(str(segment), offset, _FEWEST_BYTES, token, request_id),
                wire.SegmentRead,
                _HELD_SECONDS,
            )
        except (SegmentSealedError, SegmentNotFoundError, StreamTruncatedError):
            return News.CHANGED
        except PravegaError as error:
            return error
        if reply.data:
            return News.CHANGED
        return News.END if reply.end_of_segment else News.NOTHING
