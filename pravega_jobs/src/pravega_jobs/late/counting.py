"""Counts of late events: which interval an event belongs to, and whether it lies after the interval's beginning.

Intervals may overlap. They are divided into layers of intervals that do not, so that each layer is searched by one
bisection for a whole batch of events.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aiopravega.names import SegmentId
from pravega_jobs.late.searches import LateCount

Numbers: TypeAlias = npt.NDArray[np.int64]
_GREATEST: Final = 2**63 - 1


class LateCounter:
    """Counts events, batch by batch, by intervals of event times.

    Args:
        bounds: the start and the end of each interval as numbers in the unit of the events' times; the end is not
            included.
        passed: the bytes of a segment before the beginning of each interval: an event counts from this offset on.
    """

    def __init__(self, bounds: Sequence[tuple[int, int]], passed: Callable[[SegmentId], Sequence[int]]) -> None:
        self._layers = [_Layer(bounds, layer) for layer in layers_of(bounds)]
        self._passed = passed
        self._offsets: dict[SegmentId, Numbers] = {}
        self._counts: dict[int, LateCount] = {}

    @property
    def counts(self) -> dict[int, LateCount]:
        """The counts by the number of the interval; intervals without events are left out."""
        return dict(self._counts)

    def add(self, segment: SegmentId, times: Numbers, offsets: Numbers, pointers: pa.StringArray) -> None:
        """Count the events of a batch, all of one segment: a time, an offset and a pointer for each."""
        begins = self._offsets.get(segment)
        if begins is None:
            begins = np.array([min(each, _GREATEST) for each in self._passed(segment)], np.int64)
            self._offsets[segment] = begins
        for layer in self._layers:
            numbers, rows = layer.find(times)
            late = offsets[rows] >= begins[numbers]
            self._count(numbers[late], rows[late], pointers)

    def _count(self, numbers: Numbers, rows: Numbers, pointers: pa.StringArray) -> None:
        found, firsts, counts = np.unique(numbers, return_index=True, return_counts=True)
        # The first of the reversed rows is the last one.
        _, lasts = np.unique(numbers[::-1], return_index=True)
        for number, first, last, count in zip(found.tolist(), firsts, lasts, counts.tolist(), strict=True):
            before = self._counts.get(number, LateCount())
            self._counts[number] = LateCount(
                before.events + count,
                before.first or pointers[int(rows[first])].as_py(),
                pointers[int(rows[::-1][last])].as_py(),
            )


def layers_of(bounds: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The numbers of intervals in layers: intervals of a layer do not overlap, and are in the order of their starts."""
    layers: list[list[int]] = []
    for number in sorted(range(len(bounds)), key=lambda each: bounds[each]):
        start, _ = bounds[number]
        free = next((layer for layer in layers if bounds[layer[-1]][1] <= start), None)
        if free is None:
            layers.append([number])
        else:
            free.append(number)
    return layers


class _Layer:
    def __init__(self, bounds: Sequence[tuple[int, int]], numbers: Sequence[int]) -> None:
        self._numbers = np.array(numbers, np.int64)
        self._starts, self._ends = (np.array([bounds[each][side] for each in numbers], np.int64) for side in (0, 1))

    def find(self, times: Numbers) -> tuple[Numbers, Numbers]:
        """The events that are in an interval: the number of the interval, and the row of the event."""
        at = np.searchsorted(self._starts, times, "right") - 1
        rows = np.flatnonzero((at >= 0) & (times < self._ends[np.maximum(at, 0)]))
        return self._numbers[at[rows]], rows
