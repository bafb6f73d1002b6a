"""Why the segment of a cut or of a pointer is not in its stream."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from aiopravega.control import Controller
from aiopravega.cuts import StreamCut
from aiopravega.errors import SecurityError, SegmentNotFoundError, StreamMadeAgainError
from aiopravega.names import SegmentId, StreamName
from aiopravega.store import SegmentStore


class Reason(Enum):
    """Why a segment is missing."""

    MADE_AGAIN = auto()  # it belongs to a deleted stream of the same name
    REMOVED = auto()
    NEVER_WAS = auto()


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a segment is missing, as a reason and as the first part of a message."""

    reason: Reason
    text: str


async def why_absent(controller: Controller, store: SegmentStore, segment: SegmentId) -> Absence:
    """Why a segment is not in its stream.

    Raises:
        StreamNotFoundError: the stream was deleted.
    """
    stream = segment.stream
    first = await _first_segment(controller, stream)
    if first is not None and segment.number < first.number:
        made = await _made_again(store, first)
        return Absence(Reason.MADE_AGAIN, f"{made}; segment {segment} belongs to the deleted one")
    head = await controller.head_segments(stream)
    if any(segment.epoch < each.epoch or segment.number < each.number for each in head):
        doubt = "" if first is not None else ", or it belongs to a deleted stream of this name"
        return Absence(
            Reason.REMOVED,
            f"{stream} starts at {StreamCut(stream, head)}: retention or a truncation removed segment {segment}{doubt}",
        )
    return Absence(Reason.NEVER_WAS, f"{stream} has no segment {segment}")


async def check_not_made_again(controller: Controller, store: SegmentStore, cuts: Iterable[StreamCut]) -> None:
    """Check that no cut belongs to a deleted stream of the same name; without the right to ask, nothing is checked.

    Raises:
        StreamMadeAgainError: a cut does.
        StreamNotFoundError: the stream was deleted.
    """
    for cut in cuts:
        if cut.stream is None:
            continue
        first = await _first_segment(controller, cut.stream)
        if first is not None and any(segment.number < first.number for segment in cut.positions):
            fact = await _made_again(store, first)
            raise StreamMadeAgainError(
                f"{fact}; the StreamCut {cut} belongs to the deleted one. Take cuts of the stream as it is now", fact
            )


async def _made_again(store: SegmentStore, first: SegmentId) -> str:
    """A text: the stream was made again, and when (the time comes from its first segment)."""
    try:
        made = await store.made_at(first)
    except SegmentNotFoundError:  # the new stream has been truncated since
        made = None
    when = "" if made is None else f" on {made.isoformat(timespec='seconds')}"
    return f"stream {first.stream} was deleted and made again{when}"


async def _first_segment(controller: Controller, stream: StreamName) -> SegmentId | None:
    """The stream's first segment. None: this account has no permission to ask."""
    try:
        return await controller.first_segment(stream)
    except SecurityError:
        return None
