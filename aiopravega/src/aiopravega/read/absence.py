"""Why a segment that somebody names is not in its stream: one answer for cuts and for pointers."""

from dataclasses import dataclass
from enum import Enum, auto

from aiopravega.control import Controller
from aiopravega.cuts import StreamCut
from aiopravega.errors import SecurityError
from aiopravega.names import SegmentId, StreamName


class Reason(Enum):
    """Why a segment is not there."""

    MADE_AGAIN = auto()  # it is of an earlier stream of the name
    REMOVED = auto()
    NEVER_WAS = auto()


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a segment is not there, and the same as the first part of a message."""

    reason: Reason
    text: str


async def why_absent(controller: Controller, segment: SegmentId) -> Absence:
    """Why a segment is not in its stream.

    Raises:
        StreamNotFoundError: the stream was deleted.
    """
    stream = segment.stream
    first_number = await _first_number(controller, stream)
    if first_number is not None and segment.number < first_number:
        return Absence(
            Reason.MADE_AGAIN,
            f"{segment} is of a stream of this name that was deleted: the segments of the one that was made since have "
            f"numbers from {first_number} on",
        )
    head = await controller.head_segments(stream)
    if any(segment.epoch < first.epoch or segment.number < first.number for first in head):
        doubt = "" if first_number is not None else ", or it is of a stream of this name that was deleted"
        return Absence(
            Reason.REMOVED,
            f"{stream} starts at {StreamCut(stream, head)}: retention or a truncation removed segment {segment}{doubt}",
        )
    return Absence(Reason.NEVER_WAS, f"{stream} has no segment {segment}")


async def _first_number(controller: Controller, stream: StreamName) -> int | None:
    """The number of the stream's first segment: numbers continue when a stream is made again. None: we may not ask."""
    try:
        return min(entry.segment.number for entry in await controller.epoch_segments(stream, 0))
    except SecurityError:
        return None
