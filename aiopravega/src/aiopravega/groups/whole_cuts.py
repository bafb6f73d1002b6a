"""Cuts from the positions in a group's state, which may leave out segments that are read to their ends.

Where segments were merged, the one that follows waits until all of them are read. Those that are, are no longer in the
state, so its positions alone cover only a part of the key space; Java's `getStreamCuts` gives them so.
"""

import asyncio
from collections.abc import Mapping

from aiopravega.control import Controller
from aiopravega.cuts import END_OF_SEGMENT, StreamCut
from aiopravega.errors import InvalidStreamCutError
from aiopravega.groups.cut_bytes import checked_cut
from aiopravega.names import SegmentId, StreamName

Offsets = Mapping[SegmentId, int]


async def whole_cut(
    controller: Controller, stream: StreamName, offsets: Offsets, end: StreamCut | None, tail: StreamCut
) -> StreamCut:
    """The cut of a group in a stream.

    Args:
        controller: asked only where the positions are in other segments than the tail.
        stream: that is read.
        offsets: positions in it, as the state has them; none: it is read to the end.
        end: where the group ends, if it does.
        tail: of the stream.

    Raises:
        InvalidStreamCutError: the positions are not of the stream as it is now.
        ReaderGroupStateError: the positions cannot be ones.
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
    """The segments beside those of a cut that are read to their ends."""
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
