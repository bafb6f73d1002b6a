"""What an input knows about the ranges that it reads: for assets that report what they have read.

No engine is known here.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from dagster import DataVersion, MaterializeResult

from aiopravega import StreamCutRange, StreamName
from aiopravega.ledger import CutRecord
from dagster_pravega.metadata.measures import measures
from dagster_pravega.partitions.input_range import InputRange


class EventCount(Protocol):
    """Counts the events of ranges while they are read."""

    def events(self) -> int | None:
        """How many the ranges have had; None: not all of them have been read, or nobody has counted."""


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
        """The range; partitions that do not touch are several `ranges.pieces`.

        Raises:
            ConfigurationError: there are several.
        """
        return self.ranges.cuts

    @property
    def taken(self) -> CutRecord | None:
        """What the cut ledger has of the run's partition, if it is one.

        If it is one of event times, only events with `taken.since <= time < taken.until` are read.
        """
        return self.ranges.record

    @property
    def size(self) -> int:
        """Bytes of the ranges, with the headers of the events."""
        return self.ranges.size

    @property
    def data_version(self) -> DataVersion:
        """The version of data that depends on nothing but these ranges."""
        return self.ranges.data_version

    def metadata(self) -> dict[str, Any]:
        """Cuts, events, bytes and events per second, for a `MaterializeResult`.

        Call it after all has been read once: events are counted while they are read. If not all of them have been, or
        the engine does not report it, their number is `not known`, after 5 seconds at most. The time is that since the
        input was loaded.
        """
        seconds = time.monotonic() - self.began
        several = len(self.ranges.taken) > 1
        found = measures(str(self.stream), self.count.events(), self.size, seconds, several=several)
        return found | self.ranges.metadata()

    def done(self, metadata: Mapping[str, Any] | None = None) -> MaterializeResult[None]:
        """The result of an asset that has processed the events: `metadata` with its own, and its data version.

        The partitions that it has read are recorded as done in the cut ledger.
        """
        result = MaterializeResult[None](
            metadata={**(metadata or {}), **self.metadata()}, data_version=self.data_version
        )
        self.ranges.finish()
        return result
