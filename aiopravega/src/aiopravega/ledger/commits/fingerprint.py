"""Fingerprints of sets of rows: the same however the rows are divided among writers and tasks. No I/O.

The sum of the rows' hashes does not depend on their order, so that fingerprints of partitions add up to the fingerprint
of the write. Another set of rows has the same sum by accident only, once in 2**64; the hashes do not resist an
attacker. Spark's writer hashes whole arrays of rows by the rule of `event_hash`.
"""

import struct
from dataclasses import dataclass
from typing import Final, Self

import mmh3

from aiopravega.routing import key_position

_SUMS: Final = 1 << 64
_HALVES: Final = struct.Struct("<QQ")
_POSITION: Final = struct.Struct("<d")
# Stands for the position of an event without a key: not a number that a position's bits can be.
_KEYLESS: Final = _SUMS - 1


def event_hash(data: bytes, routing_key: str | None) -> int:
    """The hash of 64 bits of an event and of the position of its key, which is all that a stream knows of a key."""
    first, second = _HALVES.unpack(mmh3.mmh3_x64_128_digest(data))
    position = _KEYLESS
    if routing_key is not None:
        position = int.from_bytes(_POSITION.pack(key_position(routing_key)), "little")
    return int(((first ^ position) * (second | 1)) % _SUMS)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Events, their bytes with event headers, and the sum of the rows' 64-bit hashes modulo 2**64."""

    events: int = 0
    bytes: int = 0
    hashes: int = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(self.events + other.events, self.bytes + other.bytes, (self.hashes + other.hashes) % _SUMS)

    @property
    def amount(self) -> str:
        """Its events and bytes, for messages."""
        return f"{self.events:,} events in {self.bytes:,} bytes"
