"""The part of one task in a write that divides its rows among several streams: a transaction in each of them.

A task numbers its partitions by the streams of the write: of task 2 in a write into three streams they are 6, 7 and 8.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from aiopravega.blocking import LeaseKeeper, PravegaClient
from aiopravega.names import StreamName
from aiopravega.write.batch import BLOCK_BYTES
from pyspark_pravega.write.columns import SinkColumns
from pyspark_pravega.write.division import Division
from pyspark_pravega.write.partition import OpenPartition, PartitionResult, Recognition


class StreamLane:
    """The rows of a task for one stream: some wait until they are a block, and are written then.

    Args:
        client: a connected client.
        stream: the stream.
        columns: the columns of its rows.
        lease: of the transaction, in seconds.
        number: of the partition in the write.
        is_first: True for the first stream of the write.
        needed: False if an earlier attempt has written the partition: its rows are compared only.
    """

    def __init__(
        self,
        client: PravegaClient,
        stream: StreamName,
        columns: SinkColumns,
        lease: float,
        number: int,
        *,
        is_first: bool,
        needed: bool,
    ) -> None:
        self._client, self._stream, self._columns, self._lease = client, stream, columns, lease
        self._number = number
        self._named = None if is_first else stream
        self._known = None if needed else Recognition(columns)
        self._opened: OpenPartition | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._size = 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Take rows.

        Raises:
            PravegaError: they cannot be written.
        """
        self._waiting.append(rows)
        self._size += rows.nbytes
        if self._size >= BLOCK_BYTES:
            self._write()

    def _write(self) -> None:
        waiting, self._waiting, self._size = self._waiting, [], 0
        if self._known is not None:
            self._known.add(waiting)
        elif waiting:
            if self._opened is None:
                self._opened = OpenPartition(self._client, self._stream, self._columns, self._number, self._lease)
            self._opened.write(waiting)

    def end(self, keeper: LeaseKeeper) -> PartitionResult | None:
        """Write what waits, and leave the transaction open for the driver; None: there are no rows.

        Raises:
            PravegaError: they cannot be written.
        """
        self._write()
        if self._known is not None:
            return PartitionResult(rows=self._known.tally.fingerprint, stream=self._named)
        return None if self._opened is None else self._opened.end(keeper, self._number, self._named)

    def abort(self) -> None:
        """Abort the transaction, if there is one."""
        if self._opened is not None:
            self._opened.abort()


def write_divided(
    division: Division, lanes: Sequence[StreamLane], batches: Iterator[pa.RecordBatch], keeper: LeaseKeeper
) -> Sequence[PartitionResult]:
    """Write the rows of a task into a transaction for each stream that gets some, and leave them open for the driver.

    Raises:
        ConfigurationError: a row has no stream, or an event is null, or a value does not fit the schema.
        PravegaError: the write failed; the transactions are aborted.
    """
    try:
        for number, rows in division.divide(batches):
            lanes[number].add(rows)
        found = [lane.end(keeper) for lane in lanes]
    except BaseException:
        for lane in lanes:
            lane.abort()
        raise
    return [each for each in found if each is not None] or [PartitionResult()]
