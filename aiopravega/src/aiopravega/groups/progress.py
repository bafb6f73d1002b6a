"""The progress of a reader group in one stream: its positions, and the bytes that are left, with few round trips."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aiopravega.control import Controller
from aiopravega.cuts import END_OF_SEGMENT, StreamCut
from aiopravega.errors import InvalidStreamCutError, SegmentNotFoundError
from aiopravega.groups.cut_bytes import checked_cut
from aiopravega.groups.state import GroupState
from aiopravega.names import SegmentId, StreamName
from aiopravega.read.plan import Planner, check_not_made_again
from aiopravega.store import SegmentStore

Offsets = Mapping[SegmentId, int]


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """The progress of a group in one stream.

    Attributes:
        stream: the stream.
        position: the cut at which readers continue that restart without a checkpoint.
        read: the cut up to which the readers have read, by their last reports; they report every few seconds.
        checkpoint: the cut of the last checkpoint; None: there was none.
        end: the end of the group's range; None: it has no end.
        unread_bytes: after the checkpoint, or the position if there is none; with event headers. Java's
            `ReaderGroupMetrics.unreadBytes` has the same number.
        lag_bytes: after `read`.
        is_truncated: retention has removed events that the group has not read.
        is_at_scaling: a reader is at the end of a segment that a scaling replaced, and continues after a checkpoint.
    """

    stream: StreamName
    position: StreamCut
    read: StreamCut
    checkpoint: StreamCut | None
    end: StreamCut | None
    unread_bytes: int
    lag_bytes: int
    is_truncated: bool
    is_at_scaling: bool


def later(one: int, other: int) -> int:
    """The later one of two positions in a segment."""
    return END_OF_SEGMENT if END_OF_SEGMENT in (one, other) else max(one, other)


async def stream_progress(
    controller: Controller, store: SegmentStore, planner: Planner, stream: StreamName, state: GroupState
) -> StreamProgress:
    """The progress of a group in a stream.

    Raises:
        StreamNotFoundError: the stream was deleted.
        StreamMadeAgainError: it was deleted and made again.
    """
    tail, head = await asyncio.gather(planner.tail(stream), planner.head(stream))
    end = state.ends_in(stream)
    offsets = {segment: offset for segment, offset in state.offsets().items() if segment.stream == stream}
    read = {segment: later(offset, state.read.get(segment, offset)) for segment, offset in offsets.items()}
    last = state.checkpoints.last
    marked = None if last is None else {segment: each for segment, each in last.items() if segment.stream == stream}
    given = [offsets, read, *([] if marked is None else [marked])]
    try:
        cuts = await asyncio.gather(*(whole_cut(controller, stream, each, end, tail) for each in given))
        spans = await asyncio.gather(*(_between(controller, cut, end or tail) for cut in cuts))
    except (InvalidStreamCutError, SegmentNotFoundError):
        await check_not_made_again(controller, store, [StreamCut(stream, offsets)] if offsets else [])
        raise
    old = {segment for span in spans for segment in span} | set(offsets)
    lengths = await _lengths(store, old - tail.positions.keys()) | dict(tail.positions)
    unread = [_size(cut, end or tail, span, lengths, head) for cut, span in zip(cuts, spans, strict=True)]
    finished = {
        segment
        for segments in state.assigned.values()
        for segment in segments
        if segment in read and segment not in tail.positions
        if read[segment] in (END_OF_SEGMENT, lengths.get(segment, END_OF_SEGMENT))
    }
    return StreamProgress(
        stream=stream,
        position=cuts[0],
        read=cuts[1],
        checkpoint=None if marked is None else cuts[2],
        end=end,
        unread_bytes=unread[-1 if marked is not None else 0][0],
        lag_bytes=unread[1][0],
        is_truncated=unread[1][1],
        is_at_scaling=bool(finished) and end is None,
    )


async def _between(controller: Controller, cut: StreamCut, end: StreamCut) -> Iterable[SegmentId]:
    """The segments from a cut to the end, with the segments of both."""
    if cut.positions.keys() == end.positions.keys() or cut.stream is None:
        return cut.positions
    return await controller.segments_between(cut.stream, cut.positions, end.positions)


async def _lengths(store: SegmentStore, segments: Iterable[SegmentId]) -> dict[SegmentId, int]:
    """The lengths of segments in bytes; removed segments are left out."""

    async def length(segment: SegmentId) -> int | None:
        try:
            return (await store.info(segment)).write_offset
        except SegmentNotFoundError:
            return None

    wanted = list(segments)
    lengths = await asyncio.gather(*(length(segment) for segment in wanted))
    return {segment: known for segment, known in zip(wanted, lengths, strict=True) if known is not None}


def _size(
    cut: StreamCut, end: StreamCut, span: Iterable[SegmentId], lengths: Mapping[SegmentId, int], head: StreamCut
) -> tuple[int, bool]:
    """The bytes between two cuts that can still be read, and True if some were removed."""
    size, truncated = 0, False
    for segment in span:
        start = cut.positions.get(segment, 0)
        if start == END_OF_SEGMENT:
            continue
        if segment not in lengths:
            truncated = True
            continue
        stop = end.positions.get(segment, END_OF_SEGMENT)
        stop = lengths[segment] if stop == END_OF_SEGMENT else stop
        first = max(start, head.positions.get(segment, 0))
        truncated |= min(first, stop) > start
        size += max(0, stop - first)
    return size, truncated


async def whole_cut(
    controller: Controller, stream: StreamName, offsets: Offsets, end: StreamCut | None, tail: StreamCut
) -> StreamCut:
    """The complete cut of a group in a stream, by the positions in its state.

    If segments were merged, their successor waits until all of them are read. Segments that are read to their ends are
    not in the state any more, so its positions alone cover only a part of the key space, as in Java's `getStreamCuts`.

    Args:
        controller: asked only if the positions are in other segments than the tail.
        stream: the stream that is read.
        offsets: positions in it, from the state; empty: it is read to the end.
        end: the end of the group's range, if it has one.
        tail: of the stream.

    Raises:
        InvalidStreamCutError: the positions are not of the stream as it is now.
        ReaderGroupStateError: the positions cannot be a cut.
    """
    if not offsets:
        return end or tail
    offsets = dict(sorted(offsets.items()))  # so that equal cuts have equal texts
    cut = checked_cut(stream, offsets)
    if offsets.keys() == tail.positions.keys():
        return cut
    try:
        await controller.check_cut(stream, dict.fromkeys(offsets, 0))
    except InvalidStreamCutError:
        whole = {**offsets, **await _completed(controller, offsets, end)}
        return StreamCut(stream, dict(sorted(whole.items())))
    return cut


async def _completed(controller: Controller, offsets: Offsets, end: StreamCut | None) -> dict[SegmentId, int]:
    """The segments that are read to their ends, and that the positions lack, with the offsets of a complete cut."""
    reachable, replaced = set(offsets), set[SegmentId]()
    waiting = set(offsets)
    while waiting:
        answers = await asyncio.gather(*(controller.successors(segment) for segment in waiting))
        following = [successor for answer in answers for successor in answer]
        replaced |= {each for successor in following for each in successor.predecessors}
        waiting = {successor.segment for successor in following} - reachable
        reachable |= waiting
    if end is not None:
        return {segment: offset for segment, offset in end.positions.items() if segment not in reachable}
    return dict.fromkeys(sorted(replaced - reachable), END_OF_SEGMENT)
