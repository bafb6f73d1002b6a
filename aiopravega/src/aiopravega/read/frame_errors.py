"""The errors of all readers about a frame in a segment."""

from aiopravega.cuts import SegmentRange
from aiopravega.errors import EventTooLargeError, MalformedEventError
from aiopravega.names import SegmentId


def no_event(wanted: SegmentRange, offset: int) -> MalformedEventError:
    """No event starts where one should."""
    return MalformedEventError(
        f"{wanted.segment}: no event starts at offset {offset}, in the range from {wanted.start} to {wanted.end}: "
        "a StreamCut lies inside an event, or a program that is not an event writer wrote the stream. "
        "Use StreamCuts that lie between events",
        at=offset,
    )


def cut_off(wanted: SegmentRange, offset: int) -> MalformedEventError:
    """The event at an offset ends after the range."""
    return MalformedEventError(
        f"{wanted.segment}: the range from {wanted.start} to {wanted.end} ends inside the event at {offset}, or "
        "starts inside one: use StreamCuts that lie between events",
        at=offset,
        cut_off=True,
    )


def too_large(segment: SegmentId, offset: int, size: int, limit: int) -> EventTooLargeError:
    """The event at an offset is larger than the reader accepts."""
    return EventTooLargeError(
        f"{segment}: the event at offset {offset} has {size:,} bytes, but this reader accepts at most "
        f"max_event_bytes={limit:,}: it was not read. Give a larger max_event_bytes, if there is memory for the "
        "event; if nobody wrote such an event, a StreamCut lies inside one",
        offset,
        size,
    )
