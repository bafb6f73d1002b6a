"""Arithmetic of StreamCuts and ranges on a real stream: their order, their overlap, and what retention has left.

This module asks the controller for what `aiopravega.read.history` needs: the segments between some cuts. Cuts of the
same segments, the usual case, need no request. The successors of a segment never change, and are asked for once.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from typing import Final

from aiopravega.control import Controller, Successor
from aiopravega.cuts import END_OF_SEGMENT, StreamCut, StreamCutRange
from aiopravega.errors import (
    ConfigurationError,
    InvalidRangeError,
    InvalidStreamCutError,
    SegmentNotFoundError,
)
from aiopravega.names import SegmentId, StreamName
from aiopravega.read.history import History, Order
from aiopravega.read.plan import Planner, check_not_made_again
from aiopravega.store import SegmentStore

_IN_ORDER: Final = (Order.BEFORE, Order.SAME)


class Arithmetic:
    """Compares cuts and ranges of a cluster's streams."""

    def __init__(self, controller: Controller, store: SegmentStore, planner: Planner) -> None:
        self._controller = controller
        self._store = store
        self._planner = planner
        # Both are of segments that were replaced, and never change: numbers of segments are never used again.
        self._successors: dict[SegmentId, Sequence[Successor]] = {}
        self._lengths: dict[SegmentId, int] = {}

    async def compare(self, one: StreamCut, other: StreamCut) -> Order:
        """The order of `one` and `other`, across scalings.

        Raises:
            ConfigurationError: one of them is unbounded.
            StreamMadeAgainError: one belongs to a deleted stream of this name.
            InvalidStreamCutError: they are of two streams, or not of the stream as it is now.
        """
        return (await self.history([one, other])).compare(one, other)

    async def intersection(self, one: StreamCutRange, other: StreamCutRange) -> StreamCutRange | None:
        """The range of all that lies in both ranges; None if nothing does.

        Raises:
            InvalidRangeError: a range ends before it starts.
            PravegaError: as `compare` does.
        """
        one, other, history = await self._both(one, other)
        end = history.earliest([one.end, other.end])
        start = history.earliest([history.latest([one.start, other.start]), end])
        return None if history.compare(start, end) is Order.SAME else StreamCutRange(start, end)

    async def union(self, one: StreamCutRange, other: StreamCutRange) -> StreamCutRange:
        """The range of all that lies in at least one of two ranges; they must overlap or follow one another.

        Raises:
            InvalidRangeError: something lies between them, or a range ends before it starts.
            PravegaError: as `compare` does.
        """
        one, other, history = await self._both(one, other)
        later_start = history.latest([one.start, other.start])
        first_end = history.earliest([one.end, other.end])
        if history.compare(later_start, first_end) not in _IN_ORDER:
            raise InvalidRangeError(f"the ranges leave a gap between {first_end} and {later_start}: they have no union")
        return StreamCutRange(history.earliest([one.start, other.start]), history.latest([one.end, other.end]))

    async def clip(self, wanted: StreamCutRange, stream: StreamName | None = None) -> StreamCutRange:
        """The part of a range that retention has left; an empty range at the stream's head if it has left nothing.

        Raises:
            InvalidRangeError: the range ends before it starts.
            StreamNotFoundError: the stream does not exist.
            PravegaError: as `compare` does.
        """
        resolved = await self._planner.resolve(wanted, stream)
        head = await self._planner.head(_stream_of([resolved.start]))
        history = await self.history([resolved.start, resolved.end, head])
        _check(history, resolved)
        return StreamCutRange(history.latest([resolved.start, head]), history.latest([resolved.end, head]))

    async def history(self, cuts: Iterable[StreamCut]) -> History:
        """All that is needed to compare these cuts with each other.

        Raises:
            PravegaError: as `compare` does.
        """
        all_cuts = list(cuts)
        stream = _stream_of(all_cuts)
        segments = {segment for cut in all_cuts for segment in cut.positions}
        at_end = {s for cut in all_cuts for s, offset in cut.positions.items() if offset == END_OF_SEGMENT}
        if all(len(cut.positions) == len(segments) for cut in all_cuts):
            replaced: dict[SegmentId, tuple[SegmentId, ...]] = dict.fromkeys(segments, ())
        else:
            try:
                await asyncio.gather(*(self._check_is_of_stream(segment) for segment in segments))
            except InvalidStreamCutError:
                await check_not_made_again(self._controller, self._store, all_cuts)
                raise
            replaced = await self._follow(segments)
        # A position at the end of a segment that was replaced is where its successors begin.
        sealed = at_end | {before for each in replaced.values() for before in each if before in replaced}
        await asyncio.gather(*(self._learn_length(segment) for segment in sealed))
        return History(stream, replaced, {s: self._lengths[s] for s in sealed if s in self._lengths})

    async def _both(self, one: StreamCutRange, other: StreamCutRange) -> tuple[StreamCutRange, StreamCutRange, History]:
        stream = one.stream or other.stream
        ranges = await asyncio.gather(*(self._planner.resolve(each, stream) for each in (one, other)))
        history = await self.history([cut for each in ranges for cut in (each.start, each.end)])
        for each in ranges:
            _check(history, each)
        return ranges[0], ranges[1], history

    async def _follow(self, first: set[SegmentId]) -> dict[SegmentId, tuple[SegmentId, ...]]:
        """These segments and all that followed them up to the newest of them, each with what it replaced."""
        newest = max(segment.epoch for segment in first)
        replaced: dict[SegmentId, tuple[SegmentId, ...]] = dict.fromkeys(first, ())
        waiting = set(first)
        while waiting:
            old = [segment for segment in waiting if segment.epoch < newest]
            answers = await asyncio.gather(*(self._successors_of(segment) for segment in old))
            following = [each for answer in answers for each in answer if each.segment.epoch <= newest]
            waiting = {each.segment for each in following} - replaced.keys()
            replaced.update({each.segment: each.predecessors for each in following})
        return replaced

    async def _successors_of(self, segment: SegmentId) -> Sequence[Successor]:
        known = self._successors.get(segment)
        if known is None:
            known = await self._controller.successors(segment)
            if known:  # a segment without successors still takes events
                self._successors[segment] = known
        return known

    async def _check_is_of_stream(self, segment: SegmentId) -> None:
        """Check that a segment is or was in the stream: the controller knows the successors of removed segments."""
        with contextlib.suppress(SegmentNotFoundError):
            if not await self._successors_of(segment):
                await self._store.info(segment)
            return
        raise InvalidStreamCutError(
            f"{segment} is not a segment of the stream as it is now: the StreamCut belongs to a deleted stream of this "
            "name, or was changed by hand"
        )

    async def _learn_length(self, segment: SegmentId) -> None:
        if segment in self._lengths:
            return
        with contextlib.suppress(SegmentNotFoundError):  # retention removed it
            info = await self._store.info(segment)
            if info.sealed:
                self._lengths[segment] = info.write_offset


def _stream_of(cuts: Sequence[StreamCut]) -> StreamName:
    streams = {cut.stream for cut in cuts}
    if len(streams) > 1 and None not in streams:
        raise InvalidStreamCutError(f"StreamCuts of {' and '.join(sorted(map(str, streams)))} cannot be compared")
    stream = next(iter(streams))
    if len(streams) > 1 or stream is None:
        raise ConfigurationError("an unbounded StreamCut has no position: give the head or the tail instead")
    return stream


def _check(history: History, wanted: StreamCutRange) -> None:
    if history.compare(wanted.start, wanted.end) not in _IN_ORDER:
        raise InvalidRangeError(f"the range ends before it starts: {wanted.start} to {wanted.end}; swap start and end")
