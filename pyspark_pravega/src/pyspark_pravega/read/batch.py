"""`spark.read.format("pravega")`: the batch reader as Spark calls it.

Spark makes the reader on the driver, asks it for the partitions, and sends copies to the tasks. The ranges are resolved
and checked when Spark asks for the partitions. A partition is ranges of bytes of segments.
"""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from aiopravega.errors import PravegaError
from pyspark_pravega.connections import cluster
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.read.filters import Pushed, PushFilters
from pyspark_pravega.read.packing import ReadPartition, pack
from pyspark_pravega.read.plan import SplitPolicy, plan, range_of
from pyspark_pravega.read.read_options import ReadOptions
from pyspark_pravega.read.time_columns import with_times


class PravegaBatchReader(DataSourceReader):
    """Reads the events between two cuts of each stream, by default from the earliest to the latest."""

    def __init__(self, options: ReadOptions, columns: Columns) -> None:
        self._options = options
        self._columns = columns
        self._pushed = Pushed()
        # Not a method of the class: Spark would refuse it wherever pushing is off.
        vars(self)["pushFilters"] = PushFilters(self._pushed, columns)

    def partitions(self) -> list[InputPartition]:
        """Resolve the ranges as they are now, and check them against the streams.

        Raises:
            StreamNotFoundError: there is no such stream.
            StreamTruncatedError: retention or a truncation removed a part of a range.
            InvalidRangeError: an end lies before its start, or beyond the tail.
            InvalidStreamCutError: a cut does not fit its stream's segments.
            EventTimeError: no range is known that has all events of an interval of event times.
            PravegaError: the cluster cannot be reached, or refuses.
        """
        options = self._options
        try:
            client = cluster(options.config).client
            ranges = [range_of(client, source, options.interval) for source in options.sources]
            split = SplitPolicy(options.split_bytes, options.min_partitions)
            pieces = plan(client, ranges, split, self._pushed)
            return [*pack(with_times(client, self._columns, options.event_time_unit, ranges, pieces), split)]
        except PravegaError as error:
            # Spark shows the traceback in front of the message, so it is left out.
            raise error.with_traceback(None) from None

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The events of one partition; called in a task."""
        from pyspark_pravega.read.task import read_partition  # the process that plans does not need it

        if isinstance(partition, ReadPartition):  # without partitions, Spark makes one of its class
            yield from read_partition(self._options, self._columns, partition)
