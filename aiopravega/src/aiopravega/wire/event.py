"""Events inside a segment: int32 zero, int32 length, bytes.

Read as one big-endian int64, such a header is the length itself; whatever is beyond the longest event is not a
header.
"""

import struct
from collections.abc import Iterable
from itertools import chain
from typing import Final

from aiopravega.errors import MalformedEventError

EVENT_HEADER: Final = 8
MAX_EVENT: Final = 8 * 1024 * 1024
_HEADER = struct.Struct(">q")


def event_header(length: int) -> bytes:
    """The header of an event of `length` bytes."""
    return _HEADER.pack(length)


def frame_events(events: Iterable[bytes]) -> bytes:
    """Events with their headers, back to back."""
    kept = list(events)
    return b"".join(chain.from_iterable(zip(map(_HEADER.pack, map(len, kept)), kept, strict=True)))


def scan_frames(buffer: bytes | bytearray | memoryview, start: int, end: int) -> tuple[list[int], int]:
    """Offsets in `buffer` of all whole frames in `[start, end)`, and the end of the last one.

    Raises:
        MalformedEventError: a header cannot be one; the error says at which offset of the buffer.
    """
    starts: list[int] = []
    append = starts.append
    unpack = _HEADER.unpack_from
    last_header = end - EVENT_HEADER
    at = start
    while at <= last_header:
        (length,) = unpack(buffer, at)
        if not 0 <= length <= MAX_EVENT:
            raise MalformedEventError(
                f"no event starts at {at}: its header reads {length:#x}. A cut inside an event, or damaged data.", at
            )
        append(at)
        at += EVENT_HEADER + length
    if at > end:  # only the last frame can be cut off
        at = starts.pop()
    return starts, at
