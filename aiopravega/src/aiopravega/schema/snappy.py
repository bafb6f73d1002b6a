"""Snappy's raw block format, which the registry's serializers use under the name of the framed one.

For single events, without a library; whoever has a fast library registers a codec with it.
"""

from typing import Final

from aiopravega.errors import MalformedEventError

_LITERAL: Final = 0
_COPY_NEAR: Final = 1
_COPY_FAR: Final = 2
_COPY_FARTHEST: Final = 3
# A literal of more bytes than this says in 1 to 4 further bytes how long it is.
_SHORT_LITERAL: Final = 60
# Lengths have seven bits in each byte, and one that says that another byte follows.
_BITS: Final = 7
_MORE: Final = 1 << _BITS
_LENGTH_BYTES: Final = 5


def decompress(data: bytes, limit: int) -> bytes:
    """The content of a block.

    Raises:
        MalformedEventError: it is none, or is longer than `limit` bytes.
    """
    size, at = _length(data)
    if size > limit:
        raise MalformedEventError(f"a Snappy block of {size} bytes is beyond the limit of {limit}", at=0)
    out = bytearray()
    end = len(data)
    while at < end:
        tag, kind = data[at] >> 2, data[at] & 3
        at += 1
        if kind == _LITERAL:
            if tag >= _SHORT_LITERAL:
                more = tag - _SHORT_LITERAL + 1
                tag = int.from_bytes(data[at : at + more], "little")
                at += more
            out += data[at : at + tag + 1]
            at += tag + 1
        else:
            width = (_COPY_NEAR, _COPY_FAR, _COPY_FARTHEST + 1)[kind - 1]
            back = int.from_bytes(data[at : at + width], "little")
            count = tag + 1
            if kind == _COPY_NEAR:
                back, count = back | (tag >> 3) << 8, (tag & 7) + 4
            at += width
            _copy(out, back, count)
        if at > end or len(out) > size:
            raise MalformedEventError("a Snappy block is cut off, or longer than it says", at=at)
    if len(out) != size:
        raise MalformedEventError(f"a Snappy block says {size} bytes, but has {len(out)}", at=at)
    return bytes(out)


def _copy(out: bytearray, back: int, count: int) -> None:
    """Repeat what was written `back` bytes ago; it may overlap what it makes."""
    if not 0 < back <= len(out):
        raise MalformedEventError("a Snappy block refers to bytes before its beginning")
    piece = bytes(out[-back:][:count])
    out += (piece * (count // len(piece) + 1))[:count]


def compress(data: bytes) -> bytes:
    """A block with this content: one literal, so it is legal but not smaller."""
    out = bytearray()
    size = len(data)
    while size >= _MORE:
        out.append(size % _MORE | _MORE)
        size >>= _BITS
    out.append(size)
    if not data:
        return bytes(out)
    last = len(data) - 1
    if last < _SHORT_LITERAL:
        out.append(last << 2)
    else:
        width = (last.bit_length() + 7) // 8
        out.append(_SHORT_LITERAL - 1 + width << 2)
        out += last.to_bytes(width, "little")
    return bytes(out + data)


def content_size(data: bytes) -> int:
    """How long a block says that its content is.

    Raises:
        MalformedEventError: it does not say.
    """
    return _length(data)[0]


def _length(data: bytes) -> tuple[int, int]:
    """The length that a block says it has, and where its content begins."""
    size = 0
    for at, byte in enumerate(data[:_LENGTH_BYTES]):
        size |= byte % _MORE << _BITS * at
        if byte < _MORE:
            return size, at + 1
    raise MalformedEventError("a Snappy block has no length")
