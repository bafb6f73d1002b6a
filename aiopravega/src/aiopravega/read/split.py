"""Splitting ranges of segments into parts that end between events.

Pravega keeps no index of events, so event starts are found by reading: from a known start if one is near, by a window
of bytes otherwise (`aiopravega.read.boundaries`). If a window gives no certain start, an earlier window is tried, and
the events are followed from there; long ones are not read. If that is too far, two parts stay one.
"""

import asyncio
import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from itertools import pairwise
from typing import Final

from aiopravega import wire
from aiopravega.cuts import SegmentRange
from aiopravega.errors import MalformedEventError
from aiopravega.names import SegmentId
from aiopravega.read.boundaries import find_boundary, window_bytes
from aiopravega.read.events import read_bytes, read_windows
from aiopravega.store import SegmentStore

_LOG: Final = logging.getLogger(__name__)
_WINDOW: Final = window_bytes()
# Windows that are read at the same time: they fill a connection, and hold their bytes in memory.
_AT_A_TIME: Final = 4
# If a window gives no certain start, windows that end so many windows earlier are tried.
_EARLIER: Final = (1, 3, 7)
# At most so many bytes are read to find event starts that windows did not give.
PATIENCE: Final = 256 * 1024 * 1024
# A longer event is stepped over: a request for the next header costs less than its bytes.
_LONG: Final = 2 * 1024 * 1024
# Bytes that are read to see whether short or long events follow.
_GLANCE: Final = 64 * 1024


class Walk:
    """A walk from event to event through one segment from `start`, where an event starts; it goes forward only.

    So it surely finds an offset between events. Short events are read as a whole, long events by their headers only, so
    that a walk through long events is quick.

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


class Splitter:
    """Finds offsets between events in segments.

    Args:
        store: access to the segments. If its configuration accepts no event over 8 MiB, windows are proof.
        patience: bytes that are read for all event starts of a range together, if windows give no certain starts.
    """

    def __init__(self, store: SegmentStore, patience: int = PATIENCE) -> None:
        self._store = store
        self._patience = patience
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    async def split(self, wanted: Mapping[SegmentRange, int]) -> list[SegmentRange]:
        """Split each range into so many parts of about equal size, or fewer, and keep the order.

        Raises:
            PravegaError: the segments cannot be read.
        """
        parts = await asyncio.gather(*(self._parts(each, count) for each, count in wanted.items()))
        return [part for group in parts for part in group]

    async def _parts(self, wanted: SegmentRange, count: int) -> list[SegmentRange]:
        targets = [wanted.start + wanted.size * number // count for number in range(1, count)]
        starts = await self.boundaries(wanted, targets)
        edges = sorted({wanted.start, *(at for at in starts if at is not None), wanted.end})
        return [SegmentRange(wanted.segment, start, end) for start, end in pairwise(edges)]

    async def boundaries(self, part: SegmentRange, targets: Sequence[int]) -> list[int | None]:
        """The start of an event shortly before each of some offsets, in their order; None if none is certain.

        Args:
            part: a range that starts and ends between events.
            targets: offsets in the range, from low to high.

        Raises:
            PravegaError: the segment cannot be read.
        """
        groups: list[list[int]] = []
        before = part.start
        for target in targets:
            if target - before > _WINDOW or not groups:
                groups.append([])
            groups[-1].append(target)
            before = target
        starts = await asyncio.gather(*(self._in_turn(part, group) for group in groups))
        return await self._with_followed(part, targets, [at for group in starts for at in group])

    async def _in_turn(self, part: SegmentRange, targets: Iterable[int]) -> list[int | None]:
        """The starts for offsets so near to each other that following the events between them is fastest."""
        found: list[int | None] = []
        known: int | None = part.start
        async with self._turns:
            for target in targets:
                if known is not None:
                    near = target - known <= _WINDOW
                    known = await (self.follow(part.segment, known, target) if near else self._in_window(part, target))
                found.append(known)
        return found

    async def _in_window(self, part: SegmentRange, target: int) -> int | None:
        """The start of an event that the window before `target` shows."""
        wanted = SegmentRange(part.segment, target - _WINDOW, target)
        window = b"".join([data async for data in read_windows(self._store, wanted)])
        # In a thread, because it takes a tenth of a second and more where events are short.
        longest = self._store.max_event_bytes
        position = await asyncio.to_thread(find_boundary, window, wire.MAX_EVENT, longest)
        return None if position is None else wanted.start + position

    async def _with_followed(
        self, part: SegmentRange, targets: Sequence[int], starts: Sequence[int | None]
    ) -> list[int | None]:
        """Find the starts that windows did not give, in turn, by following the events from an earlier start."""
        offsets: list[int | None] = []
        walk = Walk(self._store, part.segment, part.start, self._patience)
        for target, at in zip(targets, starts, strict=True):
            offset = at
            if offset is None:
                await self._approach(walk, part, target)
                offset = await walk.last_start(target)
            else:
                walk.advance(offset)
            if offset is None:
                _LOG.warning(
                    "%s: it is not certain where an event starts before offset %d, so the segment is not split there",
                    part.segment,
                    target,
                )
            offsets.append(offset)
        return offsets

    async def _approach(self, walk: Walk, part: SegmentRange, target: int) -> None:
        """Bring a walk near to a target, by windows before it."""
        for windows in _EARLIER:
            end = target - windows * _WINDOW
            if end - _WINDOW < walk.reached or walk.patience <= 0:
                return
            walk.patience -= _WINDOW
            if (start := await self._in_window(part, end)) is not None:
                walk.advance(start)
                return

    async def follow(self, segment: SegmentId, start: int, target: int) -> int | None:
        """The last start of an event up to `target`, followed from `start`; None if no event starts there."""
        return await Walk(self._store, segment, start).last_start(target)
