"""Columns whose values are known before a segment is read, by which a query leaves out segments and pieces of them.

`scope`, `stream`, `segment` and `segment_id` have one value in all rows of a segment. `offset` has a range of values.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from aiopravega import wire
from aiopravega.cuts import SegmentRange

OFFSET: Final = "offset"
SEGMENT: Final = "segment"
SEGMENT_ID: Final = "segment_id"
# Columns that are the same in all rows of a segment, and the type of their values.
CONSTANTS: Final[Mapping[str, type]] = {"scope": str, "stream": str, SEGMENT: str, SEGMENT_ID: int}
# The lowest and the highest offset of a row that fits; no row fits if they cross.
Bounds: TypeAlias = tuple[int, int]
Comparison: TypeAlias = Callable[[Any, Any], bool]
_HIGHEST: Final = 2**63 - 1
ANY_OFFSET: Final[Bounds] = (0, _HIGHEST)
NO_OFFSET: Final[Bounds] = (_HIGHEST, 0)


def constant_of(column: str, part: SegmentRange) -> str | int:
    """The value of a column of `CONSTANTS` in all rows of a segment."""
    if column == SEGMENT_ID:
        return part.segment.to_int()
    if column == SEGMENT:
        return str(part.segment)
    value: str = getattr(part.segment.stream, column)
    return value


def bounds_of(compare: Comparison, wanted: int | None) -> Bounds:
    """The offsets for which `offset compare wanted` is true. None stands for null, with which nothing compares.

    Args:
        compare: one of `eq`, `gt`, `ge`, `lt` and `le` of the module `operator`.
        wanted: the number that offsets are compared with.
    """
    if wanted is None:
        return NO_OFFSET
    return {
        operator.eq: (wanted, wanted),
        operator.gt: (wanted + 1, _HIGHEST),
        operator.ge: (wanted, _HIGHEST),
        operator.lt: (0, wanted - 1),
        operator.le: (0, wanted),
    }[compare]


def may_have(part: SegmentRange, bounds: Bounds) -> bool:
    """True if an event can begin in this piece of a segment at one of these offsets."""
    low, high = bounds
    return part.start <= high and low <= part.end - wire.EVENT_HEADER
