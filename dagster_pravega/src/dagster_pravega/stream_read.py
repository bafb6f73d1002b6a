"""A range of a stream as a DataFrame that knows what it is: for assets that report what they have read."""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dagster import DataVersion

from aiopravega import StreamCutRange, StreamName
from dagster_pravega.measures import data_version, measures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

EVENTS: Final = "events"


@dataclass(frozen=True)
class StreamRead:
    """What an input gets whose type is this class, in place of a DataFrame alone.

    `size` is in bytes, with the headers of the events.
    """

    frame: "DataFrame"
    stream: StreamName
    cuts: StreamCutRange
    size: int
    observation: "Observation" = field(repr=False)
    began: float = field(default_factory=time.monotonic, repr=False)

    @property
    def data_version(self) -> DataVersion:
        """The version of data that depends on nothing but this range."""
        return data_version(self.cuts)

    def metadata(self) -> dict[str, Any]:
        """Cuts, events, bytes and events per second, for a `MaterializeResult`.

        Call it after Spark has read the frame once, to its end: it waits until then. The events are counted while they
        pass, so nothing is read twice; the time is that since the input was loaded.
        """
        events = self.observation.get[EVENTS]
        return measures(str(self.stream), self.cuts, events, self.size, time.monotonic() - self.began)
