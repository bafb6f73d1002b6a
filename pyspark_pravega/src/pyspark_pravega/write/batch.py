"""`df.write.format("pravega")`: the batch writer as Spark calls it.

Spark makes the writer on the driver, sends copies to the tasks, and calls `commit` or `abort` on another copy in
another process. Each task writes into one transaction; the driver commits the transactions of all tasks, or none.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from aiopravega.errors import ConfigurationError
from pyspark_pravega.connections import cluster
from pyspark_pravega.write import driver
from pyspark_pravega.write.columns import all_columns
from pyspark_pravega.write.partition import PartitionResult
from pyspark_pravega.write.row_errors import RowErrors
from pyspark_pravega.write.task import LatestTime, TaskMessage, latest_of, messages_of, write_partition, write_plain
from pyspark_pravega.write.write_options import WriteOptions

logger = logging.getLogger(__name__)


class PravegaBatchWriter(DataSourceArrowWriter):
    """Writes a DataFrame to a stream, by default exactly once.

    Options, columns and the stream are checked when the writer is made, on the driver, before any task starts.

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
        self._columns = all_columns(self._options, schema)
        client = cluster(self._options.config).client
        warning = driver.prepare(client, self._options)
        if warning is not None:
            logger.warning(warning)
        # None: plain writes have no ledger.
        self._job = driver.begin(client, self._options, uuid4()) if self._options.exactly_once else None
        if self._job is None or self._job.done is None:
            driver.check_open(client, self._options)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one partition; called in a task."""
        client = cluster(self._options.config).client
        latest = LatestTime(self._columns[0], self._options.times.unit)
        if self._job is None:
            write_plain(client, self._options, self._columns[0], latest.over(iterator))
            return TaskMessage([PartitionResult()], self._options.write_id, latest.time)
        errors = RowErrors(self._options.errors)
        rows = latest.over(errors.over(iterator))
        partitions = errors.beside(write_partition(client, self._options, self._columns, self._job, rows))
        return TaskMessage(partitions, self._options.write_id, latest.time)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make the write visible as a whole; called on the driver after all tasks have succeeded."""
        client = cluster(self._options.config).client
        if self._job is not None and self._job.done is not None:
            driver.already_written(client, self._options, self._job.done, _partitions(messages))
            return
        if self._job is not None:
            driver.commit(client, self._options, self._job, _partitions(messages))
        driver.note_time(client, self._options, self._options.write_id, latest_of(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Abort the write; called on the driver after a task or the commit has failed."""
        if self._job is not None and self._job.done is None:
            client = cluster(self._options.config).client
            driver.abandon(client, self._options, self._job, _partitions(messages))


def _partitions(messages: Sequence[WriterCommitMessage | None]) -> list[PartitionResult]:
    return [each for message in messages_of(messages) for each in message.partitions]
