"""Readers of values without parts: each reads the next value of every event into an Arrow array.

They are the leaves of a tree that follows a plan of reading: from the writer's data to the reader's types.
"""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from aiopravega.schema.arrow.arrays import booleans, numbers, pick, strings
from aiopravega.schema.avro.columns.cursors import Events
from aiopravega.schema.avro.columns.walks import after_number, after_span

_INT: Final = np.iinfo(np.int32)


class Node(Protocol):
    """Reads one value of each event."""

    @property
    def type(self) -> pa.DataType:
        """The Arrow type of the values."""

    def read(self, events: Events) -> pa.Array:
        """The next value of each event; undefined for events that fail."""

    def walk(self, view: memoryview, at: int) -> int:
        """The end of the value that begins at `at`; see `aiopravega.schema.avro.columns.walks`."""


@dataclass(frozen=True, slots=True)
class Null:
    """Reads null, as any type."""

    type: pa.DataType

    def read(self, events: Events) -> pa.Array:
        return pa.nulls(len(events), self.type)

    def walk(self, view: memoryview, at: int) -> int:
        return at


@dataclass(frozen=True, slots=True)
class Truth:
    """Reads a boolean."""

    type: pa.DataType

    def read(self, events: Events) -> pa.Array:
        byte = events.fixed(1)[:, 0]
        events.fail(byte > 1, "a boolean is neither 0 nor 1")
        return booleans(byte == 1)

    def walk(self, view: memoryview, at: int) -> int:
        return at + 1


