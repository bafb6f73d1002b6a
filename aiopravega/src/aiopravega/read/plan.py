"""From a range of StreamCuts to the ranges of bytes that have to be read, segment by segment.

All checks of a range against the real stream are here, so that a reader starts only with ranges that exist. It
reads no events.
"""

import asyncio
import contextlib
from typing import Final

from aiopravega.control import Controller
from aiopravega.cuts import END_OF_SEGMENT, SegmentRange, StreamCut, StreamCutRange
from aiopravega.errors import (
    ConfigurationError,
    InvalidRangeError,
    InvalidStreamCutError,
    SegmentNotFoundError,
    StreamTruncatedError,
)
from aiopravega.names import SegmentId, StreamName
from aiopravega.read.absence import Reason, check_not_made_again, why_absent
from aiopravega.store import SegmentInfo, SegmentStore

# A deletion takes about a second, in which the controller still names a stream whose segments are gone.
_TAIL_ATTEMPTS: Final = 25
_TAIL_PAUSE: Final = 0.2


class Planner:
    """Answers where a stream begins and ends, and what lies between two of its cuts."""

    def __init__(self, controller: Controller, store: SegmentStore) -> None:
        self._controller = controller
        self._store = store

    async def head(self, stream: StreamName) -> StreamCut:
        """The first cut that can still be read.

        Raises:
            StreamNotFoundError: the stream does not exist.
        """
        return StreamCut(stream, await self._controller.head_segments(stream))

    async def tail(self, stream: StreamName) -> StreamCut:
        """The cut after the last event that is written now.

        Raises:
            StreamNotFoundError: the stream does not exist.
            SegmentNotFoundError: its segments are gone, while the controller still has the stream.
        """
        for _ in range(_TAIL_ATTEMPTS - 1):
            # Since the controller named it, a segment may have been truncated, or its stream is being deleted.
            with contextlib.suppress(SegmentNotFoundError):
                return await self._tail(stream)
            await asyncio.sleep(_TAIL_PAUSE)
        return await self._tail(stream)

    async def _tail(self, stream: StreamName) -> StreamCut:
        current = [entry.segment for entry in await self._controller.current_segments(stream)]
        if not current:  # a sealed stream has no current segments: its last segments are those without successors
            current = await self._last_segments(stream)
        infos = await asyncio.gather(*(self._store.info(segment) for segment in current))
        return StreamCut(stream, {s: info.write_offset for s, info in zip(current, infos, strict=True)})

    async def _last_segments(self, stream: StreamName) -> list[SegmentId]:
        found: set[SegmentId] = set()
        asked: set[SegmentId] = set()
        waiting = set(await self._controller.head_segments(stream))
        while waiting:
            segment = waiting.pop()
            asked.add(segment)
            following = {entry.segment for entry in await self._controller.successors(segment)}
            if not following:
                found.add(segment)
            waiting |= following - asked
        return sorted(found)

    async def resolve(self, wanted: StreamCutRange, stream: StreamName | None = None) -> StreamCutRange:
        """Replace unbounded ends by the head and the tail as they are now.

        Raises:
            ConfigurationError: both ends are unbounded and no stream is named.
            InvalidStreamCutError: the range belongs to another stream.
        """
        named = stream or wanted.stream
        if named is None:
            raise ConfigurationError("an unbounded range has no stream: name the stream")
        if wanted.stream not in (None, named):
            raise InvalidStreamCutError(f"the StreamCuts belong to {wanted.stream}, but {named} is to be read")
        start = await self.head(named) if wanted.start.is_unbounded else wanted.start
        end = await self.tail(named) if wanted.end.is_unbounded else wanted.end
        return StreamCutRange(start, end)

    async def plan(self, wanted: StreamCutRange, stream: StreamName | None = None) -> list[SegmentRange]:
        """The ranges of bytes between two cuts; empty ones are left out.

        A segment comes after all of its predecessors, so that every routing key's events come in the order of their
        writing.

        Raises:
            StreamTruncatedError: retention or a truncation removed a part of the range.
            StreamMadeAgainError: the stream was deleted and made again since.
            InvalidRangeError: the end lies before the start, or beyond the tail.
            InvalidStreamCutError: a cut does not fit the stream's segments.
        """
        return [part for part in await self.ranges(await self.resolve(wanted, stream)) if part.size > 0]

    async def ranges(self, resolved: StreamCutRange) -> list[SegmentRange]:
        """Like `plan`, but with a range for every segment: empty ones too.

        Raises:
            PravegaError: as `plan` does.
        """
        segments = set(await self._segments(resolved))
        segments.update(resolved.start.positions, resolved.end.positions)
        # The epoch of a segment is the epoch that made it, so predecessors sort first.
        ordered = sorted(segments, key=lambda segment: (segment.epoch, segment.number))
        return list(await asyncio.gather(*(self.segment_range(segment, resolved) for segment in ordered)))

    async def _segments(self, wanted: StreamCutRange) -> list[SegmentId]:
        stream = wanted.start.stream
        if stream is None or wanted.start.positions.keys() == wanted.end.positions.keys():
            return list(wanted.start.positions)
        try:
            return await self._controller.segments_between(stream, wanted.start.positions, wanted.end.positions)
        except InvalidStreamCutError:
            await check_not_made_again(self._controller, self._store, (wanted.start, wanted.end))
            raise

    async def segment_range(self, segment: SegmentId, wanted: StreamCutRange) -> SegmentRange:
        """The part of one segment that lies between two cuts, if the segment does; see `ranges`."""
        start = wanted.start.positions.get(segment, 0)
        end = wanted.end.positions.get(segment, END_OF_SEGMENT)
        if start == END_OF_SEGMENT:
            return SegmentRange(segment, 0, 0)  # the range begins after this segment
        try:
            info = await self._store.info(segment)
        except SegmentNotFoundError as error:
            if start == end:
                return SegmentRange(segment, start, start)
            raise await self._missing(segment, wanted) from error
        return _checked(segment, start, info.write_offset if end == END_OF_SEGMENT else end, info)

    async def _missing(self, segment: SegmentId, wanted: StreamCutRange) -> Exception:
        """The error for a range with a missing segment."""
        await check_not_made_again(self._controller, self._store, (wanted.start, wanted.end))
        absence = await why_absent(self._controller, self._store, segment)
        match absence.reason:
            case Reason.REMOVED:
                return StreamTruncatedError(
                    f"the range cannot be read: {absence.text}. Start from the head, or keep the data longer."
                )
            case Reason.MADE_AGAIN | Reason.NEVER_WAS:
                return InvalidStreamCutError(f"{absence.text}: {wanted.start} to {wanted.end}")


def _checked(segment: SegmentId, start: int, end: int, info: SegmentInfo) -> SegmentRange:
    if end > info.write_offset or start > info.write_offset:
        raise InvalidRangeError(
            f"{segment.stream} ends at offset {info.write_offset} in segment {segment.number}.#epoch.{segment.epoch}, "
            f"but the range goes from {start} to {end}: the StreamCut belongs to a deleted stream of this name, "
            "or was changed by hand"
        )
    if start > end:
        raise InvalidRangeError(f"the range ends before it starts: {segment} from {start} to {end}")
    if start < info.start_offset and start < end:
        raise StreamTruncatedError(
            f"{segment.stream} starts at offset {info.start_offset} in segment "
            f"{segment.number}.#epoch.{segment.epoch}, but the range asks for {start}: retention or a truncation "
            "removed it. Start from the head, or keep the data longer."
        )
    return SegmentRange(segment, start, end)
