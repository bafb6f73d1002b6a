"""One task of a read: the events of pieces of segments as record batches, for batches and micro-batches."""

from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import Final

import pyarrow as pa

from aiopravega.errors import MalformedEventError, SplitProofError
from aiopravega.read.bulk import EventBlock, EventBlocks
from aiopravega.schema.arrow.frames import Positions, find_frames
from pyspark_pravega.connections import cluster
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.read.packing import ReadPartition
from pyspark_pravega.read.plan import SegmentPiece
from pyspark_pravega.read.read_options import ReadOptions
from pyspark_pravega.read.rows import SegmentRows

# Bytes of a batch: smaller batches cost more time in Spark, larger ones more memory in the worker.
_BLOCK_BYTES: Final = 4 * 1024 * 1024
# Requests under way: as many as fill the current block, so that only one more block is begun.
_REQUESTS: Final = 4
# Larger buffers are for events of megabytes.
_ORDINARY_BYTES: Final = 5 * 1024 * 1024


def read_partition(options: ReadOptions, columns: Columns, partition: ReadPartition) -> Iterator[pa.RecordBatch]:
    """Read the events of one partition, piece by piece.

    Raises:
        SplitProofError: the segment was split where no event starts.
        PravegaError: the events cannot be read.
    """
    for piece in partition.pieces:
        yield from _read_piece(options, columns, piece)


def _read_piece(options: ReadOptions, columns: Columns, piece: SegmentPiece) -> Iterator[pa.RecordBatch]:
    blocks = cluster(options.config).reader.read(
        piece.part,
        scan=find_frames,
        allocate=_arrow_buffer,
        block_bytes=_BLOCK_BYTES,
        requests=_REQUESTS,
    )
    if not piece.gives_rows:
        deque(_proving(piece, blocks), maxlen=0)
        return
    rows = SegmentRows(piece.part.segment, columns, piece.times)
    # Not by a loop: its variable would keep a block alive while its batches are sent.
    yield from chain.from_iterable(map(rows.batches, _proving(piece, blocks)))
    yield from rows.finish(piece.part.size)


def _proving(piece: SegmentPiece, blocks: EventBlocks[Positions]) -> Iterator[EventBlock[Positions]]:
    """Yield the blocks of a piece, which prove that the piece begins and ends between events.

    Consecutive events from the start of the range to the start of the next piece, and from there to the start of the
    piece after it, are all events of the range, each once. So it is enough that every piece ends exactly where the next
    one begins, which the reader of the blocks checks.

    Raises:
        SplitProofError: the piece does not begin or end between events.
        MalformedEventError: the same, but not because of a split.
    """
    part, whole = piece.part, piece.whole
    try:
        yield from blocks
    except MalformedEventError as error:
        if part == whole or (error.at == whole.start and not error.cut_off):
            raise
        raise SplitProofError(
            f"{part.segment} was split at offsets {part.start} and {part.end}, but no events begin and "
            f"end there: {error}. Read it again with the option split_bytes=0, which splits no segment",
            at=error.at,
        ) from error


def _arrow_buffer(size: int) -> memoryview:
    """A buffer of Arrow's pool, which uses memory again without asking the system for it."""
    if size > _ORDINARY_BYTES:
        # Such buffers differ in size, so that the pool would keep the memory of many.
        pa.default_memory_pool().release_unused()
    return memoryview(pa.allocate_buffer(size))
