"""The cut that is a given number of bytes after another cut: the end of a bounded step through a stream.

All segments of a cut advance by the same number of bytes, or to their ends, so that none falls behind. Which segments
come next after a scaling is in `aiopravega.read.succession`. Only segments that the step reaches are asked for, however
long the stream is.
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
from aiopravega.read.succession import Succession
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
        self._starts = starts
        self._positions = dict(wanted.start.positions)
        self._parts: dict[SegmentId, SegmentRange] = {}
        self._succession = Succession(self._positions, successors, self._is_done, self._end)

    async def advance(self, max_bytes: int) -> Mapping[SegmentId, int]:
        """The positions of the cut where the step ends."""
        left = max_bytes
        while True:
            await self._learn_new_segments()
            if await self._succession.enter():
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
        await self._succession.enter()
        return self._positions

    async def _learn_new_segments(self) -> None:
        new = [segment for segment in self._positions if segment not in self._parts]
        for part in await asyncio.gather(*(self._part_of(segment) for segment in new)):
            self._parts[part.segment] = part

    def _is_done(self, segment: SegmentId) -> bool:
        part = self._parts.get(segment)  # a segment that has just entered the cut is not known yet
        return part is not None and not 0 <= self._positions[segment] < part.end

    async def _move_to_event_starts(self) -> None:
        """Move positions inside a segment to starts of events."""
        parts = [self._parts[s] for s, position in self._positions.items() if self._moves_inside(s, position)]
        starts = await asyncio.gather(*(self._starts.event_start(p, self._positions[p.segment]) for p in parts))
        for part, start in zip(parts, starts, strict=True):
            self._positions[part.segment] = start

    def _moves_inside(self, segment: SegmentId, position: int) -> bool:
        part = self._parts.get(segment)
        return part is not None and part.start < position < part.end
