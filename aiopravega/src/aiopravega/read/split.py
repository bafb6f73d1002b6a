"""Splitting ranges of segments into pieces that end between events.

Pravega keeps no index of events, so event starts are found by reading: from a known start if one is near, by a window
of bytes otherwise (`aiopravega.read.boundaries`). Every offset found is surely the start of an event. Where none can be
told for sure, two pieces stay one.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from aiopravega import wire
from aiopravega.cuts import SegmentRange
from aiopravega.errors import MalformedEventError
from aiopravega.names import SegmentId
from aiopravega.read.boundaries import find_boundary, window_bytes
from aiopravega.read.events import read_pieces
from aiopravega.store import SegmentStore

_LOG: Final = logging.getLogger(__name__)
_WINDOW: Final = window_bytes()
# Windows that are read at the same time: they fill a connection, and hold their bytes in memory.
_AT_A_TIME: Final = 4


class Splitter:
    """Finds offsets between events in segments."""

    def __init__(self, store: SegmentStore) -> None:
        self._store = store
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    async def split(self, wanted: Mapping[SegmentRange, int]) -> list[SegmentRange]:
        """Split each range into so many pieces of about equal size, or fewer, and keep the order.

        Raises:
            PravegaError: the segments cannot be read.
        """
        pieces = await asyncio.gather(*(self._pieces(part, count) for part, count in wanted.items()))
        return [piece for group in pieces for piece in group]

    async def _pieces(self, part: SegmentRange, count: int) -> list[SegmentRange]:
        targets = [part.start + part.size * number // count for number in range(1, count)]
        found = await self.boundaries(part, targets)
        edges = sorted({part.start, *(at for at in found if at is not None), part.end})
        return [SegmentRange(part.segment, start, end) for start, end in pairwise(edges)]

    async def boundaries(self, part: SegmentRange, targets: Sequence[int]) -> list[int | None]:
        """For each of some offsets, in their order, the start of an event shortly before it, or None in doubt.

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
        found = await asyncio.gather(*(self._in_turn(part, group) for group in groups))
        return [at for group in found for at in group]

    async def _in_turn(self, part: SegmentRange, targets: Iterable[int]) -> list[int | None]:
        """Offsets that are so near to each other that following the events between them is the shortest way."""
        found: list[int | None] = []
        known: int | None = part.start
        async with self._turns:
            for target in targets:
                if known is None or target - known > _WINDOW:
                    known = await self._by_window(part, target)
                else:
                    known = await self.follow(part.segment, known, target)
                if known is None:
                    _LOG.warning(
                        "%s: no start of an event before offset %d can be told for sure, so it is not split there",
                        part.segment,
                        target,
                    )
                found.append(known)
        return found

    async def _by_window(self, part: SegmentRange, target: int) -> int | None:
        start = target - _WINDOW
        if start < part.start:  # after a doubt, where no known start is near
            return await self.follow(part.segment, part.start, target)
        pieces = [piece async for piece in read_pieces(self._store, SegmentRange(part.segment, start, target))]
        # In a thread, because it takes a tenth of a second and more where events are short.
        position = await asyncio.to_thread(find_boundary, b"".join(pieces))
        return None if position is None else start + position

    async def follow(self, segment: SegmentId, start: int, target: int) -> int | None:
        """The last start of an event up to `target`, from `start` on, which is one; None if it is none."""
        position, cut_off = start, b""
        async for piece in read_pieces(self._store, SegmentRange(segment, start, target)):
            data = cut_off + piece
            try:
                _, whole = wire.scan_frames(data, 0, len(data))
            except MalformedEventError:
                return None  # whoever reads the range comes to it too, and can say what is wrong
            cut_off = data[whole:]
            position += whole
        return position
