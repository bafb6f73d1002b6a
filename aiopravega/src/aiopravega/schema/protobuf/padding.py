"""The end of a Protobuf message that zeros follow: Java's codecs leave them, and no field has the number zero."""

from typing import Final

# The bit of a byte of a number that says that another byte follows.
_MORE: Final = 0x80
_LONGEST: Final = 10  # bytes of a number; the decoder refuses longer ones


def without_padding(payload: bytes) -> bytes:
    """A payload up to the first field that has the number zero."""
    return payload[: _end_of_fields(payload)] if payload.endswith(b"\0") else payload


def _end_of_fields(payload: bytes) -> int:
    """The offset of the end of a message's last field, if only zeros follow it."""
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
                return len(payload)  # a group, or not a message: left to the decoder
    return len(payload)


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift, byte in enumerate(payload[at : at + _LONGEST]):
        value |= byte % _MORE << 7 * shift
        if byte < _MORE:
            return value, at + shift + 1
    return value, len(payload)
