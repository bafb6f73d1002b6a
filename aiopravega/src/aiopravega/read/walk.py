"""A walk from event to event through a segment, from a known start: this surely finds an offset between events.

Short events are read as a whole, long events by their headers only, so that a walk through long events is quick.
"""

import sys
from contextlib import aclosing
from typing import Final

from aiopravega import wire
from aiopravega.cuts import SegmentRange
from aiopravega.errors import MalformedEventError
from aiopravega.names import SegmentId
from aiopravega.read.events import read_bytes, read_windows
from aiopravega.store import SegmentStore

# A longer event is stepped over: a request for the next header costs less than its bytes.
_LONG: Final = 2 * 1024 * 1024
# Bytes that are read to see whether short or long events follow.
_GLANCE: Final = 64 * 1024


class Walk:
    """A walk through one segment from `start`, where an event starts; it goes forward only.

    `patience` is how many bytes it may still read; None: any number. `reached` is the start of an event where it
    continues.
    """

    def __init__(self, store: SegmentStore, segment: SegmentId, start: int, patience: int | None = None) -> None:
        self.patience = sys.maxsize if patience is None else patience
        self.reached = start
        self._position = start  # the start of the event that ends at `reached`, or `reached` itself
        self._store = store
        self._segment = segment

    def advance(self, start: int) -> None:
        """Continue at a later start of an event that the caller knows."""
        if start > self.reached:
            self._position = self.reached = start

    async def last_start(self, target: int) -> int | None:
        """The last start of an event up to `target`; None if no event starts at `start`, or patience ended.

        Raises:
            PravegaError: the segment cannot be read.
        """
        if target < self.reached:
            return self._position if target >= self._position else None
        position, rest = self.reached, b""
        try:
            while self.patience > 0:
                if not rest:
                    position, rest = await self._glance(position, target)
                following = position + wire.frame_size(rest)
                if following > target or position + len(rest) >= target:
                    self._position, self.reached = position, following
                    return position
                if following - position > _LONG:
                    position, rest = following, b""
                elif following > position:
                    position, rest = await self._over_short_events(position, target)
                else:  # the bytes ended in a header
                    rest = b""
        except MalformedEventError:
            self.patience = 0  # a reader of the range meets this frame too, and raises the error
        return None

    async def _glance(self, start: int, target: int) -> tuple[int, bytes]:
        """The last start of an event in the next bytes, and the bytes from there on."""
        end = min(start + _GLANCE, target)
        data = b"".join(await read_bytes(self._store, self._segment, start, end))
        self.patience -= len(data)
        _, whole = wire.scan_frames(data, 0, len(data))
        return start + whole, data[whole:]

    async def _over_short_events(self, start: int, target: int) -> tuple[int, bytes]:
        """The start of the next long event, or of the last one up to `target`, and bytes from there on."""
        position, rest = start, b""
        async with aclosing(read_windows(self._store, SegmentRange(self._segment, start, target))) as windows:
            async for window in windows:
                data = rest + window
                self.patience -= len(window)
                _, whole = wire.scan_frames(data, 0, len(data))
                position, rest = position + whole, data[whole:]
                if wire.frame_size(rest) > _LONG or self.patience <= 0:
                    break
        return position, rest
