"""What a set of rows is recognised by, however it is divided among writers and tasks. No I/O.

The sum of the rows' hashes does not depend on their order, so that fingerprints of partitions add up to that of the
write. Another set of rows has the same sum by accident only, once in 2**64; the hashes are not made to resist somebody
who wants that. How a row is hashed is the writer's business.
"""

from dataclasses import dataclass
from typing import Final, Self

_SUMS: Final = 1 << 64


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
        """How much it is, for messages."""
        return f"{self.events:,} events in {self.bytes:,} bytes"
