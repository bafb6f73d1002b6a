"""The segments that come next, where a scaling replaced the segments of a cut that moves on.

The successors of segments enter the cut together, as soon as all segments that they replace are read to their ends: so
a cut covers every routing key once, and no event comes before an older one of its key. This module reads no segment:
its caller says which are read.
"""

from collections.abc import Awaitable, Callable, Container, Sequence

from aiopravega.control import Successor
from aiopravega.names import SegmentId


class Succession:
    """Lets successors enter the positions of a cut.

    Args:
        positions: of the cut; successors enter them here, and what they replace leaves.
        successors: gives the successors of a segment; none as long as it has not been replaced.
        is_done: true for a segment of the cut that has been read to its end.
        kept: segments that stay in the cut, even if they have been replaced since.
    """

    def __init__(
        self,
        positions: dict[SegmentId, int],
        successors: Callable[[SegmentId], Awaitable[Sequence[Successor]]],
        is_done: Callable[[SegmentId], bool],
        kept: Container[SegmentId] = (),
    ) -> None:
        self._positions = positions
        self._ask = successors
        self._is_done = is_done
        self._kept = kept
        self._known: dict[SegmentId, Sequence[Successor]] = {}

    async def enter(self) -> list[SegmentId]:
        """Put successors of segments that have been read to their ends into the cut; returns those that entered."""
        entered: list[SegmentId] = []
        for segment in list(self._positions):
            if segment not in self._positions or segment in self._kept or not self._is_done(segment):
                continue
            before, after = await self._replacement(segment)
            if after and await self._are_over(before):
                for each in before:
                    self._positions.pop(each, None)
                    self._known.pop(each, None)
                self._positions.update(dict.fromkeys(after, 0))
                entered += sorted(after)
        return entered

    def is_unsettled(self) -> bool:
        """True if a segment has been read to its end, and has no successor as far as is known."""
        return any(self._is_done(segment) and not self._known.get(segment) for segment in self._positions)

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
        """True if the cut is at or after the ends of all these segments, and none of them is kept."""
        for segment in segments:
            if segment in self._positions:
                if segment in self._kept or not self._is_done(segment):
                    return False
            elif await self._is_ahead(segment):
                return False
        return True

    async def _is_ahead(self, segment: SegmentId) -> bool:
        """True if a segment that is not in the cut will enter it later.

        If not, it has been left already: a cut of Java's readers has no position for a segment that they have read,
        while its successors wait for another segment.
        """
        waiting = [position for position in self._positions if position not in self._kept]
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
        known = self._known.get(segment)
        if not known:  # successors never change, but a segment without any may get some later
            known = self._known[segment] = await self._ask(segment)
        return known
