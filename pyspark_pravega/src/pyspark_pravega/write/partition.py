"""One task's part of a write: the rows of a partition into a transaction of their own, or plainly.

The task leaves its transaction open and hands its id to the driver, which commits all of them or none. No ledger
and no Spark is known here.
"""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final

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
from pyspark_pravega.write.lanes import Router, positions_of
from pyspark_pravega.write.row_hashes import RowTally

if TYPE_CHECKING:
    from aiopravega.schema.open.blocks.serializer import BlockSerializer

logger = logging.getLogger(__name__)

# A task stays small.
_LARGEST_CHUNK: Final = 16 * BLOCK_BYTES


def chunks(batches: Iterable[pa.RecordBatch], wanted: int) -> Iterator[pa.RecordBatch]:
    """Join small batches and cut large ones, to about `wanted` bytes each; nothing is made of empty ones."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        pieces = -(-batch.nbytes // _LARGEST_CHUNK)
        rows = -(-batch.num_rows // pieces)
        for start in range(0, batch.num_rows, rows):
            piece = batch.slice(start, rows)
            waiting.append(piece)
            size += piece.nbytes
            if size >= wanted:
                yield _joined(waiting)
                waiting, size = [], 0
    if waiting:
        yield _joined(waiting)


def _wanted(columns: SinkColumns, segments: int) -> int:
    """The bytes of a chunk: so many that each segment gets whole blocks out of it.

    Rows without keys go to any segment, so that half a block is enough: what Spark hands over in pieces of that size is
    not copied once more to be joined.
    """
    return min(_LARGEST_CHUNK, BLOCK_BYTES * segments) if columns.keyed else BLOCK_BYTES // 2


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


@dataclass(frozen=True, slots=True)
class Partition:
    """What a task has done: `part` is what it has written, None if nothing, or nothing that is to be committed.

    `rows` is what its rows are recognised by, written or not, if anybody is to compare them. `witnessed_at` is a time
    since the transaction was opened, by a segment store's clock.
    """

    part: PartitionCommit | None = None
    rows: Fingerprint = field(default_factory=Fingerprint)
    witnessed_at: datetime | None = None


class TransactionWriter:
    """Writes rows into one transaction, and takes down in `tally` what they are recognised by.

    `turn` says whose turn it is among the segments for the first rows without a key; partitions differ in it, so that
    many small ones do not meet in one segment.
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
        """Rows without a key go to the segments in turn, block by block."""
        for block in frames.blocks(start, end):
            self._transaction.write_block(self._next_lane, block)
            self._next_lane = (self._next_lane + 1) % self._router.lanes


def write_in_transaction(
    client: PravegaClient,
    stream: StreamName,
    columns: SinkColumns,
    partition: int,
    batches: Iterable[pa.RecordBatch],
    lease: float,
    keeper: LeaseKeeper,
) -> Partition:
    """Write a partition into a transaction, durably, and leave it open for the driver.

    The transaction's lease is kept alive while the task runs. When the task ends, the other tasks of the job may
    need much longer, and this process may be gone by then: so it is left to the keepers of the job's other tasks, of
    which `keeper` is this process's one; see `aiopravega.ledger.commits.leases`.

    Raises:
        PravegaError: why it failed; the transaction is aborted.
    """
    batches = iter(batches)
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        return Partition()
    transaction = client.open_transaction(stream, lease=lease)
    try:
        writer = TransactionWriter(transaction, columns, turn=partition)
        for chunk in chunks(chain([first], batches), _wanted(columns, len(transaction.segments.segments))):
            writer.write(chunk)
        transaction.flush()
        witnessed_at = _witnessed_at(transaction)
        transaction.detach()
        keeper.keep(transaction.txn_id)
    except BaseException:
        _abort(transaction)
        raise
    rows = writer.tally.fingerprint
    part = PartitionCommit(
        partition=partition,
        txn_id=transaction.txn_id,
        events=rows.events,
        bytes=rows.bytes,
        hashes=rows.hashes,
        checksum=writer.tally.checksum,
    )
    return Partition(part, rows, witnessed_at)


def recognise(columns: SinkColumns, batches: Iterable[pa.RecordBatch]) -> Partition:
    """What the rows of a partition are recognised by; nothing is written.

    Raises:
        ConfigurationError: an event is null, or a value does not fit the schema.
        EventTooLargeError: an event has more than 8 MiB.
    """
    tally, encoder = RowTally(), columns.encoder()
    for chunk in chunks(batches, BLOCK_BYTES):
        tally.add(check_events(columns.events(chunk, encoder)), _positions(columns, chunk, encoder))
    return Partition(rows=tally.fingerprint)


def _witnessed_at(transaction: Transaction) -> datetime | None:
    try:
        return transaction.witnessed_at()
    except PravegaError as error:  # the write is then remembered forever, which does no harm
        logger.warning("no segment store gives the time to %s: %s", transaction, error)
        return None


def _abort(transaction: Transaction) -> None:
    try:
        transaction.abort()
    except PravegaError as error:  # the error of the write matters more; the lease ends the transaction
        logger.warning("could not abort a transaction after a failure: %s", error)


def write_plainly(writer: EventWriter, columns: SinkColumns, batches: Iterable[pa.RecordBatch]) -> int:
    """Write a partition without a transaction, at least once; returns the number of events.

    Raises:
        PravegaError: why it failed; events may be in the stream already.
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
    """Blocks of one segment each; with their events' positions, since the stream may scale before they are written."""
    if positions is None:
        yield from frames.blocks(0, len(frames))
        return
    order, bounds = router.group(positions)
    frames, positions = frames.take(order), positions[order]
    for lane in range(router.lanes):
        yield from frames.blocks(int(bounds[lane]), int(bounds[lane + 1]), positions)
    yield from frames.blocks(int(bounds[-2]), int(bounds[-1]))
