"""Events inside a segment: int32 zero, int32 length, bytes.

Read as one big-endian int64, such a header is the length itself; whatever is beyond the longest event is not a
header. An event of more than one append takes is a frame like any other: it was merged into the segment as a whole.
"""

import struct
from collections.abc import Iterable
from itertools import chain

from aiopravega.errors import EventTooLargeError, MalformedEventError
from aiopravega.sizes import EVENT_HEADER, LARGEST_EVENT

_HEADER = struct.Struct(">q")


def event_header(length: int) -> bytes:
    """The header of an event of `length` bytes."""
    return _HEADER.pack(length)


def frame_events(events: Iterable[bytes]) -> bytes:
    """Events with their headers, back to back."""
    kept = list(events)
    return b"".join(chain.from_iterable(zip(map(_HEADER.pack, map(len, kept)), kept, strict=True)))


def frame_size(beginning: bytes) -> int:
    """The size in bytes of a frame by its beginning, header included; 0 if the header is not whole."""
    return EVENT_HEADER + _HEADER.unpack_from(beginning)[0] if len(beginning) >= EVENT_HEADER else 0


def scan_frames(
    buffer: bytes | bytearray | memoryview, start: int, end: int, largest: int = LARGEST_EVENT
) -> tuple[list[int], int]:
    """Offsets in `buffer` of all whole frames in `[start, end)`, and the end of the last one.

    The header of the frame that `end` cuts off is checked, too, if all of it is there.

    Raises:
        MalformedEventError: a header cannot be one; the error says at which offset of the buffer.
        EventTooLargeError: an event has more than `largest` bytes, the caller's limit; the error says where, too.
    """
    starts: list[int] = []
    append = starts.append
    unpack = _HEADER.unpack_from
    last_header = end - EVENT_HEADER
    at = start
    while at <= last_header:
        (length,) = unpack(buffer, at)
        if not 0 <= length <= largest:
            raise _refused(length, at)
        append(at)
        at += EVENT_HEADER + length
    if at > end:  # only the last frame can be cut off
        at = starts.pop()
    return starts, at


def _refused(length: int, at: int) -> MalformedEventError | EventTooLargeError:
    if 0 <= length <= LARGEST_EVENT:
        return EventTooLargeError(f"the event at {at} has {length:,} bytes", at, length)
    return MalformedEventError(
        f"no event starts at {at}: its header reads {length:#x}. A cut inside an event, or damaged data.", at
    )
