"""Configuration of a stream: its segments, its retention, its tags. Immutable values without a server.

The limits that are checked here are the limits of Pravega's `StreamConfiguration`, `ScalingPolicy` and
`RetentionPolicy`.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Final, Self

from aiopravega.errors import ConfigurationError

# Pravega's Long.MAX_VALUE: data may stay without limit.
NO_LIMIT: Final = 2**63 - 1
_MAX_INT = 2**31 - 1
MOST_TAGS = 127
_LONGEST_TAG = 255
MILLISECOND: Final = timedelta(milliseconds=1)


def _positive(name: str, value: int, highest: int = _MAX_INT) -> int:
    if not 0 < value <= highest:
        raise ConfigurationError(f"{name} is {value}, but must be between 1 and {highest}")
    return value


class ScalingType(Enum):
    """The measure that decides the number of segments."""

    FIXED = "FIXED_NUM_SEGMENTS"
    DATA_RATE = "BY_RATE_IN_KBYTES_PER_SEC"
    EVENT_RATE = "BY_RATE_IN_EVENTS_PER_SEC"


@dataclass(frozen=True, slots=True)
class ScalingPolicy:
    """The number of segments of a stream. Make one with `fixed`, `by_event_rate` or `by_data_rate`."""

    kind: ScalingType
    target_rate: int
    factor: int
    min_segments: int

    @classmethod
    def fixed(cls, segments: int) -> Self:
        """Always `segments` segments, unless somebody scales the stream by hand."""
        return cls(ScalingType.FIXED, 0, 0, _positive("the number of segments", segments))

    @classmethod
    def by_event_rate(cls, target: int, factor: int, min_segments: int) -> Self:
        """Split a segment that takes more than `target` events per second, into at most `factor` parts."""
        return cls._by_rate(ScalingType.EVENT_RATE, target, factor, min_segments)

    @classmethod
    def by_data_rate(cls, kbytes: int, factor: int, min_segments: int) -> Self:
        """Split a segment that takes more than `kbytes` kilobytes per second, into at most `factor` parts."""
        return cls._by_rate(ScalingType.DATA_RATE, kbytes, factor, min_segments)

    @classmethod
    def _by_rate(cls, kind: ScalingType, target: int, factor: int, min_segments: int) -> Self:
        return cls(
            kind,
            _positive("the target rate", target),
            _positive("the scale factor", factor),
            _positive("the minimal number of segments", min_segments),
        )


class RetentionType(Enum):
    """The measure that decides the removal of old data."""

    NONE = "UNKNOWN"  # Pravega does not name it: the type is left unset
    TIME = "TIME"
    SIZE = "SIZE"


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Removal of old data. Make one with `none`, `bytes` or `time`.

    The limits are in bytes or in milliseconds. Where subscribers report how far they have read, data between
    `minimum` and `maximum` goes when all of them have read it; without them, what exceeds `minimum` goes.
    """

    kind: RetentionType
    minimum: int
    maximum: int

    @classmethod
    def none(cls) -> Self:
        """Data stays until somebody truncates the stream."""
        return cls(RetentionType.NONE, 0, 0)

    @classmethod
    def bytes(cls, minimum: int, maximum: int = NO_LIMIT) -> Self:
        """At least `minimum` bytes stay, and at most about `maximum`."""
        return cls._between(RetentionType.SIZE, minimum, maximum)

    @classmethod
    def time(cls, minimum: timedelta, maximum: timedelta | None = None) -> Self:
        """Data stays at least for `minimum`, and at most for about `maximum`."""
        return cls._between(
            RetentionType.TIME, minimum // MILLISECOND, NO_LIMIT if maximum is None else maximum // MILLISECOND
        )

    @classmethod
    def _between(cls, kind: RetentionType, minimum: int, maximum: int) -> Self:
        _positive("the least retention", minimum, NO_LIMIT)
        if maximum < minimum:
            raise ConfigurationError(f"the longest retention, {maximum}, is below the shortest one, {minimum}")
        return cls(kind, minimum, maximum)


@dataclass(frozen=True, slots=True)
class StreamConfiguration:
    """All settings of a stream.

    `timestamp_aggregation_timeout` is how long a writer that stopped noting times still holds back watermarks.
    `rollover_bytes` is the size at which the segment store starts a new chunk file; 0 leaves it to the server.
    Tags have no order: they are kept sorted, each once.
    """

    scaling: ScalingPolicy
    retention: RetentionPolicy = field(default_factory=RetentionPolicy.none)
    tags: tuple[str, ...] = ()
    timestamp_aggregation_timeout: timedelta = timedelta()
    rollover_bytes: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "tags", tuple(sorted(set(self.tags))))
        if len(self.tags) > MOST_TAGS or any(len(tag) > _LONGEST_TAG for tag in self.tags):
            raise ConfigurationError(
                f"a stream takes up to {MOST_TAGS} tags of up to {_LONGEST_TAG} characters, but these are "
                f"{len(self.tags)}, the longest of {max(map(len, self.tags))}"
            )
        if self.timestamp_aggregation_timeout < timedelta() or self.rollover_bytes < 0:
            raise ConfigurationError(
                "the timestamp aggregation timeout and the rollover size cannot be negative: "
                f"{self.timestamp_aggregation_timeout}, {self.rollover_bytes}"
            )
