"""`df.writeStream.format("pravega")`: the writer of a streaming query as Spark calls it.

A write is one micro-batch, and its name is the query's id, which the checkpoint keeps, and the batch's. Spark makes the
a new writer for each batch on the driver, where it does not say which batch it is: only tasks and `commit` know. So
each task reads the ledger, and hands to the driver what it found there with what it wrote.
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
from pyspark_pravega.write import job
from pyspark_pravega.write.partition import Partition
from pyspark_pravega.write.sink import sink_columns
from pyspark_pravega.write.task import (
    LatestTime,
    PartitionWritten,
    messages_of,
    task_context,
    write_once,
    write_plain,
)
from pyspark_pravega.write.time_notes import note_time
from pyspark_pravega.write.write_options import WriteOptions

logger = logging.getLogger(__name__)

# What this process has said: it makes a writer for each micro-batch.
_warned: set[str] = set()
# Under these names Spark gives tasks their query and batch.
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
        self._columns = sink_columns(self._options, schema)
        self._planned = uuid4()  # of which, with a batch's name, its attempt's name is made, the same in all tasks
        client = cluster(self._options.config).client
        warning = job.prepare(client, self._options)
        if warning is not None and warning not in _warned:
            logger.warning(warning)
            _warned.add(warning)
        if not self._options.exactly_once:  # else it is the tasks that know whether there is anything to write
            job.check_open(client, self._options)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one partition of a batch; called in a task."""
        client = cluster(self._options.config).client
        name = _name(task_context())
        options = replace(self._options, write_id=name)
        latest = LatestTime(self._columns, self._options.times.unit)
        if not options.exactly_once:
            write_plain(client, options, self._columns, latest.over(iterator))
            return PartitionWritten(Partition(), name, latest.time)
        begun = job.begin(client, options, uuid5(self._planned, name))
        partition = write_once(client, options, self._columns, begun, latest.over(iterator))
        return PartitionWritten(partition, name, latest.time, begun)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Make a batch visible as a whole; called on the driver after all its tasks have succeeded."""
        partitions, jobs, done = _sorted(messages)
        names = [message.write_id for message in messages_of(messages)]
        if not names:
            return
        client = cluster(self._options.config).client
        options = replace(self._options, write_id=names[0])
        begun = done[0] if done else jobs[0] if jobs else None
        if any((other.replaces, other.lost) != (jobs[0].replaces, jobs[0].lost) for other in jobs):
            begun = job.begin(client, options, jobs[0].attempt)
        if begun is not None and begun.done is not None:  # by an earlier attempt, or by another one meanwhile
            if job.parts_of(partitions):
                job.abandon(client, options, jobs[0], partitions)
            job.already_written(options, begun.done, partitions)
            return
        if begun is not None:
            job.commit(client, options, begun, partitions)
        query = names[0].rpartition("/")[0]
        note_time(client, options, query, messages)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Throw a batch away; called on the driver after a task or the commit has failed."""
        partitions, jobs, _ = _sorted(messages)
        if jobs:
            options = replace(self._options, write_id=jobs[0].write_id)
            job.abandon(cluster(options.config).client, options, jobs[0], partitions)


def _name(context: TaskContext) -> str:
    """The write id of the batch that a task works for.

    Raises:
        PravegaError: Spark does not say which one.
    """
    query, batch = context.getLocalProperty(_QUERY), context.getLocalProperty(_BATCH)
    if query is None or batch is None:
        raise PravegaError(
            "Spark does not give the task its query and micro-batch it works for: a stream takes micro-batches, not "
            "a continuous trigger"
        )
    return f"{query}/{batch}"


def _sorted(
    messages: Sequence[WriterCommitMessage | None],
) -> tuple[list[Partition], list[WriteJob], list[WriteJob]]:
    """The partitions that tasks have written, and how they found the write in the ledger: to be written, and done."""
    known = messages_of(messages)
    jobs = [message.job for message in known if message.job is not None]
    return (
        [message.partition for message in known],
        [each for each in jobs if each.done is None],
        [each for each in jobs if each.done is not None],
    )
