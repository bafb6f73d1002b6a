"""A task's part of a write, for batch jobs and streaming queries."""

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
from pyspark_pravega.write import driver
from pyspark_pravega.write.columns import SinkColumns
from pyspark_pravega.write.divided import StreamLane, write_divided
from pyspark_pravega.write.partition import PartitionResult, recognise, write_in_transaction, write_plainly
from pyspark_pravega.write.write_options import OnWritten, WriteOptions, WriterMode

logger = logging.getLogger(__name__)

# Batches that are read of a partition which is not written; Spark's have up to 10,000 rows.
_GLANCE: Final = 4


@dataclass(frozen=True, slots=True)
class TaskMessage(WriterCommitMessage):
    """The message of a task to the driver.

    `job` is the write as a task of a streaming query has begun it; the driver of a batch job begins it itself. `latest`
    is the latest event time of the rows, in the unit of the stream's times. `partitions` has a result for each stream
    of the write that the task has rows for, at least one.
    """

    partitions: Sequence[PartitionResult]
    write_id: str
    latest: int | None = None
    job: WriteJob | None = None


def messages_of(messages: Sequence[WriterCommitMessage | None]) -> list[TaskMessage]:
    """The messages of tasks, without the None of a task that failed."""
    return [message for message in messages if isinstance(message, TaskMessage)]


def latest_of(messages: Sequence[WriterCommitMessage | None]) -> int | None:
    """The latest event time in the messages of tasks; None if they have none."""
    return max((message.latest for message in messages_of(messages) if message.latest is not None), default=None)


class LatestTime:
    """Finds the latest event time of the batches that pass by."""

    def __init__(self, columns: SinkColumns, unit: TimeUnit) -> None:
        self.time: int | None = None
        self._columns = columns
        self._unit = unit

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches unchanged."""
        for batch in batches:
            time = self._columns.latest(batch, self._unit)
            if time is not None and (self.time is None or time > self.time):
                self.time = time
            yield batch


def task_context() -> TaskContext:
    """Spark's context of the running task.

    Raises:
        PravegaError: this process runs no task.
    """
    context = TaskContext.get()
    if context is None:
        raise PravegaError("a partition can only be written inside a Spark task")
    return context


def write_partition(
    client: PravegaClient,
    options: WriteOptions,
    columns: Sequence[SinkColumns],
    begun: WriteJob,
    batches: Iterator[pa.RecordBatch],
) -> Sequence[PartitionResult]:
    """Write the task's partition into transactions for the driver to commit, unless an earlier attempt has done so.

    Args:
        client: a connected client.
        options: of the write.
        columns: the columns of the rows for each stream of the write.
        begun: the write.
        batches: the rows.

    Raises:
        PravegaError: the write failed; the transactions are aborted.
    """
    partition = task_context().partitionId()
    if options.division is None:
        return [_write_to_one(client, options, columns[0], begun, partition, batches)]
    numbers = range(partition * len(columns), (partition + 1) * len(columns))
    if options.on_written is OnWritten.SKIP and not any(map(begun.needs, numbers)):
        _glance(batches)
        return [PartitionResult()]
    with driver.keeper(client, options, begun) as keeper:
        lanes = [
            StreamLane(client, stream, its, options.lease, number, is_first=not index, needed=begun.needs(number))
            for index, (number, stream, its) in enumerate(zip(numbers, options.streams, columns, strict=True))
        ]
        return write_divided(options.division, lanes, batches, keeper)


def _write_to_one(
    client: PravegaClient,
    options: WriteOptions,
    columns: SinkColumns,
    begun: WriteJob,
    partition: int,
    batches: Iterator[pa.RecordBatch],
) -> PartitionResult:
    if not begun.needs(partition):
        # An earlier attempt has written it.
        if options.on_written is not OnWritten.SKIP:
            return recognise(columns, batches)
        _glance(batches)
        return PartitionResult()
    with driver.keeper(client, options, begun) as keeper:
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
        PravegaError: the write failed; some of its events may be in the stream.
    """
    try:
        with client.writer(options.stream) as writer:
            write_plainly(writer, columns, batches)
    except (ConfigurationError, EventTooLargeError):
        raise  # a mistake in the rows, which a later try would find again
    except PravegaError as error:
        if options.mode is not WriterMode.BEST_EFFORT:
            raise
        logger.warning("%s: what was left of a partition is not written: %s", options.stream, error)


def _glance(iterator: Iterator[pa.RecordBatch]) -> None:
    """Read a few batches: Spark ends a worker that leaves input unread, but to compute all of it would cost more."""
    for _ in islice(iterator, _GLANCE):
        pass
