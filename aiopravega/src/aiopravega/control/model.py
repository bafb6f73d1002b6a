"""Parts of the controller's answers, in this package's own types."""

from dataclasses import dataclass
from enum import Enum

from aiopravega.names import SegmentId


@dataclass(frozen=True, slots=True)
class KeyRange:
    """A segment and the half-open part [low, high) of the key space [0, 1) that it owns."""

    segment: SegmentId
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Successor(KeyRange):
    """A segment that a scaling made, with the segments that it replaced."""

    predecessors: tuple[SegmentId, ...]


class Access(Enum):
    """The rights that a delegation token gives."""

    READ = "READ"
    WRITE = "WRITE"
    READ_WRITE = "READ_WRITE"


@dataclass(frozen=True, slots=True)
class TableConfiguration:
    """A key-value table as it was made: how many partitions it has, and how many bytes a key has.

    A key is a primary part of `key_length` bytes, which alone decides the partition, and a secondary part after it.
    """

    partitions: int
    key_length: int
    secondary_key_length: int = 0

    @property
    def total_key_length(self) -> int:
        """Bytes of a whole key."""
        return self.key_length + self.secondary_key_length


class TransactionState(Enum):
    """The state of a transaction. UNKNOWN: it never existed, or ended too long ago to be remembered."""

    UNKNOWN = "UNKNOWN"
    OPEN = "OPEN"
    COMMITTING = "COMMITTING"
    COMMITTED = "COMMITTED"
    ABORTING = "ABORTING"
    ABORTED = "ABORTED"


class PingStatus(Enum):
    """The result of an attempt to extend a transaction's lease; only OK extended it."""

    OK = "OK"
    LEASE_TOO_LARGE = "LEASE_TOO_LARGE"
    MAX_EXECUTION_TIME_EXCEEDED = "MAX_EXECUTION_TIME_EXCEEDED"
    SCALE_GRACE_TIME_EXCEEDED = "SCALE_GRACE_TIME_EXCEEDED"
    DISCONNECTED = "DISCONNECTED"
    COMMITTED = "COMMITTED"
    ABORTED = "ABORTED"
    UNKNOWN = "UNKNOWN"
