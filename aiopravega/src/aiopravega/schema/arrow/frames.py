"""Positions of the frames in a block of bytes: runs of events of one length by arrays, all others one by one.

Lengths form a chain: each gives the position of the next one, so in general a loop has to follow it. But events are
often of one length. Then a run of such events is assumed, and proven by comparing every header of the run.
"""

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega import wire

Positions: TypeAlias = npt.NDArray[np.int32]

# Read as one big-endian int64, the type (zero) and the length of an event are the length.
_HEADER: Final = np.dtype(">i8")
# The fewest events of a run for which arrays are faster than the loop.
_SHORTEST_RUN: Final = 32
# Headers that are compared at a time: a run that ends early wastes so many at most.
_STEP: Final = 4096
# Without an explicit end, PyArrow 26 fails to cut off the headers ("Negative buffer resize").
_TO_THE_END: Final = 2**31 - 1
# If no run is found, the events of so many bytes are scanned one by one before the next attempt.
_LOOP_BYTES: Final = 128 * 1024


def find_frames(buffer: memoryview, start: int, end: int, largest: int = wire.LARGEST_EVENT) -> tuple[Positions, int]:
    """Positions of all whole frames in `[start, end)` of a buffer, and the end of the last one.

    The same as `aiopravega.wire.scan_frames`, but as an array.

    Raises:
        MalformedEventError: a header cannot be one.
        EventTooLargeError: an event has more than `largest` bytes.
    """
    found = [np.empty(0, np.int32)]
    at = start
    while at < end:
        run, at = _equal_frames(buffer, at, end, largest)
        if len(run):
            found.append(run)
            continue
        limit = min(at + _LOOP_BYTES, end)
        starts, at = wire.scan_frames(buffer, at, limit, largest)
        if not starts and limit < end:  # a frame longer than the limit
            starts, at = wire.scan_frames(buffer, at, end, largest)
        if not starts:
            break
        found.append(np.array(starts, np.int32))
    return np.concatenate(found), at


def _equal_frames(buffer: memoryview, start: int, end: int, largest: int) -> tuple[Positions, int]:
    """Positions of a run of frames of one length that begins at `start`, and its end; none if the run is short."""
    none = np.empty(0, np.int32), start
    if end - start < wire.EVENT_HEADER:
        return none
    length = int(np.frombuffer(buffer, _HEADER, 1, start)[0])
    stride = wire.EVENT_HEADER + length
    if not 0 <= length <= largest or end - start < _SHORTEST_RUN * stride:
        return none
    headers: npt.NDArray[np.int64] = np.ndarray(((end - start) // stride,), _HEADER, buffer, start, (stride,))
    count, step = 0, _SHORTEST_RUN
    while count < len(headers):
        others = headers[count : count + step] != length
        if others.any():
            count += int(others.argmax())
            break
        count += len(others)
        step = _STEP
    if count < _SHORTEST_RUN:
        return none
    run_end = start + count * stride
    return np.arange(start, run_end, stride, dtype=np.int32), run_end


def events_between(borders: Positions, data: pa.Buffer) -> pa.BinaryArray:
    """The events of whole frames, without a copy of the data.

    Args:
        borders: the position of each frame in the data, and the end of the last one.
        data: of a block.
    """
    frames = pa.Array.from_buffers(pa.binary(), len(borders) - 1, [None, pa.py_buffer(borders), data], null_count=0)
    return pc.binary_slice(frames, wire.EVENT_HEADER, _TO_THE_END)
