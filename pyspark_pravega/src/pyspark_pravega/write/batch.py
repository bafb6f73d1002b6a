"""`df.write.format("pravega")`: the batch writer as Spark calls it.

Spark makes it on the driver, sends copies to the tasks, and calls `commit` or `abort` on another copy in another
process. Each task writes into a transaction of its own; the driver commits all of them, or none.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from aiopravega.errors import ConfigurationError
from pyspark_pravega.connections import cluster
from pyspark_pravega.write import job
from pyspark_pravega.write.partition import Partition
from pyspark_pravega.write.sink import sink_columns
from pyspark_pravega.write.task import LatestTime, PartitionWritten, messages_of, write_once, write_plain
from pyspark_pravega.write.time_notes import note_time
from pyspark_pravega.write.write_options import WriteOptions

logger = logging.getLogger(__name__)


class PravegaBatchWriter(DataSourceArrowWriter):
    """Writes a DataFrame to a stream, by default exactly once.

    Everything that can be checked is checked when it is made, on the driver, before any task starts.

    Raises:
        ConfigurationError: an option or a column cannot work, or the mode is not append.
        PravegaError: the cluster cannot be reached, or refuses the write.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise ConfigurationError(
                "a stream cannot be overwritten: use mode('append'). To start again, delete the stream or truncate it."
            )
        self._options = WriteOptions.parse(options)
        self._columns = sink_columns(self._options, schema)
        client = cluster(self._options.config).client
        warning = job.prepare(client, self._options)
        if warning is not None:
            logger.warning(warning)
        # None: plain writes have no ledger.
        self._job = job.begin(client, self._options, uuid4()) if self._options.exactly_once else None
        if self._job is None or self._job.done is None:
            job.check_open(client, self._options)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one partition; called in a task."""
        client = cluster(self._options.config).client
        latest = LatestTime(self._columns, self._options.times.unit)
        if self._job is None:
            write_plain(client, self._options, self._columns, latest.over(iterator))
            return PartitionWritten(Partition(), self._options.write_id, latest.time)
        partition = write_once(client, self._options, self._columns, self._job, latest.over(iterator))
        return PartitionWritten(partition, self._options.write_id, latest.time)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make the write visible as a whole; called on the driver after all tasks have succeeded."""
        client = cluster(self._options.config).client
        if self._job is not None and self._job.done is not None:
            job.already_written(self._options, self._job.done, _partitions(messages))
            return
        if self._job is not None:
            job.commit(client, self._options, self._job, _partitions(messages))
        note_time(client, self._options, self._options.write_id, messages)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Throw the write away; called on the driver after a task or the commit has failed."""
        if self._job is not None and self._job.done is None:
            client = cluster(self._options.config).client
            job.abandon(client, self._options, self._job, _partitions(messages))


def _partitions(messages: Sequence[WriterCommitMessage | None]) -> list[Partition]:
    return [message.partition for message in messages_of(messages)]
