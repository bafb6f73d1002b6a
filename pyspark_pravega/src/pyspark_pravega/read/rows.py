"""Blocks of events as Arrow record batches with the columns that a read of Pravega has.

No event is touched one by one: Arrow gets the frames as they are, cuts off their headers, and the columns that are the
same in every row are made once. Nothing here knows servers or Spark.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega import wire
from aiopravega.names import SegmentId
from aiopravega.read.bulk import EventBlock
from pyspark_pravega.read.frames import Positions

# Of Pravega's JVM connector, in its order.
SCHEMA: Final = pa.schema(
    [
        ("event", pa.binary()),
        ("scope", pa.string()),
        ("stream", pa.string()),
        ("segment_id", pa.int64()),
        ("offset", pa.int64()),
    ]
)
# Bounds the memory of a batch of very short events: a row is some 50 bytes apart from its event.
LARGEST_BATCH_ROWS: Final = 100_000
# Without an explicit end, PyArrow 26 fails to cut off the headers ("Negative buffer resize").
_TO_THE_END: Final = 2**31 - 1


class RowMaker:
    """Makes the rows of one segment."""

    def __init__(self, segment: SegmentId) -> None:
        self._segment = segment
        self._constants: list[pa.Array] = self._make_constants(0)

    def batches(self, block: EventBlock[Positions]) -> list[pa.RecordBatch]:
        """The events of a block in batches of up to `LARGEST_BATCH_ROWS` rows; they do not need the block any more."""
        # Arrow's offsets have one more: the end of the last value.
        borders = np.append(block.frames, np.int32(len(block.data)))
        data = pa.py_buffer(block.data)
        return [
            self._batch(borders[first : first + LARGEST_BATCH_ROWS + 1], data, block.offset)
            for first in range(0, len(block.frames), LARGEST_BATCH_ROWS)
        ]

    def _batch(self, borders: Positions, data: pa.Buffer, base: int) -> pa.RecordBatch:
        rows = len(borders) - 1
        frames = pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(borders), data], null_count=0)
        events = pc.binary_slice(frames, wire.EVENT_HEADER, _TO_THE_END)
        if rows > len(self._constants[0]):
            self._constants = self._make_constants(rows)
        constants = [column.slice(0, rows) for column in self._constants]
        offsets = borders[:-1].astype(np.int64)
        offsets += base
        return pa.RecordBatch.from_arrays([events, *constants, _long_column(offsets)], schema=SCHEMA)

    def _make_constants(self, rows: int) -> list[pa.Array]:
        """The columns `scope`, `stream` and `segment_id`."""
        name = self._segment.stream
        segment_ids = np.full(rows, self._segment.to_int(), np.int64)
        return [_repeated(name.scope, rows), _repeated(name.stream, rows), _long_column(segment_ids)]


# Columns are made of buffers, because `pa.array` and `pa.scalar` import pandas, which costs each worker 45 MB
# and most of a second.


def _long_column(values: npt.NDArray[np.int64]) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)], null_count=0)


def _repeated(text: str, rows: int) -> pa.Array:
    data = text.encode()
    borders = np.arange(rows + 1, dtype=np.int32) * np.int32(len(data))
    return pa.Array.from_buffers(
        pa.string(), rows, [None, pa.py_buffer(borders), pa.py_buffer(data * rows)], null_count=0
    )
