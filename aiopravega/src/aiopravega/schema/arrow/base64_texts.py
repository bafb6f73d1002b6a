"""Texts in base64 as bytes and back, and bytes as decimals and back, for whole columns.

Every text is some groups of four characters. The texts of a column, back to back, are therefore also groups of four:
they are decoded at once, and the padding is cut out afterwards.
"""

from typing import Final

import numpy as np
import pyarrow as pa

from aiopravega.schema.arrow.arrays import borders_of
from aiopravega.schema.arrow.block import BlockError
from aiopravega.schema.arrow.byte_columns import missing, validity

_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PADDING: Final = ord("=")
_BAD: Final = 255
_GROUP: Final = 4
_WIDTH: Final = 16  # bytes of a decimal128
_SIGN: Final = 0x80


def _sextets() -> np.typing.NDArray[np.uint8]:
    table = np.full(256, _BAD, np.uint8)
    table[np.frombuffer(_ALPHABET, np.uint8)] = np.arange(len(_ALPHABET), dtype=np.uint8)
    table[_PADDING] = 0
    return table


_SEXTETS: Final = _sextets()
_LETTERS: Final = np.frombuffer(_ALPHABET, np.uint8)


def bytes_of(texts: pa.StringArray) -> pa.BinaryArray:
    """The bytes of texts in base64.

    Raises:
        BlockError: one of them is not base64.
    """
    borders = borders_of(texts).astype(np.int64)
    buffer = texts.buffers()[2]
    raw = np.frombuffer(buffer, np.uint8) if buffer is not None and buffer.size else np.zeros(0, np.uint8)
    sizes = np.diff(borders)
    data = raw[borders[0] : borders[-1]]
    if (sizes % _GROUP).any():
        raise BlockError("it is not base64")
    sextets = _SEXTETS[data].reshape(-1, _GROUP)
    ends = borders[1:][sizes > 0] - borders[0]
    last, before = data[ends - 1] == _PADDING, data[ends - 2] == _PADDING
    padding = np.zeros(len(sizes), np.int64)
    padding[sizes > 0] = last.astype(np.int64) + (last & before)
    if (sextets == _BAD).any() or np.count_nonzero(data == _PADDING) != padding.sum():
        raise BlockError("it is not base64")
    triples = np.empty((len(sextets), _GROUP - 1), np.uint8)
    triples[:, 0] = sextets[:, 0] << 2 | sextets[:, 1] >> 4
    triples[:, 1] = sextets[:, 1] << 4 | sextets[:, 2] >> 2
    triples[:, 2] = sextets[:, 2] << 6 | sextets[:, 3]
    decoded = triples.reshape(-1)
    if padding.any():
        kept = np.ones(len(decoded), np.bool_)
        ends = np.cumsum(sizes // _GROUP * (_GROUP - 1))
        kept[ends[padding > 0] - 1] = False
        kept[ends[padding > 1] - 2] = False
        decoded = decoded[kept]
    starts = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes // _GROUP * (_GROUP - 1) - padding, out=starts[1:])
    buffers = [validity(texts), pa.py_buffer(starts), pa.py_buffer(np.ascontiguousarray(decoded))]
    return pa.Array.from_buffers(pa.binary(), len(texts), buffers)


def texts_of(values: pa.BinaryArray) -> pa.StringArray:
    """Bytes as texts in base64; null where the bytes are null."""
    borders = borders_of(values).astype(np.int64)
    buffer = values.buffers()[2]
    raw = np.frombuffer(buffer, np.uint8) if buffer is not None and buffer.size else np.zeros(0, np.uint8)
    sizes = np.diff(borders)
    groups = -(-sizes // (_GROUP - 1))
    ends = np.cumsum(groups)
    padded = np.zeros(int(ends[-1]) * (_GROUP - 1) if len(ends) else 0, np.uint8)
    shifts = (ends - groups) * (_GROUP - 1) - (borders[:-1] - borders[0])
    padded[np.arange(borders[-1] - borders[0]) + np.repeat(shifts, sizes)] = raw[borders[0] : borders[-1]]
    triples = padded.reshape(-1, _GROUP - 1)
    sextets = np.empty((len(triples), _GROUP), np.uint8)
    sextets[:, 0] = triples[:, 0] >> 2
    sextets[:, 1] = (triples[:, 0] & 3) << 4 | triples[:, 1] >> 4
    sextets[:, 2] = (triples[:, 1] & 15) << 2 | triples[:, 2] >> 6
    sextets[:, 3] = triples[:, 2] & 63
    letters = _LETTERS[sextets.reshape(-1)]
    padding = groups * (_GROUP - 1) - sizes
    letters[ends[padding > 0] * _GROUP - 1] = _PADDING
    letters[ends[padding > 1] * _GROUP - 2] = _PADDING
    starts = np.zeros(len(sizes) + 1, np.int32)
    starts[1:] = ends * _GROUP
    buffers = [validity(values), pa.py_buffer(starts), pa.py_buffer(letters)]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def unscaled_of(decimals: pa.Decimal128Array) -> pa.BinaryArray:
    """The unscaled numbers of decimals in the fewest bytes that hold them: big endian, in two's complement."""
    count = len(decimals)
    raw = np.frombuffer(decimals.buffers()[1], np.uint8, count * _WIDTH, decimals.offset * _WIDTH)
    digits = raw.reshape(count, _WIDTH)[:, ::-1]
    sign = np.where(digits[:, 0] >= _SIGN, np.uint8(0xFF), np.uint8(0))
    begins = np.minimum(np.cumprod(digits == sign[:, None], axis=1).sum(axis=1), _WIDTH - 1)
    first = digits[np.arange(count), begins]
    begins -= (first >= _SIGN) != (sign >= _SIGN)  # the first bit is the sign
    if decimals.null_count:
        begins[missing(decimals)] = _WIDTH
    borders = np.zeros(count + 1, np.int32)
    np.cumsum(_WIDTH - begins, out=borders[1:])
    data = np.ascontiguousarray(digits[np.arange(_WIDTH) >= begins[:, None]])
    return pa.Array.from_buffers(pa.binary(), count, [validity(decimals), pa.py_buffer(borders), pa.py_buffer(data)])


def decimals_of(numbers: pa.BinaryArray, scale: int) -> pa.Decimal128Array:
    """Decimals of 38 digits with a scale, from unscaled numbers: big endian, in two's complement.

    Raises:
        BlockError: a number has no bytes, or more bytes than a decimal.
    """
    borders = borders_of(numbers).astype(np.int64)
    buffer = numbers.buffers()[2]
    data = np.frombuffer(buffer, np.uint8) if buffer is not None and buffer.size else np.zeros(1, np.uint8)
    starts, ends = borders[:-1], borders[1:]
    sizes = ends - starts
    widest = int(sizes.max(initial=0))
    if widest > _WIDTH:
        raise BlockError("the number has more than 38 digits")
    filled = sizes > 0
    if numbers.null_count != len(numbers) - int(filled.sum()):
        raise BlockError("the number has no bytes")
    sign = np.where(filled & (data.take(starts, mode="clip") >= _SIGN), np.uint8(0xFF), np.uint8(0))
    table = np.empty((len(starts), _WIDTH), np.uint8)
    table[:, widest:] = sign[:, None]
    for index in range(widest):  # from the lowest byte on
        inside = index < sizes
        table[:, index] = np.where(inside, data.take(ends - 1 - index, mode="clip"), sign)
    kind = pa.decimal128(38, scale)
    return pa.Array.from_buffers(kind, len(numbers), [validity(numbers), pa.py_buffer(table.reshape(-1))])
