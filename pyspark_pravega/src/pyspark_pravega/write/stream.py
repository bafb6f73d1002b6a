"""`df.writeStream.format("pravega")`: the writer of a streaming query as Spark calls it.

A write is one micro-batch. Its name is made of the query's id, which the checkpoint keeps, and the batch's id. Spark
makes a new writer for each batch on the driver, but names the batch only to tasks and to `commit`. So each task reads
the ledger, and sends the driver the job or record that it has read, with its own result.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import uuid4, uuid5

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.ledger import WriteJob
from pyspark_pravega.connections import cluster
from pyspark_pravega.write import driver
from pyspark_pravega.write.columns import all_columns
from pyspark_pravega.write.partition import PartitionResult
from pyspark_pravega.write.row_errors import RowErrors
from pyspark_pravega.write.task import (
    LatestTime,
    TaskMessage,
    latest_of,
    messages_of,
    task_context,
    write_partition,
    write_plain,
)
from pyspark_pravega.write.write_options import WriteOptions

logger = logging.getLogger(__name__)

# Warnings that this process has logged: it makes a writer for each micro-batch.
_warned: set[str] = set()
# Spark's names for a task's query and batch.
_QUERY: Final = "sql.streaming.queryId"
_BATCH: Final = "streaming.sql.batchId"


class PravegaStreamWriter(DataSourceStreamArrowWriter):
    """Writes the micro-batches of a query to a stream, by default each exactly once.

    Raises:
        ConfigurationError: an option, a column or the output mode cannot work.
        PravegaError: the cluster cannot be reached, or refuses the write.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise ConfigurationError(
                "a stream cannot be overwritten, which outputMode('complete') asks for: use outputMode('append')"
            )
        self._options = WriteOptions.parse(options, streaming=True)
        self._columns = all_columns(self._options, schema)
        # With a batch's name it gives the id of the attempt, the same in all tasks.
        self._planned = uuid4()
        client = cluster(self._options.config).client
        warning = driver.prepare(client, self._options)
        if warning is not None and warning not in _warned:
            logger.warning(warning)
            _warned.add(warning)
        if not self._options.exactly_once:  # for an exactly-once write, only the tasks know if the batch is done
            driver.check_open(client, self._options)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one partition of a batch; called in a task."""
        client = cluster(self._options.config).client
        name = _name(task_context())
        options = replace(self._options, write_id=name)
        latest = LatestTime(self._columns[0], self._options.times.unit)
        if not options.exactly_once:
            write_plain(client, options, self._columns[0], latest.over(iterator))
            return TaskMessage([PartitionResult()], name, latest.time)
        begun = driver.begin(client, options, uuid5(self._planned, name))
        errors = RowErrors(options.errors)
        rows = latest.over(errors.over(iterator))
        partitions = errors.beside(write_partition(client, options, self._columns, begun, rows))
        return TaskMessage(partitions, name, latest.time, begun)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Make a batch visible as a whole; called on the driver after all its tasks have succeeded."""
        partitions, jobs, done = _sorted(messages)
        names = [message.write_id for message in messages_of(messages)]
        if not names:
            return
        client = cluster(self._options.config).client
        options = replace(self._options, write_id=names[0])
        begun = done[0] if done else jobs[0] if jobs else None
        if any(_found(other) != _found(jobs[0]) for other in jobs):
            begun = driver.begin(client, options, jobs[0].attempt)
        if (
            begun is not None and begun.done is not None
        ):  # an earlier attempt has done the write, or another one meanwhile
            if driver.commits_of(partitions):
                driver.abandon(client, options, jobs[0], partitions)
            driver.already_written(client, options, begun.done, partitions)
            return
        if begun is not None:
            driver.commit(client, options, begun, partitions)
        query = names[0].rpartition("/")[0]
        driver.note_time(client, options, query, latest_of(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Abort a batch; called on the driver after a task or the commit has failed."""
        partitions, jobs, _ = _sorted(messages)
        if jobs:
            options = replace(self._options, write_id=jobs[0].write_id)
            driver.abandon(cluster(options.config).client, options, jobs[0], partitions)


def _name(context: TaskContext) -> str:
    """The write id of the batch that a task works for.

    Raises:
        PravegaError: Spark does not name the batch.
    """
    query, batch = context.getLocalProperty(_QUERY), context.getLocalProperty(_BATCH)
    if query is None or batch is None:
        raise PravegaError(
            "Spark does not give the task its query and micro-batch it works for: a stream takes micro-batches, not "
            "a continuous trigger"
        )
    return f"{query}/{batch}"


def _found(job: WriteJob) -> tuple[object, ...]:
    """The state of a write in the ledger when a task began it."""
    return job.replaces, job.lost, job.joined


def _sorted(
    messages: Sequence[WriterCommitMessage | None],
) -> tuple[list[PartitionResult], list[WriteJob], list[WriteJob]]:
    """The results of the tasks, and the jobs that they have begun: those to be written, and those that are done."""
    known = messages_of(messages)
    jobs = [message.job for message in known if message.job is not None]
    return (
        [each for message in known for each in message.partitions],
        [each for each in jobs if each.done is None],
        [each for each in jobs if each.done is not None],
    )
