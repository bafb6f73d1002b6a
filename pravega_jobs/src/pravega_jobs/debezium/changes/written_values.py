"""Values of columns in the form in which Debezium writes them, whole columns at a time; `conversions` reads them.

The form of a value follows from the column's meaning. A value that the meaning cannot hold is refused, not cut. `times`
reads the dates and times.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, localcontext
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import list_of, numbers, strings, values_of
from aiopravega.schema.arrow.base64_texts import texts_of, unscaled_of
from aiopravega.schema.arrow.byte_columns import counts_of, missing, validity, without_nulls
from pravega_jobs.debezium.changes.connect import Meaning
from pravega_jobs.debezium.changes.meanings import DATES, DECIMAL, TIMES, TIMESTAMPS, VARIABLE, ZONED, type_of

Values = Callable[[pa.Array], pa.Array]
_VARIABLE: Final = pa.struct([("scale", pa.int32()), ("value", pa.string())])
# More digits than any database has, so that nothing is rounded.
_MOST_DIGITS: Final = 200_000
_NS_PER_US: Final = 1_000
_MICRO: Final = 1_000_000
_OF_DAY: Final = re.compile(r"(-?)(\d+):([0-5]\d):([0-5]\d)(?:\.(\d{1,6}))?")
_ZONE, _NOTHING = strings(["Z", ""])


@dataclass(frozen=True, slots=True)
class ValueWriter:
    """Writes the values of one column. Its name is in the errors."""

    column: str
    values: Values

    def write(self, array: pa.Array) -> pa.Array:
        """The values in the form for JSON.

        Raises:
            ConfigurationError: a value cannot be written.
        """
        try:
            return self.values(array)
        except (pa.ArrowException, ValueError) as error:
            raise ConfigurationError(f"column {self.column!r} cannot be written as a change event: {error}") from None


def writer_of(kind: pa.DataType, meaning: Meaning, column: str) -> ValueWriter:
    """A writer for a column.

    Args:
        kind: the type of the column.
        meaning: of its values in the events.
        column: its name, for errors.

    Raises:
        ConfigurationError: a column of this type cannot be written with this meaning.
    """
    values = _writer(kind, meaning, column)
    if values is None:
        named = f"{meaning.base} {meaning.name}".strip()
        raise ConfigurationError(
            f"column {column!r} is {kind}, but the schema of the events has {named} there, which is read as "
            f"{type_of(meaning, column)}: cast the column to it, or leave the schema out"
        )
    return ValueWriter(column, values)


def _writer(kind: pa.DataType, meaning: Meaning, column: str) -> Values | None:
    """A function that makes the values for JSON; None if a column of this type does not fit."""
    name = meaning.name
    if name == DECIMAL:
        return _decimals(kind, meaning)
    if name == VARIABLE:
        return _variable if _is_number(kind) else None
    if pa.types.is_timestamp(kind):
        return _timestamps(meaning)
    if pa.types.is_date(kind) and name in DATES:
        return _as_text if meaning.base == "string" else lambda array: array.cast(pa.int32())
    if name in TIMES and pa.types.is_string(kind):
        return lambda array: times_of_day(array, TIMES[name])
    if meaning.base == "array" and meaning.items is not None:
        return _lists(kind, meaning.items, column) if pa.types.is_list(kind) else None
    if meaning.base == "struct" and meaning.fields:
        return _structs(kind, meaning, column) if pa.types.is_struct(kind) else None
    if pa.types.is_decimal(kind) and meaning.unsigned and meaning.base == "int64":
        return _unsigned
    return _plain(kind, meaning)


def _plain(kind: pa.DataType, meaning: Meaning) -> Values | None:
    bases = {"boolean": pa.types.is_boolean, "string": pa.types.is_string}
    if meaning.base == "bytes":
        return texts_of if pa.types.is_binary(kind) else None
    if meaning.base in bases:
        if meaning.base == "string" and pa.types.is_decimal(kind):
            return _as_text
        return _same if bases[meaning.base](kind) else None
    wide = {"int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64()}.get(meaning.base)
    if wide is not None:
        return (lambda array: array.cast(wide)) if pa.types.is_integer(kind) else None
    if meaning.base in ("float", "double", "float32", "float64"):
        return _same if pa.types.is_floating(kind) else None
    return None


def _same(array: pa.Array) -> pa.Array:
    return array


def _as_text(array: pa.Array) -> pa.Array:
    return array.cast(pa.string())


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind) or pa.types.is_string(kind))


def _decimals(kind: pa.DataType, meaning: Meaning) -> Values | None:
    if pa.types.is_decimal(kind):
        most = pa.decimal128(38, meaning.scale)
        return lambda array: texts_of(unscaled_of(array if kind.scale == meaning.scale else array.cast(most)))
    if pa.types.is_string(kind):  # of more digits than a decimal of Arrow has
        return lambda array: _texts([_base64(text, meaning.scale) for text in array.to_pylist()], array)
    return None


def _variable(array: pa.Array) -> pa.Array:
    """Numbers, each with a scale of its own, one by one."""
    texts = array.cast(pa.string()).to_pylist()
    row_scales = [None if text is None else max(0, -int(_number(text).as_tuple().exponent)) for text in texts]
    scales = numbers(np.array([scale or 0 for scale in row_scales], np.int32), pa.int32())
    values = _texts([_base64(text, scale or 0) for text, scale in zip(texts, row_scales, strict=True)], array)
    return pa.StructArray.from_arrays([scales, values], fields=list(_VARIABLE), mask=array.is_null())


def _base64(text: str | None, scale: int) -> bytes | None:
    """The unscaled number of some digits."""
    if text is None:
        return None
    with localcontext() as context:
        context.prec = _MOST_DIGITS
        scaled = _number(text).scaleb(scale)
        if scaled != scaled.to_integral_value():
            raise ValueError(f"{text} has more than {scale} digits after the point")
        number = int(scaled)
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def _number(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None
    if not number.is_finite() or number.adjusted() > _MOST_DIGITS:
        raise ValueError(f"{text!r} is not a number that a decimal can hold")
    return number


def _texts(values: list[bytes | None], like: pa.Array) -> pa.Array:
    """Bytes in base64, null where the column is."""
    texts = texts_of(values_of([value or b"" for value in values], pa.binary()))
    return pc.if_else(like.is_valid(), texts, pa.nulls(len(texts), pa.string()))


def _timestamps(meaning: Meaning) -> Values | None:
    if meaning.name == ZONED:
        return instants
    if meaning.name in TIMESTAMPS:
        return lambda array: local_times(array, TIMESTAMPS[meaning.name])
    return None


def _unsigned(array: pa.Array) -> pa.Array:
    """Numbers of 64 bits without a sign, as MariaDB's connector writes them: from 2^63 on they are negative."""
    whole = array.cast(pa.decimal128(38, 0))
    halves = np.frombuffer(whole.buffers()[1], np.int64, 2 * len(whole), whole.offset * 16).reshape(-1, 2)
    if (halves[~missing(whole), 1] != 0).any():
        raise ValueError("a number does not fit into 64 bits without a sign")
    return numbers(halves[:, 0], pa.int64(), ~missing(whole) if whole.null_count else None)


