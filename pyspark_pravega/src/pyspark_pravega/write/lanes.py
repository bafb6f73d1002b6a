"""Lanes of a write: the segment of each row, by its routing key, and chunks of rows that fill the lanes' blocks."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aiopravega.routing import SegmentMap, key_position
from aiopravega.write.batch import BLOCK_BYTES

# Bounds the memory of a task.
LARGEST_CHUNK: Final = 16 * BLOCK_BYTES


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
        pieces = -(-batch.nbytes // LARGEST_CHUNK)
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


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
