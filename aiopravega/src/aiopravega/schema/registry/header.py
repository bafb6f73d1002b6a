"""The five bytes before an event that the registry's serializers write: a protocol byte, then the encoding id.

The encoding id names a schema and a codec of one group; only the registry knows which.
"""

import struct
from typing import Final

PROTOCOL: Final = 1  # version of the header, the only one so far
_LAYOUT: Final = struct.Struct(">Bi")
HEADER_BYTES: Final = _LAYOUT.size


def header(encoding_id: int) -> bytes:
    """The header of an encoding id."""
    return _LAYOUT.pack(PROTOCOL, encoding_id)


def split_header(event: bytes) -> tuple[int | None, bytes]:
    """The encoding id of an event and what follows; None and the whole event if it has no header."""
    if len(event) < HEADER_BYTES or event[0] != PROTOCOL:
        return None, event
    return _LAYOUT.unpack_from(event)[1], event[HEADER_BYTES:]
