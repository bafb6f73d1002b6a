"""The order of StreamCuts of one stream, where scalings replaced segments between them.

A cut stands for all bytes before it: the bytes of a segment up to its position, and every segment that its segments
replaced, as a whole. So cuts form a lattice: any two have a last cut before both (`earliest`) and a first one after
both (`latest`), even if neither is before the other, as where one reader is ahead in one segment and another in the
next. This module asks no server: its caller gives the predecessors of segments.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Final, Self

from aiopravega.cuts import END_OF_SEGMENT, StreamCut
from aiopravega.errors import InvalidStreamCutError, StreamTruncatedError
from aiopravega.names import SegmentId, StreamName

# More than any position: a segment that lies before a cut as a whole, whatever its length.
_WHOLE: Final = 2**63

Passed = Mapping[SegmentId, int]


class Order(Enum):
    """The order of two cuts: the bytes before one are a part of the bytes before the other, or the reverse, or both."""

    BEFORE = "before"
    SAME = "same"
    AFTER = "after"
    INCOMPARABLE = "incomparable"

    @classmethod
    def of(cls, not_behind: bool, not_before: bool) -> Self:
        """The order by the two halves of the answer."""
        if not_behind:
            return cls.SAME if not_before else cls.BEFORE
        return cls.AFTER if not_before else cls.INCOMPARABLE


class History:
    """The segments of some cuts and all later ones, up to the newest segment of a cut.

    Args:
        stream: their stream.
        predecessors: for every segment between the cuts, the segments that it replaced; other segments that are named
            there lie before all the cuts.
        lengths: of segments that take no more events. A missing length is not known: retention removed the segment.
    """

    def __init__(
        self,
        stream: StreamName,
        predecessors: Mapping[SegmentId, Iterable[SegmentId]],
        lengths: Mapping[SegmentId, int],
    ) -> None:
        self._stream = stream
        self._before = {
            segment: {each for each in replaced if each in predecessors} for segment, replaced in predecessors.items()
        }
        self._after: dict[SegmentId, set[SegmentId]] = {segment: set() for segment in predecessors}
        for segment, replaced in self._before.items():
            for each in replaced:
                self._after[each].add(segment)
        self._lengths = lengths
        # Predecessors first: the epoch of a segment is the epoch that made it.
        self._ordered = sorted(predecessors, key=lambda segment: segment.epoch)
        self._empty = [segment for segment in self._ordered if lengths.get(segment) == 0]
        self._replaced = [segment for segment in self._ordered if self._after[segment]]

    def passed(self, cut: StreamCut) -> dict[SegmentId, int]:
        """The number of bytes of every segment before a cut; a number beyond any position is the whole segment.

        Raises:
            InvalidStreamCutError: the cut is inside a segment, and in one that replaced it as well.
        """
        passed = dict.fromkeys(self._before, 0)
        for segment, offset in cut.positions.items():
            is_end = offset in (END_OF_SEGMENT, self._lengths.get(segment))
            passed[segment] = _WHOLE if is_end else offset
        waiting = [segment for segment in cut.positions if segment in self._before]
        while waiting:
            segment = waiting.pop()
            for each in self._before[segment]:
                if each in cut.positions and passed[each] != _WHOLE:
                    raise InvalidStreamCutError(
                        f"{cut} is inside {each}, and has a position in {segment} too, which begins where {each} ends: "
                        "such a StreamCut is not valid"
                    )
                if passed[each] != _WHOLE:
                    passed[each] = _WHOLE
                    waiting.append(each)
                elif each in cut.positions:
                    waiting.append(each)
        for segment in self._empty:
            if all(passed[each] == _WHOLE for each in self._before[segment]):
                passed[segment] = _WHOLE  # a position in a successor means that the whole segment lies before the cut
        return passed

    def compare(self, one: StreamCut, other: StreamCut) -> Order:
        """The order of `one` and `other`."""
        mine, others = self.passed(one), self.passed(other)
        return Order.of(
            all(mine[segment] <= others[segment] for segment in mine),
            all(mine[segment] >= others[segment] for segment in mine),
        )

    def earliest(self, cuts: Iterable[StreamCut]) -> StreamCut:
        """The last cut that is before all of these."""
        return self._merged(min, cuts)

    def latest(self, cuts: Iterable[StreamCut]) -> StreamCut:
        """The first cut that is after all of these."""
        return self._merged(max, cuts)

    def lowered(self, cut: StreamCut, limits: Passed) -> StreamCut:
        """The last cut before this one that has no byte of a segment at its limit or after it.

        Args:
            cut: one of the cuts that this knows, or one between them.
            limits: an offset for each of some segments.
        """
        passed = self.passed(cut)
        for segment in self._ordered:
            if any(passed[each] != _WHOLE for each in self._before[segment]):
                passed[segment] = 0
            elif segment in limits:
                passed[segment] = min(passed[segment], limits[segment])
        return self._cut(passed)

    def size(self, start: StreamCut, end: StreamCut) -> int:
        """Bytes that lie before `end` and not before `start`.

        Raises:
            StreamTruncatedError: the length of a segment between them is not known any more.
        """
        before, after = self.passed(start), self.passed(end)
        return sum(
            self._offset(segment, after[segment]) - self._offset(segment, before[segment])
            for segment in before
            if before[segment] < after[segment]
        )

    def _offset(self, segment: SegmentId, passed: int) -> int:
        if passed != _WHOLE:
            return passed
        if segment not in self._lengths:
            raise StreamTruncatedError(
                f"the length of {segment} is not known any more: retention or a truncation removed it. Clip the range "
                "to what is left of the stream"
            )
        return self._lengths[segment]

    def _merged(self, choose: Callable[[Iterable[int]], int], cuts: Iterable[StreamCut]) -> StreamCut:
        given = [(cut, self.passed(cut)) for cut in cuts]
        merged = {segment: choose(passed[segment] for _, passed in given) for segment in self._before}
        # If a given cut has this position already, it is returned itself.
        return next((cut for cut, passed in given if passed == merged), None) or self._cut(merged)

    def _cut(self, passed: Passed) -> StreamCut:
        """The cut before which so many bytes lie."""
        left = self._left(passed)
        positions = {}
        for segment, offset in passed.items():
            if segment not in left and self._before[segment] <= left:
                positions[segment] = self._lengths.get(segment, END_OF_SEGMENT) if offset == _WHOLE else offset
        return StreamCut(self._stream, positions)

    def _left(self, passed: Passed) -> set[SegmentId]:
        """The segments in which a cut has no position, because it is in those that replaced them.

        Segments that were replaced together leave a cut together, so that it covers every routing key once. Cuts of
        Java's readers may be further: in one of several segments that replaced several.
        """
        left: set[SegmentId] = set()
        begun = self._begun(passed)
        for segment in sorted(self._replaced, key=lambda each: min(after.epoch for after in self._after[each])):
            if passed[segment] == _WHOLE and (
                not begun.isdisjoint(self._after[segment])
                or all(passed[each] == _WHOLE and self._before[each] <= left for each in self._replaced_with(segment))
            ):
                left.add(segment)
        return left

    def _begun(self, passed: Passed) -> set[SegmentId]:
        """The segments with bytes before a cut, in themselves or in their successors."""
        begun: set[SegmentId] = set()
        for segment in reversed(self._ordered):
            has_bytes = passed[segment] > 0 and self._lengths.get(segment) != 0
            if has_bytes or not begun.isdisjoint(self._after[segment]):
                begun.add(segment)
        return begun

    def _replaced_with(self, segment: SegmentId) -> set[SegmentId]:
        """A segment and all that were replaced together with it."""
        found: set[SegmentId] = set()
        waiting = {segment}
        while waiting:
            each = waiting.pop()
            found.add(each)
            for successor in self._after[each]:
                waiting |= self._before[successor] - found
        return found
