"""Encoders of Avro's values without parts."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import pick, values_of
from aiopravega.schema.arrow.byte_columns import fixed, joined, numbers_of, sizes_of, varints, without_nulls, zigzag

_DECIMAL_BYTES: Final = 16
_LONG_BITS: Final = 64
# The Arrow types that become an int or a long, by the logical type of the schema.
_TIMES: Final = {
    "timestamp-millis": "ms",
    "timestamp-micros": "us",
    "timestamp-nanos": "ns",
    "local-timestamp-millis": "ms",
    "local-timestamp-micros": "us",
    "local-timestamp-nanos": "ns",
}


@dataclass(frozen=True, slots=True)
class Truth:
    """Encodes booleans."""

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        return fixed(without_nulls(array, 0).astype(np.uint8), array)


@dataclass(frozen=True, slots=True)
class Whole:
    """Encodes ints or longs; columns are cast to `type`, and their numbers have the type `number`."""

    type: pa.DataType
    number: pa.DataType

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        # Times are cut to the unit of the schema.
        whole = array.cast(self.type, safe=not pa.types.is_timestamp(self.type)).cast(self.number)
        return varints(zigzag(numbers_of(whole, self.number).astype(np.int64)), array)


@dataclass(frozen=True, slots=True)
class Real:
    """Encodes floats or doubles."""

    type: pa.DataType

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        return fixed(numbers_of(array.cast(self.type, safe=False), self.type), array)


@dataclass(frozen=True, slots=True)
class Bytes:
    """Encodes bytes or strings: the length, then the bytes."""

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        raw = array.cast(pa.binary())
        return joined(varints(zigzag(sizes_of(raw).astype(np.int64)), array), raw)


@dataclass(frozen=True, slots=True)
class FixedBytes:
    """Encodes a fixed number of bytes."""

    size: int

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        if pc.any(pc.not_equal(pc.binary_length(array), self.size)).as_py():
            raise ConfigurationError(
                f"{where} has values that are not of {self.size} bytes, as the Avro schema has them"
            )
        return array.cast(pa.binary())


@dataclass(frozen=True, slots=True)
class DecimalFixed:
    """Encodes decimals as integers in two's complement of `size` bytes, highest byte first."""

    type: pa.DataType
    size: int

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        whole = array.cast(self.type)
        raw = np.frombuffer(whole.buffers()[1], np.uint8, len(whole) * _DECIMAL_BYTES, whole.offset * _DECIMAL_BYTES)
        table = raw.reshape(-1, _DECIMAL_BYTES)[:, ::-1]
        if self.size >= _DECIMAL_BYTES:
            sign = np.where(table[:, :1] & 0x80, np.uint8(0xFF), np.uint8(0))
            table = np.concatenate([np.repeat(sign, self.size - _DECIMAL_BYTES, axis=1), table], axis=1)
        else:
            table = table[:, _DECIMAL_BYTES - self.size :]
        return fixed(table, array)


@dataclass(frozen=True, slots=True)
class DecimalBytes:
    """Encodes decimals as bytes, always in the width of Arrow's decimals; readers accept them like shorter ones."""

    type: pa.DataType

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        return Bytes().encode(DecimalFixed(self.type, _DECIMAL_BYTES).encode(array, where), where)


@dataclass(frozen=True, slots=True)
class Symbols:
    """Encodes enumerations."""

    name: str
    symbols: tuple[str, ...]

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        known = {symbol: number for number, symbol in enumerate(self.symbols)}
        coded = array.dictionary_encode()
        symbols = coded.dictionary.to_pylist()
        unknown = [symbol for symbol in symbols if symbol not in known]
        if unknown:
            raise ConfigurationError(
                f"{where} is {unknown[0]!r} in some rows, which is not a symbol of {self.name}: it has "
                f"{', '.join(self.symbols)}"
            )
        codes = varints(zigzag(np.array([known[symbol] for symbol in symbols], np.int64))).to_pylist()
        return pick(values_of(codes, pa.binary()), without_nulls(coded.indices, -1))


Value = Truth | Whole | Real | Bytes | FixedBytes | DecimalFixed | DecimalBytes | Symbols


def simple_of(wanted: str, logical: str | None, kind: pa.DataType) -> Value | None:
    """The encoder of a column for a primitive type; None if the column does not fit."""
    if wanted == "long" and logical in _TIMES:
        if not pa.types.is_timestamp(kind):
            return None
        return Whole(pa.timestamp(_TIMES[logical], kind.tz), pa.int64())
    if wanted == "int" and logical == "date":
        return Whole(pa.date32(), pa.int32()) if pa.types.is_date(kind) else None
    bits = {"int": 32, "long": _LONG_BITS}
    if wanted in bits and pa.types.is_integer(kind) and kind.bit_width <= bits[wanted]:
        return Whole(pa.int64(), pa.int64())
    if wanted == "float" and kind == pa.float32():
        return Real(pa.float32())
    if wanted == "double" and (
        pa.types.is_floating(kind) or (pa.types.is_integer(kind) and kind.bit_width < _LONG_BITS)
    ):
        return Real(pa.float64())
    if wanted == "string" and pa.types.is_string(kind):
        return Bytes()
    if wanted == "bytes" and (pa.types.is_binary(kind) or pa.types.is_string(kind)):
        return Bytes()
    return None
