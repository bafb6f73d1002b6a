"""Writes of one partition: its rows go into one transaction, or plainly to the stream.

The task leaves its transaction open and sends its id to the driver, which commits the transactions of all tasks, or
none. This module knows neither ledgers nor Spark.
"""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aiopravega.blocking import EventWriter, LeaseKeeper, PravegaClient, Transaction
from aiopravega.errors import PravegaError
from aiopravega.ledger import Fingerprint, PartitionCommit
from aiopravega.names import StreamName
from aiopravega.write.batch import BLOCK_BYTES, FramedBlock
from pyspark_pravega.write.columns import SinkColumns
from pyspark_pravega.write.framing import FramedEvents, check_events, frame_events
from pyspark_pravega.write.lanes import LARGEST_CHUNK, Router, chunks, positions_of
from pyspark_pravega.write.row_hashes import RowTally

if TYPE_CHECKING:
    from aiopravega.schema.open.blocks.serializer import BlockSerializer

logger = logging.getLogger(__name__)


def _wanted(columns: SinkColumns, segments: int) -> int:
    """The bytes of a chunk: as many as give each segment whole blocks.

    Rows without keys go to any segment, so that half a block is enough: batches of Spark of that size then need not be
    copied to be joined.
    """
    return min(LARGEST_CHUNK, BLOCK_BYTES * segments) if columns.keyed else BLOCK_BYTES // 2


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """The result of a task: `commit` has its transaction for the driver; None if it has none to commit.

    `rows` is the fingerprint of its rows, written or not, if they are to be compared. `witnessed_at` is a time after
    the transaction was opened, by a segment store's clock. `errors` are the errors of the rows, as `Sieve.packed`
    gives them; None: there are none. `stream` is the stream of the rows, None: the first one of the write.
    """

    commit: PartitionCommit | None = None
    rows: Fingerprint = field(default_factory=Fingerprint)
    witnessed_at: datetime | None = None
    errors: bytes | None = None
    stream: StreamName | None = None


class TransactionWriter:
    """Writes rows into one transaction, and computes their fingerprint in `tally`.

    `turn` gives the segment for the first rows without a key; it differs between partitions, so that many small ones do
    not meet in one segment.
    """

    def __init__(self, transaction: Transaction, columns: SinkColumns, turn: int = 0) -> None:
        self.tally = RowTally()
        self._transaction = transaction
        self._columns = columns
        self._encoder = columns.encoder()
        self._router = Router(transaction.segments)
        self._next_lane = turn % self._router.lanes

    def write(self, batch: pa.RecordBatch) -> None:
        """Route and write rows; waits while too many bytes are in flight.

        Raises:
            ConfigurationError: an event is null, or a value does not fit the schema.
            EventTooLargeError: an event has more than 8 MiB.
            TransactionAbortedError: the transaction was aborted, or its lease ran out.
        """
        events = check_events(self._columns.events(batch, self._encoder))
        positions = _positions(self._columns, batch, self._encoder)
        self.tally.add(events, positions)
        frames = frame_events(events)
        if positions is None or self._router.lanes == 1:
            self._write_anywhere(frames, 0, len(frames))
            return
        order, bounds = self._router.group(positions)
        frames = frames.take(order)
        by_lane = [frames.blocks(int(bounds[i]), int(bounds[i + 1])) for i in range(self._router.lanes)]
        for blocks in zip_longest(*by_lane):  # in turn, so that no segment waits for another one's acknowledgements
            for lane, block in enumerate(blocks):
                if block is not None:
                    self._transaction.write_block(lane, block)
        self._write_anywhere(frames, int(bounds[-2]), int(bounds[-1]))

    def _write_anywhere(self, frames: FramedEvents, start: int, end: int) -> None:
        """Write rows without a key to the segments in turn, block by block."""
        for block in frames.blocks(start, end):
            self._transaction.write_block(self._next_lane, block)
            self._next_lane = (self._next_lane + 1) % self._router.lanes


