"""The cut that is a given number of bytes after another cut: the end of a bounded step through a stream.

All segments of a cut advance by the same number of bytes, or to their ends, so that none falls behind. Where a scaling
replaced segments, their successors enter the cut together, as soon as all segments that they replace are read to their
ends: so a cut covers every routing key once, and no event comes before an older one of its key. Only segments that the
step reaches are asked for, however long the stream is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from aiopravega import wire
from aiopravega.control import Controller, Successor
from aiopravega.cuts import SegmentRange, StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.names import SegmentId
from aiopravega.read.events import read_bytes
from aiopravega.read.plan import Planner
from aiopravega.read.split import Splitter
from aiopravega.store import SegmentStore


class Advancer:
    """Finds cuts a given number of bytes after others in a cluster's streams."""

    def __init__(self, controller: Controller, store: SegmentStore, planner: Planner, splitter: Splitter) -> None:
        self._controller = controller
        self._store = store
        self._planner = planner
        self._splitter = splitter

    async def next_cut(self, start: StreamCut, max_bytes: int, end: StreamCut | None = None) -> StreamCut:
        """A cut between events with about `max_bytes` between it and `start`, headers included, but not beyond `end`.

        It is `start` itself only if that is the end. At most `max_bytes` lie between them, unless the first event of a
        segment is longer than the segment's share: then that event lies between them.

        Args:
            start: a cut between events.
            max_bytes: at least 1.
            end: None is the tail as it is now.

        Raises:
            ConfigurationError: an argument is not valid.
            StreamNotFoundError: the stream does not exist.
            StreamTruncatedError: retention or a truncation removed what follows `start`.
            InvalidRangeError: `end` lies before `start`, or beyond the tail.
            InvalidStreamCutError: a cut does not fit the stream's segments.
            MalformedEventError: `start` lies inside an event.
        """
        if start.stream is None or (end is not None and end.stream is None) or max_bytes < 1:
            raise ConfigurationError(
                f"no cut is {max_bytes} bytes after {start}: give a bounded cut and at least 1 byte"
            )
        wanted = StreamCutRange(start, end or await self._planner.tail(start.stream))
        if end is not None and start.positions.keys() != end.positions.keys():
            # The cuts alone do not show which is later; the controller refuses them in the wrong order.
            await self._controller.segments_between(start.stream, start.positions, end.positions)
        step = Advance(
            wanted, lambda segment: self._planner.segment_range(segment, wanted), self._controller.successors, self
        )
        return StreamCut(start.stream, await step.advance(max_bytes))

    async def event_start(self, part: SegmentRange, target: int) -> int:
        """An event's start up to `target` and after the start of `part`; if none is sure, the end of its first event.

        Raises:
            MalformedEventError: no event begins where `part` does.
        """
        (start,) = await self._splitter.boundaries(part, [target])
        if start is None:  # the bytes before `target` do not show it; the events from a known start do
            start = await self._splitter.follow(part.segment, part.start, target)
        if start is not None and start > part.start:
            return start
        header = b"".join(await read_bytes(self._store, part.segment, part.start, part.start + wire.EVENT_HEADER))
        try:
            wire.scan_frames(header, 0, len(header))
        except MalformedEventError as error:
            raise MalformedEventError(
                f"{part.segment}: no event starts at offset {part.start}: the StreamCut lies inside an event. Use "
                "StreamCuts that lie between events",
                at=part.start,
            ) from error
        return part.start + len(header) + int.from_bytes(header)


class EventStarts(Protocol):
    """Finds where events start."""

    async def event_start(self, part: SegmentRange, target: int) -> int:
        """The start of an event up to `target`, or the end of the first event of `part` if no other start is known."""


