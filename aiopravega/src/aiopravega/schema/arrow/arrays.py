"""Arrow arrays from numbers of numpy, and of texts.

They are made of buffers, because `pa.array`, `pa.scalar` and `pa.repeat` import pandas if it is installed, which costs
each process 45 MB and most of a second.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def bitmap(mask: Mask) -> pa.Buffer:
    """The bits of a mask, in Arrow's order."""
    return pa.py_buffer(np.packbits(mask, bitorder="little"))


def numbers(values: npt.NDArray[np.generic], kind: pa.DataType, valid: Mask | None = None) -> pa.Array:
    """An array of a type of fixed width; `values` have the same layout."""
    validity = None if valid is None else bitmap(valid)
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(np.ascontiguousarray(values))])


def booleans(mask: Mask) -> pa.Array:
    """An array of truth values."""
    return pa.Array.from_buffers(pa.bool_(), len(mask), [None, bitmap(mask)], null_count=0)


def mask_of(array: pa.BooleanArray) -> Mask:
    """The mask of an array of truth values without nulls."""
    bits = np.frombuffer(array.buffers()[1], np.uint8) if len(array) else np.zeros(0, np.uint8)
    return np.unpackbits(bits, bitorder="little", count=array.offset + len(array))[array.offset :].view(np.bool_)


def positions(values: npt.NDArray[np.int64]) -> pa.Array:
    """The positions for `take`, as an array; a negative position is null."""
    missing = values < 0
    return numbers(values, pa.int64(), ~missing if missing.any() else None)


def pick(array: pa.Array, values: npt.NDArray[np.int64]) -> pa.Array:
    """The values at these positions; nulls for negative ones."""
    return array.take(positions(values))


def spread(array: pa.Array, rows: npt.NDArray[np.int64], count: int) -> pa.Array:
    """An array of `count` values: the values of `array` at `rows`, and nulls at all other rows."""
    if len(array) == count and bool((rows[1:] > rows[:-1]).all()):
        return array
    where = np.full(count, -1, np.int64)
    where[rows] = np.arange(len(rows))
    return pick(array, where)


def strings(values: list[str]) -> pa.Array:
    """An array of texts."""
    return values_of([value.encode() for value in values], pa.string())


def repeated(text: str, count: int) -> pa.Array:
    """An array of the same text `count` times."""
    data = text.encode()
    borders = np.arange(count + 1, dtype=np.int32) * np.int32(len(data))
    return pa.Array.from_buffers(
        pa.string(), count, [None, pa.py_buffer(borders), pa.py_buffer(data * count)], null_count=0
    )


def text_scalar(text: str) -> pa.StringScalar:
    """A text as a scalar."""
    return repeated(text, 1)[0]


def values_of(values: list[bytes], kind: pa.DataType) -> pa.Array:
    """An array of strings or binary values."""
    borders = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(value) for value in values], out=borders[1:])
    return pa.Array.from_buffers(
        kind, len(values), [None, pa.py_buffer(borders), pa.py_buffer(b"".join(values))], null_count=0
    )


def list_of(item: pa.DataType) -> pa.DataType:
    """The type of a list, whose items have the name that Spark and Parquet give them."""
    return pa.list_(pa.field("element", item))


def borders_of(array: pa.BinaryArray) -> npt.NDArray[np.int32]:
    """The offset at which each value of an array begins in its data, and the end of the last one."""
    return np.frombuffer(array.buffers()[1], np.int32, len(array) + 1, array.offset * 4)
