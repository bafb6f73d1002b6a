"""A range of a stream as a DataFrame that knows what it is: for assets that report what they have read."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dagster import DataVersion, MaterializeResult

from aiopravega import StreamCutRange, StreamName
from aiopravega.jobs.spark_frames import RangeCount
from aiopravega.ledger import CutRecord
from dagster_pravega.measures import (
    FROM_HEAD_KEY,
    MARKS_KEY,
    WHOLE_KEY,
    data_version,
    measures,
    taken_measures,
    times_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class StreamRead:
    """What an input gets whose type is this class, instead of a DataFrame alone.

    `taken` is what the cut ledger has of the run's partition; if it is one of event times, the frame has the events
    with `taken.since <= time < taken.until`. `whole` says that no filter has named a range: it is all of the stream as
    it was. `from_head` says why the range of event times starts at the head, if no watermark is older.
    """

    frame: "DataFrame"
    stream: StreamName
    cuts: StreamCutRange
    count: RangeCount = field(repr=False)
    taken: CutRecord | None = None
    marks: Mapping[str, str | None] = field(default_factory=dict)
    finish: Callable[[], None] | None = field(default=None, repr=False)
    whole: bool = False
    from_head: str | None = None
    began: float = field(default_factory=time.monotonic, repr=False)

    @property
    def size(self) -> int:
        """Bytes of the range, with the headers of the events."""
        return self.count.size

    @property
    def data_version(self) -> DataVersion:
        """The version of data that depends on nothing but this range."""
        return data_version(self.cuts, times_of(self.taken))

    def metadata(self) -> dict[str, Any]:
        """Cuts, events, bytes and events per second, for a `MaterializeResult`.

        Call it after Spark has read the frame once, to its end: the events are counted while the first action reads
        them, so nothing is read twice. If that action has not read all of them (such as `limit`), or Spark does
        not report it (such as `toLocalIterator` and `rdd`), or there was none, their number is `not known`, after 5
        seconds at most. The time is that since the input was loaded.
        """
        seconds = time.monotonic() - self.began
        found = measures(str(self.stream), self.cuts, self.count.events(), self.size, seconds)
        found |= taken_measures(self.taken)
        if self.whole:
            found[WHOLE_KEY] = True
        if times_of(self.taken) is not None:
            found[MARKS_KEY] = dict(self.marks)
        if self.from_head is not None:
            found[FROM_HEAD_KEY] = self.from_head
        return found

    def done(self, metadata: Mapping[str, Any] | None = None) -> MaterializeResult[None]:
        """The result of an asset that has processed the frame: `metadata` with its own, and its data version.

        The partition that it read is recorded as done in the cut ledger.
        """
        result = MaterializeResult[None](
            metadata={**(metadata or {}), **self.metadata()}, data_version=self.data_version
        )
        if self.finish is not None:
            self.finish()
        return result
