"""Cursors into many Avro datums at once.

Avro has no lengths to jump by: a datum has to be followed field by field. Here this is done for all events of a batch
together, with one cursor for each: every step reads the same field of every event with a few operations of numpy. A
value that cannot be read marks its event as failed; the other events are still read. Types and schemas are not known
here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aiopravega.schema.arrow.arrays import Mask, Numbers, borders_of, numbers

_MORE: Final = 0x80  # the bit of a byte of a number that says that another one follows
_LOW: Final = np.uint8(0x7F)
_LONGEST: Final = 70  # bits of the ten bytes of the longest number
_ONE: Final = np.uint64(1)
_WORD: Final = 8  # bytes that are read together
_MORES: Final = np.uint64(0x8080808080808080)
# Groups of 7 bits in bytes, then of 14 in pairs, then of 28: each step moves the upper half down over the gap.
_SQUEEZE: Final = (
    (np.uint64(0x007F007F007F007F), 1),
    (np.uint64(0x00003FFF00003FFF), 2),
    (np.uint64(0x000000000FFFFFFF), 4),
)


@dataclass(slots=True)
class Outcome:
    """The failures of a batch: `failed` has for each event an index into `reasons`, or 0."""

    failed: npt.NDArray[np.int32]
    reasons: list[str]


class Events:
    """Some events of a batch, each with the offset up to which it has been read."""

    def __init__(
        self, data: npt.NDArray[np.uint8], buffer: pa.Buffer, at: Numbers, end: Numbers, rows: Numbers, outcome: Outcome
    ) -> None:
        self.data, self._buffer = data, buffer
        self.at, self.end, self._rows, self._outcome = at, end, rows, outcome

    @classmethod
    def of(cls, payloads: pa.BinaryArray) -> Self:
        """All events of an array, none read yet."""
        borders = borders_of(payloads).astype(np.int64)
        buffer = payloads.buffers()[2] or pa.py_buffer(b"")
        outcome = Outcome(np.zeros(len(payloads), np.int32), [""])
        rows = np.arange(len(payloads))
        return cls(np.frombuffer(buffer, np.uint8), buffer, borders[:-1].copy(), borders[1:], rows, outcome)

    def __len__(self) -> int:
        return len(self.at)

    def some(self, rows: Numbers) -> "Events":
        """A part of the cursors; `read_on` takes over its offsets."""
        return Events(self.data, self._buffer, self.at[rows], self.end[rows], self._rows[rows], self._outcome)

    def read_on(self, rows: Numbers, part: "Events") -> None:
        """Take over the offsets of a part of the cursors."""
        self.at[rows] = part.at

    def items(self, rows: Numbers, start: Numbers, end: Numbers) -> "Events":
        """Cursors for parts of events: each with its row, its start and its end, in the order of the data."""
        return Events(self.data, self._buffer, start, end, self._rows[rows], self._outcome)

    def view(self, end: int) -> memoryview:
        """The data up to an offset."""
        return memoryview(self._buffer).cast("B")[:end]  # Arrow's buffer has signed bytes

    def alive(self, rows: Numbers) -> Mask:
        """The mask of those rows that have not failed."""
        alive: Mask = self._outcome.failed[self._rows[rows]] == 0
        return alive

    def fail(self, mask: Mask, reason: str) -> None:
        """Give up events; the first reason of each counts."""
        if not mask.any():
            return
        failed = self._outcome.failed
        rows = self._rows[mask]
        fresh = rows[failed[rows] == 0]
        if len(fresh):
            failed[fresh] = len(self._outcome.reasons)
            self._outcome.reasons.append(reason)
        self.at[mask] = self.end[mask]

    def failures(self) -> dict[int, str]:
        """The rows that failed, each with its reason."""
        failed = self._outcome.failed
        return {int(row): self._outcome.reasons[failed[row]] for row in np.flatnonzero(failed)}

    def longs(self) -> Numbers:
        """The next number of each event: zigzag, in groups of seven bits, the lowest first."""
        at = self.at
        byte = self.data.take(at, mode="clip") if len(self.data) else np.zeros(len(at), np.uint8)
        value = (byte & _LOW).astype(np.uint64)
        rows = np.flatnonzero(byte & _MORE)
        at += 1
        if len(rows):
            at[rows] -= 1
            self._long_ones(rows, value)
        self._check_end()
        return (value >> _ONE).astype(np.int64) ^ -(value & _ONE).astype(np.int64)

    def _long_ones(self, rows: Numbers, value: npt.NDArray[np.uint64]) -> None:
        """Numbers of more than one byte: eight bytes at once if the number ends within them, and the data does not."""
        at = self.at
        start = at[rows]
        count = len(self.data) - _WORD + 1
        if count > 0:
            everywhere: npt.NDArray[np.uint64] = np.ndarray((count,), "<u8", self.data, 0, (1,))
            word = everywhere[np.minimum(start, count - 1)]
            ends = ~word & _MORES
            last = ends & (~ends + _ONE)  # the lowest bit that is set
            small = (last != 0) & (start < count)
            # The exponent of a power of two, as a float has it, is the number of its bit.
            bytes_ = ((last.astype(np.float64).view(np.int64) >> 52) - 1023 + 1) >> 3
            word &= (last << _ONE) - _ONE
            for keep, shift in _SQUEEZE:
                word = (word & keep) | ((word & (keep << np.uint64(8 * shift))) >> np.uint64(shift))
            value[rows] = word
            at[rows] = np.where(small, start + bytes_, start)
            rows = rows[~small]
        self._one_by_one(rows, value)

    def _one_by_one(self, rows: Numbers, value: npt.NDArray[np.uint64]) -> None:
        value[rows] = 0
        for shift in range(0, _LONGEST, 7):
            if not len(rows):
                return
            byte = self.data.take(self.at[rows], mode="clip")
            self.at[rows] += 1
            value[rows] |= (byte & _LOW).astype(np.uint64) << np.uint64(shift)
            rows = rows[byte >= _MORE]
        self.fail(_mask(rows, len(self)), "a number has more than 10 bytes")

    def _check_end(self) -> None:
        over = self.at > self.end
        if over.any():
            self.fail(over, "it ends in the middle of a value")

    def fixed(self, width: int) -> npt.NDArray[np.uint8]:
        """The next `width` bytes of each event, as rows of a table; zeros if the data has fewer."""
        start = self._fixed_starts(width)
        if len(self.data) < width or not width:
            return np.zeros((len(start), width), np.uint8)
        windows = np.lib.stride_tricks.sliding_window_view(self.data, width)
        return windows[np.minimum(start, len(windows) - 1)]

    def words(self, kind: str, width: int) -> npt.NDArray[np.generic]:
        """The next number of fixed width of each event."""
        start = self._fixed_starts(width)
        count = len(self.data) - width + 1
        if count < 1:
            return np.zeros(len(start), kind)
        everywhere: npt.NDArray[np.generic] = np.ndarray((count,), kind, self.data, 0, (1,))
        return everywhere[np.minimum(start, count - 1)]

    def _fixed_starts(self, width: int) -> Numbers:
        start = self.at.copy()
        self.skip(width)
        return start

    def skip(self, width: int) -> None:
        """Skip some bytes of each event."""
        self.at += width
        self._check_end()

    def lengths(self, what: str, least: int = 1) -> Numbers:
        """The next number of each event, as a count of things of at least `least` bytes that follow."""
        count = self.longs()
        wrong = (count < 0) | (count * least > self.end - self.at) | (count > len(self.data))
        if wrong.any():
            self.fail(wrong, f"the length of {what} is negative, or beyond the end")
            count[wrong] = 0
        return count

    def spans(self) -> tuple[Numbers, Numbers]:
        """Start and end of the next string, or run of bytes, of each event."""
        length = self.lengths("a string or of bytes")
        start = self.at.copy()
        self.at += length
        return start, self.at.copy()

    def slices(self, start: Numbers, end: Numbers) -> pa.BinaryArray:
        """The bytes between starts and ends, which must be in the order of the data."""
        count = len(start)
        if not count:
            return pa.Array.from_buffers(pa.binary(), 0, [None, pa.py_buffer(bytes(4)), pa.py_buffer(b"")])
        # Arrow gathers them without a loop here: of the wanted parts and the gaps between them, every second is taken.
        borders = np.empty(2 * count + 1, np.int32)
        borders[0:-1:2], borders[1::2], borders[-1] = start, end, end[-1]
        both = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(borders), self._buffer], null_count=0)
        return both.take(numbers(np.arange(0, 2 * count, 2, dtype=np.int32), pa.int32()))

    def check_finished(self) -> None:
        """Fail events with bytes after their end. Zeros are allowed, since Java's codecs pad with them."""
        left = np.flatnonzero(self.at < self.end)
        if not len(left):
            return
        total = np.concatenate(([0], np.cumsum(self.data != 0)))
        wrong = left[total[self.end[left]] > total[self.at[left]]]
        self.fail(_mask(wrong, len(self)), "bytes are left behind its last field: it was written with another schema")


def where(events: Events, rows: Numbers, read: Callable[[Events], pa.Array]) -> pa.Array:
    """Read a value of some of the events."""
    if len(rows) == len(events):
        return read(events)
    part = events.some(rows)
    array = read(part)
    events.read_on(rows, part)
    return array


def _mask(rows: Numbers, count: int) -> Mask:
    mask = np.zeros(count, np.bool_)
    mask[rows] = True
    return mask
