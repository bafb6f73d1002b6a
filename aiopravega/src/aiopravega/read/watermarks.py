"""A stream's watermarks: marks that the controller writes into an internal stream, `_MARK` and the stream's name.

A mark has a lower and an upper time and a position for each of some segments that cover the key space. The times are
the least and the greatest that its active writers had noted, in whatever unit they use; the positions are the maximum
of theirs. So, if writers are honest, events *behind* a mark's positions have a time of at least its lower one. Nothing
else is promised: events before the positions may be newer than lower, and even than upper.

Marks come in the order of their times and positions; this module searches them by bisection. Layout and rules:
`Watermark` and `PeriodicWatermarking` in Pravega's controller, `RevisionedStreamClientImpl` in its client.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

from aiopravega import wire
from aiopravega.control import Controller
from aiopravega.cuts import END_OF_SEGMENT, StreamCut, StreamCutRange
from aiopravega.errors import ProtocolError, StreamNotFoundError
from aiopravega.names import INTERNAL_PREFIX, SegmentId, StreamName
from aiopravega.read.events import read_bytes
from aiopravega.store import SegmentStore

_MARKS: Final = f"{INTERNAL_PREFIX}MARK"
# Version 0, revision 0 of a record of Pravega's serializer: version, number of revisions, length of the first one.
_REVISION: Final = b"\x00\x00\x01\x00"
_RECORD: Final = struct.Struct(">4si")
_TIMES: Final = struct.Struct(">qq")
_ENTRY: Final = struct.Struct(">4siqddq")
# Of the segment with its key range; the offset stands behind the record.
_ENTRY_LENGTH: Final = 24
# A compact int has 1, 2 or 4 bytes, as its first two bits say; these are the bits of its value.
_COMPACT: Final[Mapping[int, tuple[int, int]]] = {0: (1, 0x7F), 1: (1, 0x7F), 2: (2, 0x3FFF), 3: (4, 0x3FFF_FFFF)}
# What one request brings: some hundred marks of a stream with few segments.
_WINDOW: Final = 16 * 1024
# So little is looked through instead of searched.
_FEW_BYTES: Final = 4 * _WINDOW


@dataclass(frozen=True, slots=True)
class Watermark:
    """One mark: events behind its positions have a time of at least `lower`, if the writers are honest.

    `lower` and `upper` are the least and the greatest time that the active writers had noted.
    """

    lower: int
    upper: int
    positions: Mapping[SegmentId, int]

    @classmethod
    def parse(cls, data: bytes | memoryview, stream: StreamName) -> Self:
        """Read an event of a mark stream.

        Raises:
            ProtocolError: it is no mark.
        """
        try:
            revision, length = _RECORD.unpack_from(data)
            lower, upper = _TIMES.unpack_from(data, _RECORD.size)
            count, at = _compact_int(data, _RECORD.size + _TIMES.size)
            if revision != _REVISION or len(data) != _RECORD.size + length or len(data) != at + count * _ENTRY.size:
                raise ValueError("its lengths do not fit")
            positions = {}
            for revision, length, segment, _, _, offset in _ENTRY.iter_unpack(memoryview(data)[at:]):
                if revision != _REVISION or length != _ENTRY_LENGTH:
                    raise ValueError("a position is none")
                positions[SegmentId.from_int(stream, segment)] = offset
        except (struct.error, ValueError, IndexError) as error:
            raise ProtocolError(
                f"{bytes(data[:32]).hex()}… of the marks of {stream} is no watermark: {error}"
            ) from error
        return cls(lower, upper, positions)

    def is_before(self, cut: StreamCut) -> bool:
        """Whether all that lies behind a cut surely lies behind this mark's positions."""
        newest = max((segment.epoch for segment in self.positions), default=0)
        for segment, offset in cut.positions.items():
            marked = self.positions.get(segment)
            if marked is None:
                # Made after all segments of the mark: a successor of one of them. Others are left in doubt.
                if segment.epoch <= newest:
                    return False
            elif END_OF_SEGMENT != offset < marked:
                return False
        return True

    def is_behind(self, cut: StreamCut) -> bool:
        """Whether all that lies before a cut surely lies before this mark's positions."""
        oldest = min((segment.epoch for segment in self.positions), default=0)
        for segment, offset in cut.positions.items():
            marked = self.positions.get(segment)
            if marked is None:
                if segment.epoch >= oldest:
                    return False
            elif offset == END_OF_SEGMENT or offset > marked:
                return False
        return True


