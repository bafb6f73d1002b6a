"""The log of a stream's marks: it finds one among very many.

Marks come in the order of their times and positions, but have no fixed length. So they are searched by offsets: a few
bytes from any offset hold the beginning of a mark, which its lengths show. Each round reads at several offsets at once,
so that a million marks take four rounds. Framing: `RevisionedStreamClientImpl` in Pravega's client.
"""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import pairwise
from typing import Final, Self

from aiopravega import wire
from aiopravega.control import Controller
from aiopravega.errors import ProtocolError, SegmentNotFoundError, StreamNotFoundError
from aiopravega.event_time.marks import RECORD, REVISION, Watermark
from aiopravega.names import INTERNAL_PREFIX, SegmentId, StreamName
from aiopravega.read.events import read_bytes
from aiopravega.store import SegmentStore

_MARKS: Final = f"{INTERNAL_PREFIX}MARK"
# Bytes that are read first at an offset: tens of marks of a stream with few segments.
_GLANCE: Final = 4 * 1024
# So few bytes are read one after another instead of searched; and an offset is given up if no mark begins in so many.
_FEW_BYTES: Final = 64 * 1024
# Offsets that are searched together. More save rounds, but each costs a request.
_OFFSETS: Final = 7
# Bytes that are requested at a time when many marks are read.
_WINDOW: Final = 1024 * 1024


class MarkLog:
    """The marks that a stream had when the log was opened, or last refreshed."""

    def __init__(self, store: SegmentStore, stream: StreamName, segment: SegmentId, start: int, end: int) -> None:
        self._store = store
        self._stream = stream
        self._segment = segment
        self._start, self._end = start, end

    @classmethod
    async def open(cls, controller: Controller, store: SegmentStore, stream: StreamName) -> Self | None:
        """The marks of a stream; None if it has no stream of marks."""
        try:
            segments = await controller.head_segments(StreamName(stream.scope, f"{_MARKS}{stream.stream}"))
        except StreamNotFoundError:
            return None
        for segment in segments:  # there is only one
            info = await store.info(segment)
            return cls(store, stream, segment, info.start_offset, info.write_offset)
        return None

    async def refresh(self) -> bool:
        """Take in the marks that have been made since; returns False if they are gone, with the stream.

        Raises:
            PravegaError: they cannot be read.
        """
        try:
            info = await self._store.info(self._segment)
        except SegmentNotFoundError:
            return False
        self._start, self._end = max(self._start, info.start_offset), info.write_offset
        return True

    async def read(self, holds: Callable[[Watermark], bool] = lambda _: False) -> AsyncIterator[Watermark]:
        """All marks, each once, starting with the first for which a condition does not hold (see `search`).

        After that the log holds only what a later `refresh` finds.
        """
        start, _, _ = await self._find(holds)
        async for _, data, frames in self._windows(start):
            for frame in frames:
                yield self._parse(data, frame)
        self._start = self._end

    async def search(self, holds: Callable[[Watermark], bool]) -> tuple[Watermark | None, Watermark | None]:
        """The last mark for which a condition holds, and the first for which it does not.

        Args:
            holds: true for the marks up to some point, and false for all after.
        """
        _, last, following = await self._find(holds)
        return last, following

    async def _find(self, holds: Callable[[Watermark], bool]) -> tuple[int, Watermark | None, Watermark | None]:
        """The offset of the first mark for which `holds` is false (or the end), the mark before it, and the mark."""
        low, high = self._start, self._end  # bounds of the offset
        while high - low > _FEW_BYTES:
            step = (high - low) // (_OFFSETS + 1)
            offsets = [low + step * number for number in range(1, _OFFSETS + 1)]
            marks = await asyncio.gather(*(self._next_mark(offset, high) for offset in offsets))
            before = low, high
            for at, mark in (start for start in marks if start is not None):
                if not holds(mark):
                    high = at
                    break
                low = at
            if (low, high) == before:
                break  # marks of many segments: read them one after another
        last = None
        async for begins, data, frames in self._windows(low):
            count = bisect_left(frames, True, key=lambda frame: not holds(self._parse(data, frame)))
            last = self._parse(data, frames[count - 1]) if count else last
            if count < len(frames):
                return begins + frames[count][0], last, self._parse(data, frames[count])
        return self._end, last, None

    async def _windows(self, start: int) -> AsyncIterator[tuple[int, bytes, list[tuple[int, int]]]]:
        """The windows from `start` on: for each its offset, its bytes, and its frames (begin, end)."""
        rest, window = b"", 2 * _FEW_BYTES  # the bytes to search, and a mark
        while start < self._end:
            end = min(start + window, self._end)
            data = rest + b"".join(await read_bytes(self._store, self._segment, start, end))
            frames, whole = wire.scan_frames(data, 0, len(data))
            yield start - len(rest), data, list(pairwise([*frames, whole]))
            start, rest, window = end, data[whole:], _WINDOW

    def _parse(self, data: bytes, frame: tuple[int, int]) -> Watermark:
        begins, ends = frame
        return Watermark.parse(data[begins + wire.EVENT_HEADER : ends], self._stream)

    async def _next_mark(self, start: int, limit: int) -> tuple[int, Watermark] | None:
        """The first mark that begins at or after `start`, and its offset; None if no mark ends before `limit`."""
        data, end, limit = b"", start, min(start + _FEW_BYTES, limit)
        following = start + _GLANCE
        while end < limit:
            following = min(following, limit)
            data += b"".join(await read_bytes(self._store, self._segment, end, following))
            end, following = following, start + _FEW_BYTES
            for at in _candidates(data):
                whole = at + wire.EVENT_HEADER + int.from_bytes(data[at : at + wire.EVENT_HEADER])
                try:
                    return start + at, Watermark.parse(data[at + wire.EVENT_HEADER : whole], self._stream)
                except ProtocolError:
                    continue  # an entry of a mark that looks like the beginning of one, or a mark that is cut off
        return None


def _candidates(data: bytes) -> Iterator[int]:
    """Offsets where a mark can begin: a record whose length fits the event header in front of it."""
    record = data.find(REVISION, wire.EVENT_HEADER)
    while record >= 0:
        if len(data) >= record + RECORD.size:
            _, length = RECORD.unpack_from(data, record)
            if wire.event_header(RECORD.size + max(length, 0)) == data[record - wire.EVENT_HEADER : record]:
                yield record - wire.EVENT_HEADER
        record = data.find(REVISION, record + 1)