class Advance:
    """One step from the start of a range towards its end.

    Args:
        wanted: the range.
        part_of: gives the bytes of a segment that lie in the range.
        successors: gives the successors of a segment.
        starts: finds where events start.
    """

    def __init__(
        self,
        wanted: StreamCutRange,
        part_of: Callable[[SegmentId], Awaitable[SegmentRange]],
        successors: Callable[[SegmentId], Awaitable[Sequence[Successor]]],
        starts: EventStarts,
    ) -> None:
        self._end = wanted.end.positions
        self._part_of = part_of
        self._ask_successors = successors
        self._starts = starts
        self._positions = dict(wanted.start.positions)
        self._parts: dict[SegmentId, SegmentRange] = {}
        self._successors: dict[SegmentId, Sequence[Successor]] = {}

    async def advance(self, max_bytes: int) -> Mapping[SegmentId, int]:
        """The positions of the cut where the step ends."""
        left = max_bytes
        while True:
            await self._learn_new_segments()
            if await self._enter_successors():
                continue
            moving = [segment for segment in self._positions if not self._is_done(segment)]
            if not moving or left <= 0:
                break
            shortest = min(self._parts[segment].end - self._positions[segment] for segment in moving)
            # At least a byte: each segment that has moved then moves on to an event's start, so by at least one event.
            distance = max(min(shortest, left // len(moving)), 1)
            for segment in moving:
                self._positions[segment] += distance
            left -= distance * len(moving)
        await self._move_to_event_starts()
        await self._enter_successors()
        return self._positions

    async def _learn_new_segments(self) -> None:
        new = [segment for segment in self._positions if segment not in self._parts]
        for part in await asyncio.gather(*(self._part_of(segment) for segment in new)):
            self._parts[part.segment] = part

    def _is_done(self, segment: SegmentId) -> bool:
        part = self._parts.get(segment)  # a segment that has just entered the cut is not known yet
        return part is not None and not 0 <= self._positions[segment] < part.end

    async def _enter_successors(self) -> bool:
        """Put successors of segments that have been read to their ends into the cut; returns whether there were any."""
        entered = False
        for segment in list(self._positions):
            # Segments of the range's end stay in the cut, even if they have been replaced since.
            if segment not in self._positions or segment in self._end or not self._is_done(segment):
                continue
            before, after = await self._replacement(segment)
            if after and await self._are_over(before):
                for each in before & self._positions.keys():
                    del self._positions[each]
                self._positions.update(dict.fromkeys(after, 0))
                entered = True
        return entered

    async def _replacement(self, segment: SegmentId) -> tuple[set[SegmentId], set[SegmentId]]:
        """The segments that were replaced together with a segment, and their successors that are not in the cut yet.

        A scaling of {0, 1} to {2, 3, 4} may have made 3 of parts of both. If 2 entered when 0 ends, the cut would have
        no position for the part of 0 that continues in 3, or two positions for the part that continues in 2.
        """
        before: set[SegmentId] = set()
        after: set[SegmentId] = set()
        waiting = {segment}
        while waiting:
            each = waiting.pop()
            before.add(each)
            for successor in await self._successors_of(each):
                waiting.update(set(successor.predecessors) - before)
                if not self._positions.keys().isdisjoint(successor.predecessors):
                    after.add(successor.segment)
        return before, after - self._positions.keys()

    async def _are_over(self, segments: set[SegmentId]) -> bool:
        """True if the cut is at or after the ends of all these segments, and the range does not end in any of them."""
        for segment in segments:
            if segment in self._positions:
                if segment in self._end or not self._is_done(segment):
                    return False
            elif await self._is_ahead(segment):
                return False
        return True

    async def _is_ahead(self, segment: SegmentId) -> bool:
        """True if a segment that is not in the cut will enter it later.

        If not, it has been left already: a cut of Java's readers has no position for a segment that they have read,
        while its successors wait for another segment.
        """
        waiting = [position for position in self._positions if position not in self._end]
        seen = set(waiting)
        while waiting:
            for successor in await self._successors_of(waiting.pop()):
                if successor.segment == segment:
                    return True
                if successor.segment not in seen and successor.segment.epoch < segment.epoch:
                    seen.add(successor.segment)
                    waiting.append(successor.segment)
        return False

    async def _successors_of(self, segment: SegmentId) -> Sequence[Successor]:
        if segment not in self._successors:
            self._successors[segment] = await self._ask_successors(segment)
        return self._successors[segment]

    async def _move_to_event_starts(self) -> None:
        """Move positions inside a segment to starts of events."""
        parts = [self._parts[s] for s, position in self._positions.items() if self._moves_inside(s, position)]
        starts = await asyncio.gather(*(self._starts.event_start(p, self._positions[p.segment]) for p in parts))
        for part, start in zip(parts, starts, strict=True):
            self._positions[part.segment] = start

    def _moves_inside(self, segment: SegmentId, position: int) -> bool:
        part = self._parts.get(segment)
        return part is not None and part.start < position < part.end