@dataclass(frozen=True, slots=True)
class TimeBounds:
    """What the marks say of a range: see `time_bounds`. None: there is no such mark."""

    lower: int | None
    upper: int | None


async def time_bounds(controller: Controller, store: SegmentStore, wanted: StreamCutRange) -> TimeBounds:
    """The bounds that watermarks give for the times of the events of a range, in the writers' unit.

    No event of the range is older than `lower`, if writers are honest: it is of the last mark whose positions lie at
    or before the start. `upper` is of the first mark whose positions lie at or behind the end: the greatest time that
    any active writer had noted by then. A writer's event may be newer than what it had noted, so `upper` tells how far
    the writers were, and is no bound of the events.

    Raises:
        PravegaError: the marks cannot be read.
    """
    stream = wanted.start.stream
    marks = await MarkLog.open(controller, store, stream) if stream else None
    if marks is None:
        return TimeBounds(None, None)
    before, _ = await marks.search(lambda mark: mark.is_before(wanted.start))
    _, behind = await marks.search(lambda mark: not mark.is_behind(wanted.end))
    return TimeBounds(before.lower if before else None, behind.upper if behind else None)


class MarkLog:
    """The marks of a stream that there were when it was opened."""

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

    async def search(self, holds: Callable[[Watermark], bool]) -> tuple[Watermark | None, Watermark | None]:
        """The last mark for which a condition holds, and the first for which it does not.

        Args:
            holds: true for the marks up to some point, and false for all behind.
        """
        low, high = self._start, self._end  # of where the first mark starts for which it does not hold
        while high - low > _FEW_BYTES:
            middle = low + (high - low) // 2
            found = await self._next_mark(middle, min(middle + _FEW_BYTES, self._end))
            if found is None or found[0] >= high:
                break  # marks of many segments: look through them
            at, mark = found
            if holds(mark):
                low = at
            else:
                high = at
        return await self._look_through(low, holds)

    async def _look_through(
        self, start: int, holds: Callable[[Watermark], bool]
    ) -> tuple[Watermark | None, Watermark | None]:
        last = None
        rest = b""
        while start < self._end:
            end = min(start + _WINDOW, self._end)
            data = rest + b"".join(await read_bytes(self._store, self._segment, start, end))
            frames, whole = wire.scan_frames(data, 0, len(data))
            for first, following in zip(frames, [*frames[1:], whole], strict=False):
                mark = Watermark.parse(data[first + wire.EVENT_HEADER : following], self._stream)
                if not holds(mark):
                    return last, mark
                last = mark
            start, rest = end, data[whole:]
        return last, None

    async def _next_mark(self, start: int, limit: int) -> tuple[int, Watermark] | None:
        """The first mark that begins at or behind `start`, and where; None if none is whole before `limit`."""
        data, end = b"", start
        while end < limit:
            following = min(end + _WINDOW, limit)
            data += b"".join(await read_bytes(self._store, self._segment, end, following))
            end = following
            for at in _places(data):
                whole = at + wire.EVENT_HEADER + int.from_bytes(data[at : at + wire.EVENT_HEADER])
                try:
                    return start + at, Watermark.parse(data[at + wire.EVENT_HEADER : whole], self._stream)
                except ProtocolError:
                    continue  # an entry of a mark that looks like the beginning of one, or a mark that is cut off
        return None


def _places(data: bytes) -> Iterator[int]:
    """Where a mark can begin: a record whose length fits the event header in front of it."""
    record = data.find(_REVISION, wire.EVENT_HEADER)
    while record >= 0:
        if len(data) >= record + _RECORD.size:
            _, length = _RECORD.unpack_from(data, record)
            if wire.event_header(_RECORD.size + max(length, 0)) == data[record - wire.EVENT_HEADER : record]:
                yield record - wire.EVENT_HEADER
        record = data.find(_REVISION, record + 1)


def _compact_int(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """A number and where it ends. Source: `RevisionDataOutput.writeCompactInt`."""
    size, mask = _COMPACT[data[at] >> 6]
    return int.from_bytes(data[at : at + size]) & mask, at + size
