"""A range of a stream as a DataFrame that knows what it is: for assets that report what they have read."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dagster import DataVersion, MaterializeResult

from aiopravega import StreamCutRange, StreamName
from aiopravega.jobs.spark_frames import count_of
from aiopravega.ledger import CutRecord
from dagster_pravega.measures import (
    CONSUMER_KEY,
    MARKS_KEY,
    PARTITION_KEY,
    TIMES_KEY,
    WHOLE_KEY,
    data_version,
    measures,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation


@dataclass(frozen=True)
class StreamRead:
    """What an input gets whose type is this class, instead of a DataFrame alone.

    `size` is in bytes, with the headers of the events. `taken` is what the cut ledger has of the run's partition; if it
    is one of event times, the frame has the events with `taken.since <= time < taken.until`. `whole` says that no
    filter has named a range: it is all of the stream as it was.
    """

    frame: "DataFrame"
    stream: StreamName
    cuts: StreamCutRange
    size: int
    observation: "Observation" = field(repr=False)
    taken: CutRecord | None = None
    marks: Mapping[str, str | None] = field(default_factory=dict)
    finish: Callable[[], None] | None = field(default=None, repr=False)
    whole: bool = False
    began: float = field(default_factory=time.monotonic, repr=False)

    @property
    def data_version(self) -> DataVersion:
        """The version of data that depends on nothing but this range."""
        return data_version(self.cuts, _times_of(self.taken))

    def metadata(self) -> dict[str, Any]:
        """Cuts, events, bytes and events per second, for a `MaterializeResult`.

        Call it after Spark has read the frame once, to its end: it waits until then. The events are counted while they
        pass, so nothing is read twice; the time is that since the input was loaded.
        """
        events = count_of(self.observation)
        found = measures(str(self.stream), self.cuts, events, self.size, time.monotonic() - self.began)
        times = _times_of(self.taken)
        if self.whole:
            found[WHOLE_KEY] = True
        if self.taken is not None:
            found |= {CONSUMER_KEY: self.taken.consumer, PARTITION_KEY: self.taken.interval}
        if times is not None:
            found |= {
                TIMES_KEY: {"since": times[0].isoformat(), "until": times[1].isoformat()},
                MARKS_KEY: dict(self.marks),
            }
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


def _times_of(taken: CutRecord | None) -> tuple[datetime, datetime] | None:
    return None if taken is None or taken.since is None or taken.until is None else (taken.since, taken.until)
