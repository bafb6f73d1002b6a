"""One task: the events of pieces of segments as record batches, for batches and micro-batches alike."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

import pyarrow as pa

from aiopravega.errors import MalformedEventError, SplitProofError
from aiopravega.read.bulk import EventBlock, EventBlocks
from aiopravega.schema.arrow.frames import Positions, find_frames
from pyspark_pravega.connections import cluster
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.read.packing import PiecesPartition
from pyspark_pravega.read.plan import Piece
from pyspark_pravega.read.read_options import ReadOptions
from pyspark_pravega.read.rows import RowMaker

# Bytes that become a batch: smaller ones cost more time in Spark, larger ones more memory in the worker.
_BLOCK_BYTES: Final = 4 * 1024 * 1024
# Requests under way: as many as fill the block that is waited for, so that only one more is begun.
_REQUESTS: Final = 4
# Buffers beyond this are for events of megabytes.
_ORDINARY_BYTES: Final = 5 * 1024 * 1024


def read_partition(options: ReadOptions, columns: Columns, partition: PiecesPartition) -> Iterator[pa.RecordBatch]:
    """The events of one partition, piece by piece.

    Raises:
        SplitProofError: the segment was split where no event starts.
        PravegaError: they cannot be read.
    """
    for piece in partition.pieces:
        yield from _read_piece(options, columns, piece)


def _read_piece(options: ReadOptions, columns: Columns, piece: Piece) -> Iterator[pa.RecordBatch]:
    rows = RowMaker(piece.part.segment, columns, piece.times)
    blocks = cluster(options.config).reader.read(
        piece.part,
        scan=find_frames,
        allocate=_arrow_buffer,
        block_bytes=_BLOCK_BYTES,
        requests=_REQUESTS,
    )
    # Not by a loop, whose variable would hold a block while its batches are sent.
    yield from chain.from_iterable(map(rows.batches, _proving(piece, blocks)))
    yield from rows.finish(piece.part.size)


def _proving(piece: Piece, blocks: EventBlocks[Positions]) -> Iterator[EventBlock[Positions]]:
    """The blocks of a piece, which prove that it begins and ends between events.

    Events that follow one another from the start of the range to the start of the next piece, and from there to the
    one after it, are all of the range's events, each once. So it is enough that every piece ends exactly where the
    next one begins, which is what the reader of the blocks insists on.

    Raises:
        SplitProofError: it does not.
        MalformedEventError: it does not, and that is not because of a split.
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
    """Of Arrow's pool, which uses memory again without asking the system for it."""
    if size > _ORDINARY_BYTES:
        # These are all of other sizes, so that what the pool keeps of earlier ones would add up.
        pa.default_memory_pool().release_unused()
    return memoryview(pa.allocate_buffer(size))
