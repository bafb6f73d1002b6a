"""Order of cuts, and events that ranges of one stream have in common, by positions alone. No server is asked."""

import math

from aiopravega.cuts import END_OF_SEGMENT, StreamCut, StreamCutRange


def shares_events(one: StreamCutRange, other: StreamCutRange) -> bool:
    """True if two ranges surely have bytes in common. No server is asked.

    Segments that lie wholly inside both ranges are in neither cut: where only those are shared, this is not seen.
    """
    first, second = _bytes_of(one), _bytes_of(other)
    both = ((*first[each], *second[each]) for each in first.keys() & second.keys())
    return any(max(low, start) < min(high, end) for low, high, start, end in both)


def at_or_after(start: StreamCut, end: StreamCut) -> bool:
    """True if `start` surely lies after `end`, or equals it. No server is asked for the successors of segments.

    Segments that only one of the cuts has are compared by their epochs: newer ones came after older ones.
    """
    if start == end:
        return True
    first, last = start.positions, end.positions
    if any(_offset_of(first[each]) < _offset_of(last[each]) for each in first.keys() & last.keys()):
        return False
    newer, older = first.keys() - last.keys(), last.keys() - first.keys()
    return min((each.epoch for each in newer), default=0) > max((each.epoch for each in older), default=-1)


def _bytes_of(cuts: StreamCutRange) -> dict[object, tuple[float, float]]:
    """The bytes of a range in each segment of its cuts.

    A segment that only the start has is read to its end; one that only the end has is read from its beginning.
    """
    start, end = cuts.start.positions, cuts.end.positions
    return {
        each: (_offset_of(start.get(each, 0)), _offset_of(end.get(each, END_OF_SEGMENT)))
        for each in start.keys() | end.keys()
    }


def _offset_of(offset: int) -> float:
    """An offset of a cut that can be compared: the end of a segment is greater than all."""
    return math.inf if offset == END_OF_SEGMENT else offset
