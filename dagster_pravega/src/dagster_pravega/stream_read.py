"""Ranges of a stream as a DataFrame that knows what it is: for assets that report what they have read."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dagster_pravega.range_read import RangeRead

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class StreamRead(RangeRead):
    """The value of an input of `PravegaSparkIOManager` with this type: `frame`, with its ranges and numbers.

    The first action that reads the frame counts the events. If it does not read all of them (such as `limit`), or Spark
    does not report the count (such as `toLocalIterator` and `rdd`), their number is not known.
    """

    frame: "DataFrame"
