"""Ranges of a stream as a DataFrame that knows what it is: for assets that report what they have read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiopravega.jobs.spark_frames import RangeCount
from dagster_pravega.range_read import RangeRead

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class StreamRead(RangeRead):
    """What an input gets whose type is this class, instead of a DataFrame alone: `frame`, and what it is.

    The events are counted by the first action that reads the frame. If it does not read all of them (such as `limit`),
    or Spark does not report it (such as `toLocalIterator` and `rdd`), their number is not known.
    """

    frame: "DataFrame"


@dataclass(frozen=True, slots=True)
class SumOfCounts:
    """The events of several ranges that are read together."""

    counts: Sequence[RangeCount]

    def events(self) -> int | None:
        """All of them; None: not all of a range have been read."""
        found = [count.events() for count in self.counts]
        return None if None in found else sum(number for number in found if number is not None)
