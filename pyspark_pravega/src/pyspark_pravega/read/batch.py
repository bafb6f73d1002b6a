"""`spark.read.format("pravega")`: the batch reader as Spark calls it.

Spark makes it on the driver, asks it for the partitions, which is when everything is resolved and checked, and sends
copies to the tasks. A partition is a range of bytes of one segment.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import SegmentRange, StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, PravegaError
from pyspark_pravega.connections import cluster
from pyspark_pravega.read.frames import find_frames
from pyspark_pravega.read.options import NamedCut, ReadOptions
from pyspark_pravega.read.rows import RowMaker
from pyspark_pravega.source import READ_SCHEMA

# Bytes that become a batch: smaller ones cost more time in Spark, larger ones more memory in the worker.
_BLOCK_BYTES: Final = 4 * 1024 * 1024
# Requests under way: as many as fill the block that is waited for, so that only one more is begun.
_REQUESTS: Final = 4
# Buffers beyond this are for events of megabytes.
_ORDINARY_BYTES: Final = 5 * 1024 * 1024


class SegmentPartition(InputPartition):
    """A range of one segment; it carries no credentials."""

    def __init__(self, part: SegmentRange) -> None:
        super().__init__(part)
        self.part = part


class PravegaBatchReader(DataSourceReader):
    """Reads the events between two cuts of a stream.

    Raises:
        ConfigurationError: an option or the given schema cannot work.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._options = ReadOptions.parse(options)
        _check_schema(schema)

    def partitions(self) -> list[InputPartition]:
        """Resolve the range as it is now, and check it against the stream.

        Raises:
            StreamNotFoundError: there is no such stream.
            StreamTruncatedError: retention or a truncation removed a part of the range.
            InvalidRangeError: the end lies before the start, or beyond the tail.
            InvalidStreamCutError: a cut does not fit the stream's segments.
            PravegaError: the cluster cannot be reached, or refuses.
        """
        try:
            client = cluster(self._options.config).client
            parts = client.plan(_resolve(client, self._options), self._options.stream)
        except PravegaError as error:
            # Spark shows the traceback in front of the message, which says all: leave it short.
            raise error.with_traceback(None) from None
        return [SegmentPartition(part) for part in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The events of one partition; called in a task."""
        if not isinstance(partition, SegmentPartition):  # Spark makes one when there are none: nothing to read
            return
        reader = cluster(self._options.config).reader
        rows = RowMaker(partition.part.segment)
        blocks = reader.read(
            partition.part,
            scan=find_frames,
            allocate=_arrow_buffer,
            block_bytes=_BLOCK_BYTES,
            requests=_REQUESTS,
        )
        # Not by a loop, whose variable would hold a block while its batches are sent.
        yield from chain.from_iterable(map(rows.batches, blocks))


def _resolve(client: PravegaClient, options: ReadOptions) -> StreamCutRange:
    """The cuts that the options name, each looked up once."""
    stream = options.stream
    known: dict[NamedCut, StreamCut] = {}

    def cut(wanted: StreamCut | NamedCut) -> StreamCut:
        if isinstance(wanted, StreamCut):
            return wanted
        if wanted not in known:
            look_up = client.head if wanted is NamedCut.HEAD else client.tail
            known[wanted] = look_up(stream.scope, stream.stream)
        return known[wanted]

    return StreamCutRange(cut(options.start), cut(options.end))


def _arrow_buffer(size: int) -> memoryview:
    """Of Arrow's pool, which uses memory again without asking the system for it."""
    if size > _ORDINARY_BYTES:
        # These are all of other sizes, so that what the pool keeps of earlier ones would add up.
        pa.default_memory_pool().release_unused()
    return memoryview(pa.allocate_buffer(size))


def _check_schema(schema: StructType) -> None:
    given = [(field.name, field.dataType) for field in schema.fields]
    if given != [(field.name, field.dataType) for field in READ_SCHEMA.fields]:
        raise ConfigurationError(
            f"a read from Pravega has the columns {READ_SCHEMA.simpleString()}, but the schema {schema.simpleString()} "
            "was given: leave it out, and select and cast columns of the result"
        )
