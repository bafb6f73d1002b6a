"""Writes of one partition: its rows go into one transaction, or plainly to the stream.

The task leaves its transaction open and sends its id to the driver, which commits the transactions of all tasks, or
none. This module knows neither ledgers nor Spark.
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
from aiopravega.routing import SegmentMap, key_position
from aiopravega.write.batch import BLOCK_BYTES, FramedBlock
from pyspark_pravega.write.columns import SinkColumns
from pyspark_pravega.write.framing import FramedEvents, check_events, frame_events
from pyspark_pravega.write.row_hashes import RowTally

if TYPE_CHECKING:
    from aiopravega.schema.open.blocks.serializer import BlockSerializer

logger = logging.getLogger(__name__)

# Bounds the memory of a task.
_LARGEST_CHUNK: Final = 16 * BLOCK_BYTES


class Router:
    """Finds the lane of each row: the index of its segment in a segment map, or `keyless` for rows without a key.

    Each distinct key of a batch is hashed once, by `positions_of`; the rest is arithmetic on whole arrays.
    """

    def __init__(self, segments: SegmentMap) -> None:
        self.lanes = len(segments.segments)
        self.keyless = self.lanes
        self._lows = np.array(segments.lows)

    def lanes_of(self, positions: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        """The lane of each position."""
        lanes = np.searchsorted(self._lows, positions, side="right") - 1
        return np.where(np.isnan(positions), self.keyless, lanes)

    def group(self, positions: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Sort rows by lane, keeping their order within each.

        Returns the rows' indices in the new order, and `lanes + 2` bounds: lane `i` has the indices
        `bounds[i]:bounds[i + 1]`; the last group has the rows without a key.
        """
        lanes = self.lanes_of(positions)
        order = np.argsort(lanes.astype(np.uint16), kind="stable")
        bounds = np.zeros(self.lanes + 2, np.intp)
        np.cumsum(np.bincount(lanes, minlength=self.lanes + 1), out=bounds[1:])
        return order, bounds


def positions_of(keys: pa.Array) -> npt.NDArray[np.float64]:
    """The position of each key of a string array in the key space; NaN for rows without a key."""
    encoded = keys.dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    # One more position, after all distinct keys, for the rows without one.
    table = np.fromiter((*map(key_position, distinct), np.nan), np.float64, len(distinct) + 1)
    positions: npt.NDArray[np.float64] = table[encoded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)]
    return positions


def chunks(batches: Iterable[pa.RecordBatch], wanted: int) -> Iterator[pa.RecordBatch]:
    """Join small batches and cut large ones, to about `wanted` bytes each; leave out empty ones."""
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
    """The bytes of a chunk: as many as give each segment whole blocks.

    Rows without keys go to any segment, so that half a block is enough: batches of Spark of that size then need not be
    copied to be joined.
    """
    return min(_LARGEST_CHUNK, BLOCK_BYTES * segments) if columns.keyed else BLOCK_BYTES // 2


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """The result of a task: `commit` has its transaction for the driver; None if it has none to commit.

    `rows` is the fingerprint of its rows, written or not, if they are to be compared. `witnessed_at` is a time after
    the transaction was opened, by a segment store's clock. `errors` are the errors of the rows, as `Sieve.packed`
    gives them; None: there are none.
    """

    commit: PartitionCommit | None = None
    rows: Fingerprint = field(default_factory=Fingerprint)
    witnessed_at: datetime | None = None
    errors: bytes | None = None


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
    commit = PartitionCommit(
        partition=partition,
        txn_id=transaction.txn_id,
        events=rows.events,
        bytes=rows.bytes,
        hashes=rows.hashes,
        checksum=writer.tally.checksum,
    )
    return PartitionResult(commit, rows, witnessed_at)


def recognise(columns: SinkColumns, batches: Iterable[pa.RecordBatch]) -> PartitionResult:
    """Compute the fingerprint of the rows of a partition, without a write.

    Raises:
        ConfigurationError: an event is null, or a value does not fit the schema.
        EventTooLargeError: an event has more than 8 MiB.
    """
    tally, encoder = RowTally(), columns.encoder()
    for chunk in chunks(batches, BLOCK_BYTES):
        tally.add(check_events(columns.events(chunk, encoder)), _positions(columns, chunk, encoder))
    return PartitionResult(rows=tally.fingerprint)


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