@dataclass(frozen=True, slots=True)
class Whole:
    """Reads an int or a long; `factor` and `divisor` make microseconds of timestamps."""

    type: pa.DataType
    is_int: bool = False
    factor: int = 1
    divisor: int = 1

    def read(self, events: Events) -> pa.Array:
        values = events.longs()
        if self.is_int:
            events.fail((values < _INT.min) | (values > _INT.max), "an int is beyond 32 bits")
        if self.factor != 1:
            limit = np.iinfo(np.int64).max // self.factor
            events.fail((values > limit) | (values < -limit), "a timestamp is out of range")
            values = values * self.factor
        return _as(values // self.divisor if self.divisor != 1 else values, self.type)

    def walk(self, view: memoryview, at: int) -> int:
        return after_number(view, at)


@dataclass(frozen=True, slots=True)
class Real:
    """Reads a float or a double."""

    type: pa.DataType
    kind: str

    def read(self, events: Events) -> pa.Array:
        return _as(events.words(self.kind, int(self.kind[-1])), self.type)

    def walk(self, view: memoryview, at: int) -> int:
        return at + int(self.kind[-1])


@dataclass(frozen=True, slots=True)
class Bytes:
    """Reads bytes, or a string as bytes."""

    type: pa.DataType

    def read(self, events: Events) -> pa.Array:
        return events.slices(*events.spans())

    def walk(self, view: memoryview, at: int) -> int:
        return after_span(view, at)


@dataclass(frozen=True, slots=True)
class Text:
    """Reads a string, or bytes as a string."""

    type: pa.DataType

    def read(self, events: Events) -> pa.Array:
        start, end = events.spans()
        raw = events.slices(start, end)
        try:
            return raw.cast(self.type)
        except pa.ArrowInvalid:
            good = np.array([_is_text(value) for value in raw.to_pylist()], np.bool_)
            events.fail(~good, "a string is not UTF-8")
            return events.slices(start, np.where(good, end, start)).cast(self.type)

    def walk(self, view: memoryview, at: int) -> int:
        return after_span(view, at)


@dataclass(frozen=True, slots=True)
class FixedBytes:
    """Reads a fixed number of bytes."""

    type: pa.DataType
    size: int

    def read(self, events: Events) -> pa.Array:
        data = events.fixed(self.size)
        borders = np.arange(len(data) + 1, dtype=np.int32) * np.int32(self.size)
        return pa.Array.from_buffers(
            self.type, len(data), [None, pa.py_buffer(borders), pa.py_buffer(np.ascontiguousarray(data))], null_count=0
        )

    def walk(self, view: memoryview, at: int) -> int:
        return at + self.size


@dataclass(frozen=True, slots=True)
class Decimal:
    """Reads a decimal: an integer in two's complement, highest byte first; `size` is 0 if lengths differ."""

    type: pa.DataType
    size: int

    def read(self, events: Events) -> pa.Array:
        width = self.type.byte_width
        if self.size:
            raw = events.fixed(self.size)
            whole = raw if self.size >= width else np.pad(raw, ((0, 0), (width - self.size, 0)))
            sizes = np.full(len(raw), self.size)
        else:
            start, end = events.spans()
            at = np.maximum(end[:, None] - np.arange(width, 0, -1), 0)
            whole = events.data.take(at, mode="clip") if len(events.data) else np.zeros(at.shape, np.uint8)
            sizes = end - start
            events.fail(sizes == 0, "a decimal has no bytes")
        if whole.shape[1] > width:
            whole, sizes = _shortened(events, whole, width), np.full(len(whole), width)
        events.fail(sizes > width, f"a decimal has more than {width} bytes")
        sizes = np.clip(sizes, 1, width)
        first = np.take_along_axis(whole, (width - sizes)[:, None], axis=1)
        sign = np.where(first & 0x80, np.uint8(0xFF), np.uint8(0))
        filled = np.where(np.arange(width) < (width - sizes)[:, None], sign, whole)
        values = numbers(np.ascontiguousarray(filled[:, ::-1]).reshape(-1).view("V16"), self.type)
        return _checked_decimals(events, values)

    def walk(self, view: memoryview, at: int) -> int:
        return at + self.size if self.size else after_span(view, at)


@dataclass(frozen=True, slots=True)
class Symbols:
    """Reads an enumeration. A symbol that the reader does not know is None."""

    type: pa.DataType
    symbols: tuple[str | None, ...]

    def read(self, events: Events) -> pa.Array:
        index = events.longs()
        wrong = (index < 0) | (index >= len(self.symbols))
        if wrong.any():
            events.fail(wrong, "an enumeration has no such symbol")
            index[wrong] = 0
        unknown = np.array([symbol is None for symbol in self.symbols])
        if unknown.any():
            events.fail(unknown[index], "a symbol of an enumeration is not in the schema that is read with")
        return pick(strings([symbol or "" for symbol in self.symbols]), index)

    def walk(self, view: memoryview, at: int) -> int:
        return after_number(view, at)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Fails events with a value that the reader's schema does not have."""

    type: pa.DataType
    reason: str

    def read(self, events: Events) -> pa.Array:
        events.fail(np.ones(len(events), np.bool_), self.reason)
        return pa.nulls(len(events), self.type)

    def walk(self, view: memoryview, at: int) -> int:
        raise IndexError(self.reason)


def _as(values: "np.typing.NDArray[np.generic]", kind: pa.DataType) -> pa.Array:
    """Numbers in the layout of an Arrow type."""
    if pa.types.is_floating(kind):
        return numbers(values.astype(f"f{kind.byte_width}"), kind)
    return numbers(values.astype(f"i{kind.byte_width}"), kind)


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _shortened(events: Events, whole: "np.typing.NDArray[np.uint8]", width: int) -> "np.typing.NDArray[np.uint8]":
    """The lower bytes of longer integers, whose upper bytes may only repeat the sign."""
    upper, lower = whole[:, :-width], whole[:, -width:]
    sign = np.where(lower[:, :1] & 0x80, np.uint8(0xFF), np.uint8(0))
    events.fail((upper != sign).any(axis=1), f"a decimal has more than {width} bytes")
    return lower


def _checked_decimals(events: Events, values: pa.Array) -> pa.Array:
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        most = 10**values.type.precision
        scale = values.type.scale
        bad = [abs(int(value.scaleb(scale))) >= most for value in values.to_pylist()]
        events.fail(np.array(bad, np.bool_), f"a decimal has more than {values.type.precision} digits")
    return values
