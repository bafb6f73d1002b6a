"""Event times: numbers whose unit the writers of a stream choose, and how they convert to points in time.

Pravega keeps times as signed 64-bit numbers and does not know their unit. Most writers, Flink's among them, count
milliseconds since 1970. This module knows no stream.
"""

from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Final, TypeAlias

from aiopravega.errors import ConfigurationError

EventTime: TypeAlias = int | datetime
# Java's Long.MIN_VALUE says "no time" on the wire.
_EARLIEST, _LATEST = -(2**63) + 1, 2**63 - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_NANOSECONDS: Final = 1000


class TimeUnit(IntEnum):
    """The unit in which the writers of a stream count their times since 1970; the value is in nanoseconds."""

    NS = 1
    US = 1_000
    MS = 1_000_000
    S = 1_000_000_000

    @classmethod
    def parse(cls, text: str) -> "TimeUnit":
        """Read `ns`, `us`, `ms` or `s`.

        Raises:
            ConfigurationError: the text is not a unit.
        """
        try:
            return cls[text.upper()]
        except KeyError:
            units = ", ".join(unit.name.lower() for unit in cls)
            raise ConfigurationError(f"{text!r} is not a unit of event times: use one of {units}") from None

    def number(self, time: EventTime) -> int:
        """A time as the writers count it: rounded down, if their unit is coarser.

        Raises:
            ConfigurationError: a datetime without a zone, or a number of more than 64 bits.
        """
        if isinstance(time, datetime):
            if time.utcoffset() is None:
                raise ConfigurationError(
                    f"the time {time.isoformat()} has no zone, so it means different times on different machines: "
                    "give it one, such as tzinfo=datetime.UTC"
                )
            time = (time - _EPOCH) // _MICROSECOND * _NANOSECONDS // self
        if isinstance(time, bool) or not isinstance(time, int):
            raise ConfigurationError(f"an event time is a whole number or a datetime with a zone, but this is {time!r}")
        if not _EARLIEST <= time <= _LATEST:
            raise ConfigurationError(f"the event time {time} has more than 64 bits: is its unit {self.name.lower()}?")
        return time

    def first_number(self, time: EventTime) -> int:
        """The first number that is not before a time: as `number`, but rounded up.

        Raises:
            ConfigurationError: a datetime without a zone, or a number of more than 64 bits.
        """
        number = self.number(time)
        if isinstance(time, datetime) and TimeUnit.US.number(time) * TimeUnit.US > number * self:
            return number + 1
        return number

    def moment(self, number: int) -> datetime:
        """A time of a writer as a datetime in UTC, rounded down to microseconds.

        Raises:
            ConfigurationError: it is beyond the range of a datetime: the unit is a different one.
        """
        try:
            return _EPOCH + number * self // _NANOSECONDS * _MICROSECOND
        except OverflowError:
            raise ConfigurationError(
                f"the event time {number} is not a date if it counts {self.name.lower()} since 1970: give the unit "
                "in which the stream's writers count"
            ) from None