class OpenPartition:
    """The rows of a partition on their way into a transaction of a stream.

    Args:
        client: a connected client.
        stream: the stream.
        columns: the columns of the rows.
        turn: differs between partitions.
        lease: of the transaction, in seconds.
    """

    def __init__(
        self, client: PravegaClient, stream: StreamName, columns: SinkColumns, turn: int, lease: float
    ) -> None:
        self.transaction = client.open_transaction(stream, lease=lease)
        self._columns = columns
        self._writer = TransactionWriter(self.transaction, columns, turn)

    def write(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Write batches; see `TransactionWriter.write`."""
        for chunk in chunks(batches, _wanted(self._columns, len(self.transaction.segments.segments))):
            self._writer.write(chunk)

    def end(self, keeper: LeaseKeeper, partition: int, stream: StreamName | None = None) -> PartitionResult:
        """Make the rows durable, and leave the transaction open for the driver.

        Args:
            keeper: renews its lease.
            partition: the number of the partition in the write.
            stream: the stream of the transaction, if it is not the first one of the write.

        Raises:
            PravegaError: it cannot be kept open.
        """
        self.transaction.flush()
        witnessed_at = _witnessed_at(self.transaction)
        self.transaction.detach()
        keeper.keep(self.transaction.txn_id, stream)
        tally = self._writer.tally
        rows = tally.fingerprint
        commit = PartitionCommit(
            partition=partition,
            stream=stream,
            txn_id=self.transaction.txn_id,
            events=rows.events,
            bytes=rows.bytes,
            hashes=rows.hashes,
            checksum=tally.checksum,
        )
        return PartitionResult(commit, rows, witnessed_at, stream=stream)

    def abort(self) -> None:
        """Abort the transaction; a failure is logged, not raised."""
        try:
            self.transaction.abort()
        except PravegaError as error:  # the error of the write matters more; the lease ends the transaction
            logger.warning("could not abort a transaction after a failure: %s", error)


def write_in_transaction(
    client: PravegaClient,
    stream: StreamName,
    columns: SinkColumns,
    partition: int,
    batches: Iterable[pa.RecordBatch],
    lease: float,
    keeper: LeaseKeeper,
) -> PartitionResult:
    """Write a partition into a transaction, durably, and leave it open for the driver.

    The transaction's lease is kept alive while the task runs. When the task ends, the other tasks of the job may
    need much longer, and this process may be gone by then: so the keepers of the job's tasks renew the leases of all
    transactions; `keeper` is the one of this process. See `aiopravega.ledger.commits.leases`.

    Raises:
        PravegaError: the write failed; the transaction is aborted.
    """
    batches = iter(batches)
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        return PartitionResult()
    opened = OpenPartition(client, stream, columns, partition, lease)
    try:
        opened.write(chain([first], batches))
        return opened.end(keeper, partition)
    except BaseException:
        opened.abort()
        raise


class Recognition:
    """The fingerprint of the rows of a partition, which are not written, in `tally`."""

    def __init__(self, columns: SinkColumns) -> None:
        self.tally = RowTally()
        self._columns = columns
        self._encoder = columns.encoder()

    def add(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Read rows.

        Raises:
            ConfigurationError: an event is null, or a value does not fit the schema.
            EventTooLargeError: an event has more than 8 MiB.
        """
        for chunk in chunks(batches, BLOCK_BYTES):
            events = check_events(self._columns.events(chunk, self._encoder))
            self.tally.add(events, _positions(self._columns, chunk, self._encoder))


def recognise(columns: SinkColumns, batches: Iterable[pa.RecordBatch]) -> PartitionResult:
    """Compute the fingerprint of the rows of a partition, without a write; it raises as `Recognition.add`."""
    found = Recognition(columns)
    found.add(batches)
    return PartitionResult(rows=found.tally.fingerprint)


def _witnessed_at(transaction: Transaction) -> datetime | None:
    try:
        return transaction.witnessed_at()
    except PravegaError as error:  # the write is then remembered forever, which does no harm
        logger.warning("no segment store gives the time to %s: %s", transaction, error)
        return None


def write_plainly(writer: EventWriter, columns: SinkColumns, batches: Iterable[pa.RecordBatch]) -> int:
    """Write a partition without a transaction, at least once; returns the number of events.

    Raises:
        PravegaError: the write failed; some of its events may be in the stream.
    """
    count = 0
    encoder = columns.encoder()
    for batch in chunks(batches, _wanted(columns, len(writer.segments.segments))):
        frames = frame_events(columns.events(batch, encoder))
        segments = writer.segments
        writer.write_blocks(list(_grouped(frames, _positions(columns, batch, encoder), Router(segments))), segments)
        count += len(frames)
    return count


def _positions(
    columns: SinkColumns, batch: pa.RecordBatch, encoder: "BlockSerializer | None"
) -> npt.NDArray[np.float64] | None:
    """The positions of the rows' keys in the key space, or None if no row has a key."""
    keys = columns.keys(batch, encoder)
    return None if keys is None else positions_of(keys)


def _grouped(frames: FramedEvents, positions: npt.NDArray[np.float64] | None, router: Router) -> Iterator[FramedBlock]:
    """Make blocks of one segment each, with the positions of their events, since the stream may scale meanwhile."""
    if positions is None:
        yield from frames.blocks(0, len(frames))
        return
    order, bounds = router.group(positions)
    frames, positions = frames.take(order), positions[order]
    for lane in range(router.lanes):
        yield from frames.blocks(int(bounds[lane]), int(bounds[lane + 1]), positions)
    yield from frames.blocks(int(bounds[-2]), int(bounds[-1]))
