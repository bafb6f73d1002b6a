"""Routing key -> position in [0, 1) -> segment, exactly as the Java client does it.

Source: `HashHelper` and `StreamSegments` in Pravega's client: murmur3 (128 bit, x64) over the key's UTF-16 code
units, seeded with the Java hash code of a fixed text; the upper 52 bits of its first half become a fraction.
Checked against vectors made by the Java client.
"""

import struct
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, Protocol

import mmh3

from aiopravega.errors import ProtocolError
from aiopravega.murmur import first_half
from aiopravega.names import SegmentId


def _java_hash_code(text: str) -> int:
    """A signed number of 32 bits."""
    value = 0
    for character in text:
        value = (31 * value + ord(character)) & 0xFFFF_FFFF
    return value - (1 << 32) if value >> 31 else value


EVENT_ROUTER_SEED: Final = _java_hash_code("EventRouter")
TABLE_ROUTER_SEED: Final = _java_hash_code("KeyValueTableRouter")
_MANTISSA_BITS = 52
_FIRST_HALF = struct.Struct("<Q")


def _fraction(half: int) -> float:
    fraction: float = (half >> (64 - _MANTISSA_BITS)) / (1 << _MANTISSA_BITS)
    return fraction


def key_position(key: str) -> float:
    """The position of a routing key in [0, 1)."""
    digest = mmh3.mmh3_x64_128_digest(key.encode("utf-16-le", "surrogatepass"), EVENT_ROUTER_SEED)
    return _fraction(*_FIRST_HALF.unpack_from(digest))


def table_key_position(key: bytes) -> float:
    """The position of a key-value table's key in [0, 1), which decides its partition."""
    return _fraction(first_half(key, TABLE_ROUTER_SEED))


class KeyRangeLike(Protocol):
    """A segment as a segment map needs it: with the half-open part of [0, 1) that it owns."""

    @property
    def segment(self) -> SegmentId:
        """The segment."""

    @property
    def low(self) -> float:
        """The beginning of its part, included."""

    @property
    def high(self) -> float:
        """The end of its part, excluded."""


class SegmentMap:
    """The segments of one epoch by the parts of the key space that they own.

    Raises:
        ProtocolError: the ranges do not cover [0, 1) without gap or overlap.
    """

    def __init__(self, ranges: Sequence[KeyRangeLike]) -> None:
        ordered = sorted(ranges, key=lambda entry: entry.low)
        edges = [entry.low for entry in ordered] + [1.0]
        if edges[0] != 0.0 or any(entry.high != edge for entry, edge in zip(ordered, edges[1:], strict=True)):
            raise ProtocolError(f"segments do not cover the key space: {[(e.low, e.high) for e in ordered]}")
        # The lower edges of the segments' key ranges, ascending.
        self.lows: tuple[float, ...] = tuple(edges[:-1])
        self.segments: tuple[SegmentId, ...] = tuple(entry.segment for entry in ordered)

    def index_for(self, position: float) -> int:
        """Index into `segments` of the owner of a position in [0, 1)."""
        return bisect_right(self.lows, position) - 1

    def segment_for(self, position: float) -> SegmentId:
        """The owner of a position in [0, 1)."""
        return self.segments[self.index_for(position)]
