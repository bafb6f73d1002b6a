"""`df.write.format("pravega")`: the batch writer as Spark calls it.

Spark makes it on the driver, sends copies to the tasks, and calls `commit` or `abort` on another copy in another
process. Each task writes into a transaction of its own; the driver commits all of them, or none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.ledger import CommitRecord, PartitionCommit, WriteJob
from pyspark_pravega.connections import cluster
from pyspark_pravega.write import job
from pyspark_pravega.write.columns import SinkColumns
from pyspark_pravega.write.options import WriteOptions
from pyspark_pravega.write.partition import write_in_transaction, write_plainly

# Batches of a partition that is not written; Spark's have up to 10,000 rows.
_GLANCE: Final = 4


@dataclass(frozen=True, slots=True)
class PartitionWritten(WriterCommitMessage):
    """What a task tells the driver; `part` is None if it has written nothing, or nothing that is to be committed."""

    part: PartitionCommit | None


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
                "a stream cannot be overwritten: use mode('append'). To start anew, delete the stream or truncate it."
            )
        self._options = WriteOptions.parse(options)
        self._columns = SinkColumns.find(schema)
        client = cluster(self._options.config).client
        job.prepare_stream(client, self._options)
        # None: plain writes have no ledger.
        self._job = job.begin(client, self._options) if self._options.exactly_once else None

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one partition; called in a task."""
        if isinstance(self._job, CommitRecord):
            _glance(iterator)  # already written
            return PartitionWritten(None)
        options = self._options
        client = cluster(options.config).client
        if self._job is None:
            with client.writer(options.stream.scope, options.stream.stream) as writer:
                write_plainly(writer, self._columns, iterator)
            return PartitionWritten(None)
        context = TaskContext.get()
        if context is None:
            raise PravegaError("a partition can only be written inside a Spark task")
        if not self._job.needs(context.partitionId()):
            _glance(iterator)  # an earlier attempt has written it
            return PartitionWritten(None)
        with job.keeper(client, options, self._job) as keeper:
            part = write_in_transaction(
                client,
                options.stream,
                self._columns,
                context.partitionId(),
                iterator,
                options.lease,
                keeper,
                note_at_once=job.must_note_at_once(self._job),
            )
        return PartitionWritten(part)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make the write visible as a whole; called on the driver after all tasks have succeeded."""
        if isinstance(self._job, WriteJob):
            client = cluster(self._options.config).client
            job.commit(client, self._options, self._job, _parts(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Throw the write away; called on the driver after a task or the commit has failed."""
        if isinstance(self._job, WriteJob):
            client = cluster(self._options.config).client
            job.abandon(client, self._options, self._job, [part.txn_id for part in _parts(messages)])


def _glance(iterator: Iterator[pa.RecordBatch]) -> None:
    """Read the input a little way: a worker that leaves some unread is thrown away, but to compute much is worse."""
    for _ in islice(iterator, _GLANCE):
        pass


def _parts(messages: Sequence[WriterCommitMessage | None]) -> list[PartitionCommit]:
    """The parts that have a transaction; there is no message from a task that failed."""
    return [message.part for message in messages if isinstance(message, PartitionWritten) and message.part is not None]
