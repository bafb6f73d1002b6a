"""The range of a read: between which cuts each of its streams is read."""

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import UNBOUNDED, StreamCutRange
from aiopravega.read.calls import find_range
from pyspark_pravega.read.interval import TimeInterval
from pyspark_pravega.read.sources import Source


def range_of(client: PravegaClient, source: Source, interval: TimeInterval | None) -> StreamCutRange:
    """The range of a source with both ends fixed: all of the stream, if neither cuts nor event times say it."""
    if interval is not None and source.start is None:
        return interval.range_in(client, source.stream)
    start, end = source.start or UNBOUNDED, source.end or UNBOUNDED
    return client.run(find_range(client.asynchronous, source.stream, start, end))
