"""Complete cuts of the positions in a group's state, which may lack segments that are read to their ends.

If segments were merged, their successor waits until all of them are read. Segments that are read to their ends are not
in the state any more, so its positions alone cover only a part of the key space, as in Java's `getStreamCuts`.
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
