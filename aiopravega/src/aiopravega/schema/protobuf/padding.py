"""Where a Protobuf message ends, if zeros follow it: Java's codecs leave them, and no field has the number zero."""

from typing import Final

# In a byte of a number: another one follows.
_MORE: Final = 0x80


def without_padding(payload: bytes) -> bytes:
    """A payload up to the first field that has the number zero."""
    return payload[: _end_of_fields(payload)] if payload.endswith(b"\0") else payload


def _end_of_fields(payload: bytes) -> int:
    """Where the last field of a message ends, if only zeros follow it."""
    at = 0
    while at < len(payload):
        start = at
        tag, at = _varint(payload, at)
        match tag & 7:
            case _ if tag >> 3 == 0:
                return start
            case 0:
                _, at = _varint(payload, at)
            case 1:
                at += 8
            case 2:
                size, at = _varint(payload, at)
                at += size
            case 5:
                at += 4
            case _:
                return len(payload)  # a group, or nonsense: left to the decoder
    return len(payload)


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(payload):
        byte = payload[at]
        value |= byte % _MORE << shift
        at, shift = at + 1, shift + 7
        if byte < _MORE:
            break
    return value, at
