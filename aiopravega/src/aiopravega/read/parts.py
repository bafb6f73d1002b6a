"""Dividing a range of StreamCuts into parts, by cuts that advance in all segments together.

Where a stream scales inside the range, its segments follow one another: the range is a sequence of *stages*, in each of
which a set of segments covers all routing keys. A segment's bytes are spread evenly over the stages that it takes part
in. A cut lies inside one stage and has its segments, so Pravega's own readers could have made it: no segment begins
before its predecessors have ended.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from aiopravega.control import Controller
from aiopravega.cuts import END_OF_SEGMENT, SegmentRange, StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.names import SegmentId
from aiopravega.read.plan import Planner
from aiopravega.read.split import Splitter


class Divider:
    """Divides ranges of a cluster's streams."""

    def __init__(self, controller: Controller, planner: Planner, splitter: Splitter) -> None:
        self._controller = controller
        self._planner = planner
        self._splitter = splitter

    async def divide(self, resolved: StreamCutRange, parts: int) -> list[StreamCutRange]:
        """Up to `parts` ranges of about equal size that follow one another, with ends between events.

        Raises:
            ConfigurationError: a range cannot have so many parts.
            PravegaError: the range does not fit the stream, or cannot be read.
        """
        if parts < 1:
            raise ConfigurationError(f"a range cannot be split into {parts} parts")
        return await self._divide(resolved, await self._planner.ranges(resolved), parts)

    async def divide_by_size(self, resolved: StreamCutRange, max_bytes: int) -> list[StreamCutRange]:
        """As many ranges as it takes for each to have about `max_bytes` or less.

        Raises:
            ConfigurationError: a range cannot have so few bytes.
            PravegaError: the range does not fit the stream, or cannot be read.
        """
        if max_bytes < 1:
            raise ConfigurationError(f"a range cannot be split into parts of {max_bytes} bytes")
        ranges = await self._planner.ranges(resolved)
        size = sum(part.size for part in ranges)
        return await self._divide(resolved, ranges, max(-(-size // max_bytes), 1))

    async def _divide(
        self, resolved: StreamCutRange, ranges: Sequence[SegmentRange], parts: int
    ) -> list[StreamCutRange]:
        stages = Stages.of(ranges, list(resolved.start.positions), await self._successors(ranges, resolved))
        targets = [stages.targets(number / parts) for number in range(1, parts)]
        known = await asyncio.gather(*(self._starts(part, targets) for part in ranges))
        starts = {part.segment: found for part, found in zip(ranges, known, strict=True)}
        cuts = [resolved.start]
        for wanted in targets:
            positions = {segment: starts[segment][offset] for segment, offset in wanted.items()}
            gone = {s: END_OF_SEGMENT for s in positions if resolved.start.positions.get(s) == END_OF_SEGMENT}
            cuts.append(StreamCut(resolved.start.stream, positions | gone))
        cuts.append(resolved.end)
        # The parts of a small range may be empty.
        return [StreamCutRange(start, end) for start, end in pairwise(cuts) if start != end] or [resolved]

    async def _successors(
        self, ranges: Sequence[SegmentRange], resolved: StreamCutRange
    ) -> dict[SegmentId, list[SegmentId]]:
        """The successors in the range of each segment that is replaced inside it."""
        inside = {part.segment for part in ranges}
        ending = [segment for segment in inside if segment not in resolved.end.positions]
        answers = await asyncio.gather(*(self._controller.successors(segment) for segment in ending))
        return {
            segment: [successor.segment for successor in answer if successor.segment in inside]
            for segment, answer in zip(ending, answers, strict=True)
        }

    async def _starts(self, part: SegmentRange, targets: Sequence[Mapping[SegmentId, int]]) -> dict[int, int]:
        """An offset between events for each of the targets that lie in a segment."""
        offsets = sorted({wanted[part.segment] for wanted in targets if part.segment in wanted})
        inside = [offset for offset in offsets if part.start < offset < part.end]
        starts = {part.start: part.start, part.end: part.end}
        last = part.start
        for offset, found in zip(inside, await self._splitter.boundaries(part, inside), strict=True):
            last = found if found is not None else last  # if no start is certain, it ends where the previous did
            starts[offset] = last
        return starts


@dataclass(frozen=True, slots=True)
class _Life:
    """The stages that a segment takes part in, the last one included."""

    first: int
    last: int

    @property
    def stages(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of a range: the order in which its segments follow one another."""

    parts: Mapping[SegmentId, SegmentRange]
    lives: Mapping[SegmentId, _Life]
    weights: Sequence[float]

    @classmethod
    def of(
        cls,
        parts: Sequence[SegmentRange],
        start: Sequence[SegmentId],
        successors: Mapping[SegmentId, Sequence[SegmentId]],
    ) -> Self:
        """Put the segments of a range in order.

        Args:
            parts: the range of every segment, empty ones too.
            start: the segments of the range's start.
            successors: the successors of each segment that are in the range.
        """
        # All successors of a segment were made at the same time, with their epoch.
        epochs = sorted({part.segment.epoch for part in parts if part.segment not in start})
        first = {part.segment: 0 if part.segment in start else 1 + epochs.index(part.segment.epoch) for part in parts}
        lives = {
            segment: _Life(stage, min((first[after] - 1 for after in successors.get(segment, ())), default=len(epochs)))
            for segment, stage in first.items()
        }
        weights = [0.0] * (len(epochs) + 1)
        for part in parts:
            life = lives[part.segment]
            for stage in range(life.first, life.last + 1):
                weights[stage] += part.size / life.stages
        return cls({part.segment: part for part in parts}, lives, weights)

    def targets(self, share: float) -> dict[SegmentId, int]:
        """Offsets of a cut that has about this share (0 to 1) of the range's bytes before it."""
        weight = share * sum(self.weights)
        stage = 0
        while stage < len(self.weights) - 1 and weight >= self.weights[stage]:
            weight -= self.weights[stage]
            stage += 1
        inside = min(weight / self.weights[stage], 1.0) if self.weights[stage] else 0.0
        return {
            segment: self._offset(segment, (stage - life.first + inside) / life.stages)
            for segment, life in self.lives.items()
            if life.first <= stage <= life.last
        }

    def _offset(self, segment: SegmentId, share: float) -> int:
        part = self.parts[segment]
        return part.start + int(part.size * share)
