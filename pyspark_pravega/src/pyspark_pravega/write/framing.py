"""Events in Arrow to Pravega's frames, and frames to blocks, on whole arrays.

A frame is an eight-byte header and the event. Framed events lie back to back in the data buffer of an Arrow array, so
that a block to be sent is a view of it. This module knows neither segments nor Spark nor servers.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega import wire
from aiopravega.errors import ConfigurationError, EventTooLargeError
from aiopravega.write.batch import BLOCK_BYTES, FramedBlock

# The type (zero) and the length of an event, read as one big-endian int64, have the value of the length.
_HEADER: Final = np.dtype(">i8")
_OFFSET: Final = np.dtype(np.int32)
# Arrow addresses at most 2 GiB in one array of binary values.
LARGEST_ARRAY: Final = 2**31 - 1


class FramedEvents:
    """Framed events of one array, in its order; `offsets[i]:offsets[i + 1]` is the frame of event `i` in `data`."""

    def __init__(self, frames: pa.BinaryArray) -> None:
        _, offsets, data = frames.buffers()
        self.array = frames
        self.offsets: npt.NDArray[np.int32] = np.frombuffer(
            offsets, _OFFSET, len(frames) + 1, frames.offset * _OFFSET.itemsize
        )
        self.data = memoryview(data if data is not None else b"")

    def __len__(self) -> int:
        return len(self.array)

    def take(self, order: npt.NDArray[np.intp]) -> "FramedEvents":
        """The frames at these indices, in that order."""
        return FramedEvents(self.array.take(pa.array(order)))

    def blocks(
        self, start: int, end: int, positions: npt.NDArray[np.float64] | None = None, largest: int = BLOCK_BYTES
    ) -> Iterator[FramedBlock]:
        """Cut the events `[start, end)` into blocks of about equal size, up to `largest` bytes.

        A longer event is one block. Equal sizes avoid a tiny last block, which would cost the server as much as a large
        one. `positions` are the positions of all events in the key space, if the blocks are to have them.
        """
        while start < end:
            size = int(self.offsets[end] - self.offsets[start])
            limit = int(self.offsets[start]) + size // -(-size // largest)
            fitting = int(np.searchsorted(self.offsets, limit, side="right")) - 1
            following = min(end, max(fitting, start + 1))
            own = None if positions is None else positions[start:following].tolist()
            yield FramedBlock(self.data[self.offsets[start] : self.offsets[following]], following - start, own)
            start = following


def check_events(events: pa.Array) -> pa.BinaryArray:
    """The events of a binary or string array as binary values, checked: none is null or too large.

    Raises:
        ConfigurationError: an event is null.
        EventTooLargeError: an event has more than 8 MiB.
    """
    if events.null_count:
        row = pc.index(pc.is_null(events), pa.scalar(True)).as_py()
        raise ConfigurationError(
            f"{events.null_count} of {len(events)} rows have no event (null), the first is row {row} of its batch: "
            "filter them out, or give them a value"
        )
    if not pa.types.is_binary(events.type):
        events = events.cast(pa.binary())
    lengths = pc.binary_length(events).to_numpy(zero_copy_only=False)
    if len(lengths) and int(lengths.max()) > wire.MAX_EVENT:
        row = int(lengths.argmax())
        raise EventTooLargeError(
            f"row {row} of its batch is an event of {lengths[row]:,} bytes: writes by Spark take at most "
            f"{wire.MAX_EVENT:,}, as transactions do. It was not sent. Split it, store it elsewhere and write "
            "its address, or write it by the client's writer with large_events=True"
        )
    return events


def frame_events(events: pa.Array) -> FramedEvents:
    """Frame the events of a binary or string array without nulls, of up to `LARGEST_ARRAY` bytes with headers.

    Raises:
        ConfigurationError: an event is null.
        EventTooLargeError: an event has more than 8 MiB.
    """
    events = check_events(events)
    lengths = pc.binary_length(events).to_numpy(zero_copy_only=False)
    headers = lengths.astype(_HEADER)
    starts = np.arange(0, (len(lengths) + 1) * _HEADER.itemsize, _HEADER.itemsize, dtype=_OFFSET)
    as_array = pa.Array.from_buffers(pa.binary(), len(lengths), [None, pa.py_buffer(starts), pa.py_buffer(headers)])
    return FramedEvents(pc.binary_join_element_wise(as_array, events, b""))