def _lists(kind: pa.DataType, items: Meaning, column: str) -> Values:
    writer = writer_of(kind.value_type, items, f"{column}[]")

    def write(array: pa.Array) -> pa.Array:
        written = writer.write(array.flatten())
        borders = np.zeros(len(array) + 1, np.int32)
        np.cumsum(counts_of(array), out=borders[1:])
        buffers = [validity(array), pa.py_buffer(borders)]
        return pa.ListArray.from_buffers(list_of(written.type), len(array), buffers, children=[written])

    return write


def _structs(kind: pa.DataType, meaning: Meaning, column: str) -> Values | None:
    parts = dict(meaning.fields)
    if {field.name for field in kind} - parts.keys():
        return None
    writers = [writer_of(field.type, parts[field.name], f"{column}.{field.name}") for field in kind]

    def write(array: pa.Array) -> pa.Array:
        written = [one.write(part) for one, part in zip(writers, array.flatten(), strict=True)]
        return pa.StructArray.from_arrays(written, [field.name for field in kind], mask=array.is_null())

    return write


def local_times(array: pa.Array, unit: int) -> pa.Array:
    """Points in time as numbers of this unit, which is in nanoseconds, since 1970; as ISO texts if it is 0.

    Raises:
        ValueError: a time is finer than the unit, or too far away for it.
    """
    local = _micros(array)
    if not unit:
        return pc.replace_substring(local.cast(pa.timestamp("us")).cast(pa.string()), " ", "T", max_replacements=1)
    return _counted(local, unit)


def instants(array: pa.Array) -> pa.Array:
    """Points in time as texts in UTC, with all microseconds."""
    texts = pc.replace_substring(
        _micros(array).cast(pa.timestamp("us")).cast(pa.string()), " ", "T", max_replacements=1
    )
    return pc.binary_join_element_wise(texts, _ZONE, _NOTHING)


def times_of_day(array: pa.Array, unit: int) -> pa.Array:
    """Texts such as 23:59:59.123456, maybe negative or longer than a day, as numbers of this unit.

    Raises:
        ValueError: a text is not a time, or is finer than the unit.
    """
    micros = np.array([_micros_of_day(text) for text in array.to_pylist()], np.int64)
    return _counted(numbers(micros, pa.int64(), ~missing(array) if array.null_count else None), unit)


def _micros(array: pa.Array) -> pa.Array:
    """Microseconds since 1970, in UTC or without a zone."""
    return array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())


def _counted(micros: pa.Array, unit: int) -> pa.Array:
    if unit <= _NS_PER_US:
        return pc.multiply_checked(micros, _NS_PER_US // unit)
    factor = unit // _NS_PER_US
    values = without_nulls(micros, 0)
    if (values % factor).any():
        raise ValueError("a time is finer than the unit of the events: milliseconds")
    return numbers(values // factor, pa.int64(), ~missing(micros) if micros.null_count else None)


def _micros_of_day(text: str | None) -> int:
    if text is None:
        return 0
    match = _OF_DAY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time such as 23:59:59.123456")
    sign, hours, minutes, seconds, rest = match.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    micros = whole * _MICRO + int((rest or "").ljust(6, "0"))
    return -micros if sign else micros
