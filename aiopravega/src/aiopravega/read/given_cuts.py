"""Checks of cuts before they are sent to the controller.

Pravega accepts any cut: with a position beyond the tail or inside an event, of a segment that the stream does not have,
or of a part of the key space only. This does harm later: Pravega truncates there, or stops the stream's watermarks.
"""

import asyncio

from aiopravega.control import Controller
from aiopravega.cuts import END_OF_SEGMENT, SegmentRange, StreamCut, StreamCutRange
from aiopravega.errors import InvalidRangeError, InvalidStreamCutError
from aiopravega.names import SegmentId, StreamName
from aiopravega.read.plan import Planner
from aiopravega.read.split import Splitter
from aiopravega.store import SegmentStore


class GivenCuts:
    """Checks that cuts lie in their streams."""

    def __init__(self, controller: Controller, store: SegmentStore, planner: Planner, splitter: Splitter) -> None:
        self._controller = controller
        self._store = store
        self._planner = planner
        self._splitter = splitter

    async def located(self, stream: StreamName, cut: StreamCut) -> StreamCut:
        """A cut of a stream between its head and its tail, with the real offsets of ends of segments.

        Raises:
            InvalidStreamCutError: it is of another stream, or does not fit the stream's segments.
            InvalidRangeError: it lies beyond the tail.
            StreamTruncatedError: it lies before the head.
            StreamNotFoundError: the stream does not exist.
        """
        if cut.stream != stream:
            raise InvalidStreamCutError(f"{cut} is not of stream {stream}: give a StreamCut of that stream")
        tail = await self._planner.tail(stream)
        if cut.positions.keys() != tail.positions.keys():
            # -1 is replaced by the real offset: with -1, the controller would take the segment for a future one.
            await self._controller.check_cut(stream, dict.fromkeys(cut.positions, 0))
        for segment, offset in cut.positions.items():
            if offset > tail.positions.get(segment, offset):
                raise InvalidRangeError(
                    f"{cut} lies beyond the tail of the stream: {segment} ends at offset {tail.positions[segment]}"
                )
        # A position before the head or beyond the end of a segment is refused here.
        await self._planner.ranges(StreamCutRange(cut, tail))
        offsets = await asyncio.gather(*(self._offset(*position) for position in cut.positions.items()))
        return StreamCut(stream, dict(zip(cut.positions, offsets, strict=True)))

    async def check_between_events(self, located: StreamCut) -> None:
        """Check that a cut from `located` has no position inside an event. A position that is not certain passes.

        Raises:
            InvalidStreamCutError: a position lies inside an event.
            PravegaError: the segments cannot be read.
        """
        await asyncio.gather(*(self._check_position(*position) for position in located.positions.items()))

    async def _check_position(self, segment: SegmentId, offset: int) -> None:
        info = await self._store.info(segment)
        if offset in (info.start_offset, info.write_offset):
            return
        everything = SegmentRange(segment, info.start_offset, info.write_offset)
        (known,) = await self._splitter.boundaries(everything, [offset])
        start = None if known is None else await self._splitter.follow(segment, known, offset)
        if start not in (None, offset):
            raise InvalidStreamCutError(
                f"offset {offset} of {segment} lies inside the event at offset {start}: use a StreamCut that lies "
                "between events, such as one that head, tail, split or next_cut gave"
            )

    async def _offset(self, segment: SegmentId, offset: int) -> int:
        return (await self._store.info(segment)).write_offset if offset == END_OF_SEGMENT else offset
