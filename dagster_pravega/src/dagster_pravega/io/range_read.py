"""Ranges that an input has read, with their numbers: for assets that report them.

`StreamRead` has them as a DataFrame of Spark; other engines derive from `RangeRead`. No engine is imported here.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from dagster import DataVersion, MaterializeResult

from aiopravega import StreamCutRange, StreamName
from aiopravega.ledger import CutRecord
from dagster_pravega.metadata.measures import measures
from dagster_pravega.partitions.input_range import InputRange

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class EventCount(Protocol):
    """Counts the events of ranges while they are read."""

    def events(self) -> int | None:
        """The number of events; None: not all of them have been read, or they were not counted."""


@dataclass(frozen=True)
class RangeRead:
    """The ranges of an input, and the numbers for its metadata."""

    ranges: InputRange
    count: EventCount = field(repr=False)
    began: float = field(default_factory=time.monotonic, repr=False, kw_only=True)

    @property
    def stream(self) -> StreamName:
        """The stream that is read."""
        return self.ranges.stream

    @property
    def cuts(self) -> StreamCutRange:
        """The range, if there is exactly one.

        Raises:
            ConfigurationError: there are several, of partitions that do not touch: see `ranges.pieces`.
        """
        return self.ranges.cuts

    @property
    def taken(self) -> CutRecord | None:
        """The record of the run's partition in the cut ledger, if the input reads exactly one.

        Of a partition of event times, only events with `taken.since <= time < taken.until` are read.
        """
        return self.ranges.record

    @property
    def size(self) -> int:
        """Bytes of the ranges, with the headers of the events."""
        return self.ranges.size

    @property
    def data_version(self) -> DataVersion:
        """The data version of an asset that depends on these ranges only."""
        return self.ranges.data_version

    def metadata(self) -> dict[str, Any]:
        """Cuts, events, bytes and events per second, for a `MaterializeResult`.

        Call it after all events have been read once: they are counted while they are read. If not all have been read,
        or the engine does not report the number, it is `not known`, after 5 seconds at most. The seconds are counted
        from the loading of the input.
        """
        seconds = time.monotonic() - self.began
        several = len(self.ranges.taken) > 1
        numbers = measures(str(self.stream), self.count.events(), self.size, seconds, several=several)
        return numbers | self.ranges.metadata()

    def done(self, metadata: Mapping[str, Any] | None = None) -> MaterializeResult[None]:
        """Record the partitions of this read as done in the cut ledger, and return the result of the asset.

        The result has `metadata`, the metadata of this read, and its data version.
        """
        result = MaterializeResult[None](
            metadata={**(metadata or {}), **self.metadata()}, data_version=self.data_version
        )
        self.ranges.finish()
        return result


@dataclass(frozen=True)
class StreamRead(RangeRead):
    """The value of an input of `PravegaSparkIOManager` with this type: `frame`, with its ranges and numbers.

    The first action that reads the frame counts the events. If it does not read all of them (such as `limit`), or Spark
    does not report the count (such as `toLocalIterator` and `rdd`), their number is not known.
    """

    frame: "DataFrame"
