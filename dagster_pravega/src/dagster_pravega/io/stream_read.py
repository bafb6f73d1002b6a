"""Ranges of a stream as a DataFrame that knows what it is: for assets that report what they have read."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dagster_pravega.io.range_read import RangeRead

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class StreamRead(RangeRead):
    """What an input gets whose type is this class, instead of a DataFrame alone: `frame`, and what it is.

    The events are counted by the first action that reads the frame. If it does not read all of them (such as `limit`),
    or Spark does not report it (such as `toLocalIterator` and `rdd`), their number is not known.
    """

    frame: "DataFrame"
