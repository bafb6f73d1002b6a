"""From a range of StreamCuts to the ranges of bytes that have to be read, segment by segment.

All checks of a range against the real stream are here, so that a reader starts only with ranges that exist. It
reads no events. A segment of a cut or of a pointer may not be in its stream: `why_absent` finds the reason.
"""

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from aiopravega.control import Controller
from aiopravega.cuts import END_OF_SEGMENT, SegmentRange, StreamCut, StreamCutRange
from aiopravega.errors import (
    ConfigurationError,
    InvalidRangeError,
    InvalidStreamCutError,
    SecurityError,
    SegmentNotFoundError,
    StreamMadeAgainError,
    StreamTruncatedError,
)
from aiopravega.names import SegmentId, StreamName
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


class Reason(Enum):
    """Why a segment is missing."""

    MADE_AGAIN = auto()  # it belongs to a deleted stream of the same name
    REMOVED = auto()
    NEVER_WAS = auto()


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a segment is missing, as a reason and as the first part of a message."""

    reason: Reason
    text: str


async def why_absent(controller: Controller, store: SegmentStore, segment: SegmentId) -> Absence:
    """Why a segment is not in its stream.

    Raises:
        StreamNotFoundError: the stream was deleted.
    """
    stream = segment.stream
    first = await _first_segment(controller, stream)
    if first is not None and segment.number < first.number:
        made = await _made_again(store, first)
        return Absence(Reason.MADE_AGAIN, f"{made}; segment {segment} belongs to the deleted one")
    head = await controller.head_segments(stream)
    if any(segment.epoch < each.epoch or segment.number < each.number for each in head):
        doubt = "" if first is not None else ", or it belongs to a deleted stream of this name"
        return Absence(
            Reason.REMOVED,
            f"{stream} starts at {StreamCut(stream, head)}: retention or a truncation removed segment {segment}{doubt}",
        )
    return Absence(Reason.NEVER_WAS, f"{stream} has no segment {segment}")


async def check_not_made_again(controller: Controller, store: SegmentStore, cuts: Iterable[StreamCut]) -> None:
    """Check that no cut belongs to a deleted stream of the same name; without the right to ask, nothing is checked.

    Raises:
        StreamMadeAgainError: a cut does.
        StreamNotFoundError: the stream was deleted.
    """
    for cut in cuts:
        if cut.stream is None:
            continue
        first = await _first_segment(controller, cut.stream)
        if first is not None and any(segment.number < first.number for segment in cut.positions):
            fact = await _made_again(store, first)
            raise StreamMadeAgainError(
                f"{fact}; the StreamCut {cut} belongs to the deleted one. Take cuts of the stream as it is now", fact
            )


async def _made_again(store: SegmentStore, first: SegmentId) -> str:
    """A text: the stream was made again, and when (the time comes from its first segment)."""
    try:
        made = await store.made_at(first)
    except SegmentNotFoundError:  # the new stream has been truncated since
        made = None
    when = "" if made is None else f" on {made.isoformat(timespec='seconds')}"
    return f"stream {first.stream} was deleted and made again{when}"


async def _first_segment(controller: Controller, stream: StreamName) -> SegmentId | None:
    """The stream's first segment. None: this account has no permission to ask."""
    try:
        return await controller.first_segment(stream)
    except SecurityError:
        return None
