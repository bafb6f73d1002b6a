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
from aiopravega.names import SegmentId

_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_C1: Final = 0x87C3_7B91_1142_53D5
_C2: Final = 0x4CF5_AD43_2745_937F
_BLOCK: Final = struct.Struct("<QQ")


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


def first_half(data: bytes, seed: int) -> int:
    """The first 64 bits of MurmurHash3 (128 bit, x64), as an unsigned number; `seed` is signed, of 32 bits.

    Guava, which Pravega's Java client hashes with, extends its 32-bit seed by its sign to both words of the state, so
    that the hash has a seed of 64 bits; libraries take 32 bits only. For a seed that is not negative every library
    gives the same; the seed of key-value tables is negative.
    """
    h1 = h2 = seed & _MASK
    whole = len(data) - len(data) % _BLOCK.size
    for k1, k2 in _BLOCK.iter_unpack(data[:whole]):
        h1 ^= _scrambled(k1, _C1, 31, _C2)
        h1 = ((_rotated(h1, 27) + h2) * 5 + 0x52DC_E729) & _MASK
        h2 ^= _scrambled(k2, _C2, 33, _C1)
        h2 = ((_rotated(h2, 31) + h1) * 5 + 0x3849_5AB5) & _MASK
    k1, k2 = _BLOCK.unpack(data[whole:].ljust(_BLOCK.size, b"\0"))
    h1 ^= _scrambled(k1, _C1, 31, _C2)
    h2 ^= _scrambled(k2, _C2, 33, _C1)
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    return (_finished(h1) + _finished(h2)) & _MASK


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _scrambled(word: int, before: int, bits: int, after: int) -> int:
    return (_rotated((word * before) & _MASK, bits) * after) & _MASK


def _finished(value: int) -> int:
    value = ((value ^ (value >> 33)) * 0xFF51_AFD7_ED55_8CCD) & _MASK
    value = ((value ^ (value >> 33)) * 0xC4CE_B9FE_1A85_EC53) & _MASK
    return value ^ (value >> 33)
