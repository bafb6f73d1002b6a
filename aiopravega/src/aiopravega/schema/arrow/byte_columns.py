"""The arithmetic of encoding: arrays with one run of bytes for each row, joined from arrays of smaller ones.

All encoders use it, without touching single rows. A row that is null stays null in every result, so that the format's
own code can add the nulls at the end.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.schema.arrow.arrays import Mask, bitmap, values_of

_SEVEN: Final = np.uint64(7)
_LOW: Final = np.uint64(0x7F)
_MORE: Final = np.uint64(0x80)
_LONGEST: Final = 10  # bytes of a varint of 64 bits
_NOTHING: Final = values_of([b""], pa.binary())[0]


def constant(data: bytes) -> pa.BinaryScalar:
    """The same bytes for each row."""
    return values_of([data], pa.binary())[0]


def joined(*pieces: pa.BinaryArray | pa.BinaryScalar) -> pa.BinaryArray:
    """The bytes of all pieces of a row back to back; at least one piece is an array."""
    return pc.binary_join_element_wise(*pieces, _NOTHING)


def missing(array: pa.Array) -> Mask:
    """The mask of rows that are null. Arrow's own conversion of truth values to numpy imports pandas."""
    nulls = pc.is_null(array)
    bits = np.frombuffer(nulls.buffers()[1] or b"", np.uint8)
    return np.unpackbits(bits, bitorder="little")[nulls.offset : nulls.offset + len(nulls)].astype(np.bool_)


def numbers_of(array: pa.Array, kind: pa.DataType) -> npt.NDArray[np.generic]:
    """The values of an array of numbers, dates or times of one width; undefined where it is null."""
    width = kind.bit_width // 8
    values: npt.NDArray[np.generic] = np.frombuffer(
        array.buffers()[1], kind.to_pandas_dtype(), len(array), array.offset * width
    )
    return values


def without_nulls(array: pa.Array, value: int) -> npt.NDArray[np.int64]:
    """Numbers, or truth values as numbers, with another value for null. Arrow's own function imports pandas."""
    kind = pa.uint8() if pa.types.is_boolean(array.type) else array.type
    found = numbers_of(array.cast(kind), kind).astype(np.int64)
    if array.null_count:
        found[missing(array)] = value
    return found


def fixed(values: npt.NDArray[np.generic], like: pa.Array) -> pa.BinaryArray:
    """The bytes of each value, or each row of a table of bytes; null where `like` is."""
    width = values.dtype.itemsize * (values.shape[1] if values.ndim > 1 else 1)
    borders = np.arange(len(like) + 1, dtype=np.int32) * np.int32(width)
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.binary(), len(like), [validity(like), pa.py_buffer(borders), data])


def varints(values: npt.NDArray[np.uint64], like: pa.Array | None = None) -> pa.BinaryArray:
    """Numbers in groups of seven bits, the lowest first; null where `like` is."""
    valid = None if like is None else validity(like)
    sizes = np.ones(len(values), np.int64)
    largest = int(values.max(initial=0))
    for group in range(1, _LONGEST):
        if largest >> 7 * group == 0:
            break
        sizes += values >= np.uint64(1 << 7 * group)
    digits = np.arange(int(sizes.max(initial=1)), dtype=np.int64)
    groups = values[:, None] >> (_SEVEN * digits.astype(np.uint64)) & _LOW
    groups |= np.where(digits < sizes[:, None] - 1, _MORE, np.uint64(0))
    data = groups.astype(np.uint8)[digits < sizes[:, None]]
    borders = np.zeros(len(values) + 1, np.int32)
    np.cumsum(sizes, out=borders[1:])
    return pa.Array.from_buffers(
        pa.binary(), len(values), [valid, pa.py_buffer(borders), pa.py_buffer(np.ascontiguousarray(data))]
    )


def zigzag(values: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Signed numbers as unsigned ones: numbers near zero stay small."""
    mixed: npt.NDArray[np.uint64] = ((values << 1) ^ (values >> 63)).view(np.uint64)
    return mixed


def sizes_of(array: pa.BinaryArray) -> npt.NDArray[np.uint64]:
    """The number of bytes of each row; 0 if it is null."""
    sizes: npt.NDArray[np.uint64] = np.diff(_borders(array)).astype(np.uint64)
    if array.null_count:
        sizes[missing(array)] = 0
    return sizes


def counts_of(lists: pa.ListArray | pa.MapArray) -> npt.NDArray[np.int64]:
    """The number of items of each row; 0 if it is null."""
    if pa.types.is_map(lists.type):
        lists = _as_lists(lists)
    borders = np.frombuffer(lists.buffers()[1], np.int32, len(lists) + 1, lists.offset * 4)
    counts = np.diff(borders).astype(np.int64)
    if lists.null_count:
        counts[missing(lists)] = 0
    return counts


def joined_items(items: pa.BinaryArray, counts: npt.NDArray[np.int64], between: bytes = b"") -> pa.BinaryArray:
    """The items of each row back to back; `counts` has the number of items of each row. No item is null."""
    borders = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=borders[1:])
    lists = pa.ListArray.from_buffers(
        pa.list_(pa.binary()), len(counts), [None, pa.py_buffer(borders)], null_count=0, children=[items]
    )
    return pc.binary_join(lists, constant(between))


def null_as(array: pa.BinaryArray, like: pa.Array) -> pa.BinaryArray:
    """The same rows, and null where `like` is."""
    if not like.null_count:
        return array
    _, borders, data = array.buffers()
    return pa.Array.from_buffers(pa.binary(), len(array), [validity(like), borders, data], offset=array.offset)


def validity(like: pa.Array) -> pa.Buffer | None:
    """The bitmap of an array, from its first row on."""
    return bitmap(~missing(like)) if like.null_count else None


def entries_of(maps: pa.MapArray) -> tuple[pa.Array, pa.Array]:
    """All keys and all values of the maps that are not null."""
    keys, values = _as_lists(maps).flatten().flatten()
    return keys, values


def _as_lists(maps: pa.MapArray) -> pa.ListArray:
    return maps.cast(pa.list_(pa.struct([("key", maps.type.key_type), ("value", maps.type.item_type)])))


def concatenated(parts: Sequence[pa.BinaryArray]) -> pa.BinaryArray:
    """The pieces of each row back to back; at least one."""
    return parts[0] if len(parts) == 1 else joined(*parts)


def _borders(array: pa.BinaryArray) -> npt.NDArray[np.int32]:
    return np.frombuffer(array.buffers()[1], np.int32, len(array) + 1, array.offset * 4)
