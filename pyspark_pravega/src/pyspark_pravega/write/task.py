"""A task's part of an exactly-once write, whether a batch job or a streaming query runs it."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, EventTooLargeError, PravegaError
from aiopravega.ledger import WriteJob
from aiopravega.times import TimeUnit
from pyspark_pravega.write import job
from pyspark_pravega.write.columns import SinkColumns
from pyspark_pravega.write.partition import Partition, recognise, write_in_transaction, write_plainly
from pyspark_pravega.write.write_options import OnWritten, WriteOptions, WriterMode

logger = logging.getLogger(__name__)

# Batches of a partition that is not written; Spark's have up to 10,000 rows.
_GLANCE: Final = 4


@dataclass(frozen=True, slots=True)
class PartitionWritten(WriterCommitMessage):
    """What a task reports to the driver.

    `job` is the write as a task of a streaming query has begun it; the driver of a batch job begins it itself.
    `latest` is the latest event time of the rows, as their column has it.
    """

    partition: Partition
    write_id: str
    latest: int | None = None
    job: WriteJob | None = None


def messages_of(messages: Sequence[WriterCommitMessage | None]) -> list[PartitionWritten]:
    """The messages of tasks; there is none from a task that failed."""
    return [message for message in messages if isinstance(message, PartitionWritten)]


class LatestTime:
    """The latest event time of the batches that passed by."""

    def __init__(self, columns: SinkColumns, unit: TimeUnit) -> None:
        self.time: int | None = None
        self._columns = columns
        self._unit = unit

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same batches."""
        for batch in batches:
            time = self._columns.latest(batch, self._unit)
            if time is not None and (self.time is None or time > self.time):
                self.time = time
            yield batch


def task_context() -> TaskContext:
    """Spark's word on the running task.

    Raises:
        PravegaError: there is none.
    """
    context = TaskContext.get()
    if context is None:
        raise PravegaError("a partition can only be written inside a Spark task")
    return context


def write_once(
    client: PravegaClient,
    options: WriteOptions,
    columns: SinkColumns,
    begun: WriteJob,
    batches: Iterator[pa.RecordBatch],
) -> Partition:
    """Write the task's partition into a transaction for the driver to commit, if it is to be written.

    Raises:
        PravegaError: why it failed; the transaction is aborted.
    """
    partition = task_context().partitionId()
    if not begun.needs(partition):
        # An earlier attempt has written it.
        if options.on_written is not OnWritten.SKIP:
            return recognise(columns, batches)
        _glance(batches)
        return Partition()
    with job.keeper(client, options, begun) as keeper:
        return write_in_transaction(
            client,
            options.stream,
            columns,
            partition,
            batches,
            options.lease,
            keeper,
        )


def write_plain(
    client: PravegaClient, options: WriteOptions, columns: SinkColumns, batches: Iterator[pa.RecordBatch]
) -> None:
    """Write the task's partition without a transaction.

    In mode `best_effort` a failure of the cluster leaves out the rest of the partition, and is only logged.

    Raises:
        PravegaError: why it failed; events may be in the stream already.
    """
    try:
        with client.writer(options.stream) as writer:
            write_plainly(writer, columns, batches)
    except (ConfigurationError, EventTooLargeError):
        raise  # a mistake in the rows, which no other moment makes better
    except PravegaError as error:
        if options.mode is not WriterMode.BEST_EFFORT:
            raise
        logger.warning("%s: what was left of a partition is not written: %s", options.stream, error)


def _glance(iterator: Iterator[pa.RecordBatch]) -> None:
    """Read the input a little way: a worker that leaves some unread is thrown away, but to compute much is worse."""
    for _ in islice(iterator, _GLANCE):
        pass
