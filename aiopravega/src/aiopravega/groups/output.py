"""Writer of Java's versioned serialization, byte for byte, as `fields` reads it."""

import struct
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeVar

from aiopravega.errors import ConfigurationError
from aiopravega.groups.fields import FORMAT, LONG_SIZES, NUL
from aiopravega.names import SegmentId, StreamName

K = TypeVar("K")
V = TypeVar("V")

_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_RANGE: Final = struct.Struct(">dd")
_LONGEST_TEXT: Final = 65_535


def record(*revisions: bytes, version: int = 0, kind: int | None = None) -> bytes:
    """A record; `kind` is its number among several kinds that can be in one position."""
    head = [FORMAT, version, len(revisions)] if kind is None else [FORMAT, kind, version, len(revisions)]
    parts = [bytes([number]) + _INT.pack(len(data)) + data for number, data in enumerate(revisions)]
    return bytes(head) + b"".join(parts)


def int32(value: int) -> bytes:
    return _INT.pack(value)


def int64(value: int) -> bytes:
    return _LONG.pack(value)


def no_key_range() -> bytes:
    """A key range that is not known; see `JavaFields.key_range`."""
    return _RANGE.pack(-1.0, -1.0)


def text(value: str) -> bytes:
    """A text; see `JavaFields.text`.

    Raises:
        ConfigurationError: the text is too long.
    """
    halves = value.encode("utf-16-be", "surrogatepass")
    units = [halves[at : at + 2].decode("utf-16-be", "surrogatepass") for at in range(0, len(halves), 2)]
    data = "".join(units).encode("utf-8", "surrogatepass").replace(b"\0", NUL)
    if len(data) > _LONGEST_TEXT:
        raise ConfigurationError(f"a text of {len(data):,} bytes is too long for Pravega: {value[:40]!r}…")
    return len(data).to_bytes(2) + data


def compact_int(value: int) -> bytes:
    if value < 1 << 7:
        return bytes([value])
    return (value | 0x8000).to_bytes(2) if value < 1 << 14 else (value | 0xC000_0000).to_bytes(4)


def compact_long(value: int) -> bytes:
    bits, size = next((bits, size) for bits, size in enumerate(LONG_SIZES) if value < 1 << (8 * size - 2))
    return (value | bits << (8 * size - 2)).to_bytes(size)


def signed_long(value: int) -> bytes:
    kept = -value - 1 if value < 0 else value
    bits, size = next((bits, size) for bits, size in enumerate(LONG_SIZES) if kept < 1 << (8 * size - 3))
    return (kept | (bits | (value < 0) << 2) << (8 * size - 3)).to_bytes(size)


def array(data: bytes) -> bytes:
    return compact_int(len(data)) + data


def items(values: Collection[bytes]) -> bytes:
    return compact_int(len(values)) + b"".join(values)


def mapping(pairs: Mapping[K, V], key: Callable[[K], bytes], value: Callable[[V], bytes]) -> bytes:
    written: Iterable[bytes] = (key(one) + value(other) for one, other in pairs.items())
    return compact_int(len(pairs)) + b"".join(written)


def segment(value: SegmentId) -> bytes:
    return text(str(value))


def stream(value: StreamName) -> bytes:
    return text(str(value))


def offsets(value: Mapping[SegmentId, int]) -> bytes:
    return mapping(value, segment, int64)
