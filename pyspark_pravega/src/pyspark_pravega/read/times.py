"""The columns `event_time_lower` and `event_time_upper`: what the watermarks of a stream say of a batch.

Pravega leaves the unit of times to the writers; here it is an option. What the bounds promise is said where they are
found, in `aiopravega.event_time.bounds`.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError
from pyspark_pravega.options import Options
from pyspark_pravega.read.columns import TIME_COLUMNS, Columns
from pyspark_pravega.read.plan import SegmentPartition

_UNIT: Final = "event_time_unit"
TIME_OPTIONS: Final = (_UNIT,)
# Spark's timestamps are microseconds, and its years have four digits.
_EARLIEST, _LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999
_MICROSECOND: Final = 1000


class TimeUnit(IntEnum):
    """What the writers of a stream count their times in since 1970, in nanoseconds."""

    NS = 1
    US = 1_000
    MS = 1_000_000
    S = 1_000_000_000

    @classmethod
    def parse(cls, given: Options) -> "TimeUnit":
        """Read option `event_time_unit`; milliseconds are what most writers use, Flink's among them.

        Raises:
            ConfigurationError: it is no unit.
        """
        text = given.text(_UNIT) or cls.MS.name
        try:
            return cls[text.upper()]
        except KeyError:
            units = ", ".join(unit.name.lower() for unit in cls)
            raise ConfigurationError(f"option {_UNIT!r} is {text!r}, but must be one of {units}") from None

    def microseconds(self, time: int | None) -> int | None:
        """A time as Spark counts it.

        Raises:
            ConfigurationError: it is beyond what a timestamp can be: the unit is another one.
        """
        if time is None:
            return None
        micros = time * self // _MICROSECOND
        if not _EARLIEST <= micros <= _LATEST:
            raise ConfigurationError(
                f"a watermark of the stream has the time {time}, which is no date if it counts {self.name.lower()} "
                f"since 1970: say by option {_UNIT!r} what its writers count in, or leave out the columns event_time_…"
            )
        return micros


def with_times(
    client: PravegaClient,
    columns: Columns,
    unit: TimeUnit,
    ranges: Sequence[StreamCutRange],
    partitions: Sequence[SegmentPartition],
) -> None:
    """Give to all partitions of each range the bounds of its times, if a column wants them.

    Raises:
        ConfigurationError: the times are not in this unit.
        PravegaError: the watermarks cannot be read.
    """
    if TIME_COLUMNS.isdisjoint(columns.kinds):
        return
    bounds = {wanted.stream: client.time_bounds(wanted) for wanted in ranges}
    for partition in partitions:
        found = bounds[partition.part.segment.stream]
        partition.times = unit.microseconds(found.lower), unit.microseconds(found.upper)
