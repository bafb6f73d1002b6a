"""Decimals as Debezium writes them: unscaled numbers in base64, digits, JSON numbers, or each with a scale."""

import base64
import binascii
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import mask_of, numbers, pick, spread, strings
from aiopravega.schema.arrow.base64_texts import bytes_of, decimals_of
from aiopravega.schema.arrow.block import BlockError
from aiopravega.schema.arrow.byte_columns import missing, without_nulls
from pravega_jobs.debezium.changes.connect import Meaning
from pravega_jobs.debezium.changes.meanings import MOST_DIGITS, VARIABLE
from pravega_jobs.debezium.changes.options import ChangeOptions, Decimals

_NOT_NUMBERS: Final = ("NaN", "NAN", "Infinity", "-Infinity", "POSITIVE_INFINITY", "NEGATIVE_INFINITY")
_DIGITS: Final = r"^[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?$"
_ONLY_DIGITS: Final = r"^([0-9]{4})+$"
# PostgreSQL has the longest: 131,072 digits before the point, 16,383 after it. A scale of 2^31 would be 2 GB of zeros.
_LONGEST_TEXT: Final = 100_000  # characters of base64, which are some 180,000 digits
_LARGEST_SCALE: Final = 200_000
_AMBIGUOUS: Final = (
    "the texts of column {!r} may be digits, or numbers in base64: set option decimals (base64 or digits), or "
    "give a schema with schema_file"
)


def convert(
    array: pa.Array, kind: pa.DataType, meaning: Meaning, options: ChangeOptions, seen: dict[str, str], column: str
) -> pa.Array:
    """A column of decimals.

    Raises:
        BlockError: a value is not a decimal, has more digits than the column, or may be read in two ways.
    """
    if pa.types.is_struct(array.type):
        return _variable(array, kind)
    if pa.types.is_integer(array.type):
        return _whole(array, kind, meaning)
    is_real = pa.types.is_floating(array.type)
    odd = pc.invert(pc.is_finite(array)) if is_real else pc.is_in(array, value_set=strings(list(_NOT_NUMBERS)))
    if pc.any(odd).as_py():
        if not options.infinity_is_null:
            raise BlockError("it is not a number, or infinite. With on_error=null such a value is null")
        array = pc.if_else(odd, pa.nulls(len(array), array.type), array)
        if array.null_count == len(array):
            return pa.nulls(len(array), kind)
    if is_real:
        return array.cast(kind)
    way = _way(array, meaning, options, seen, column)
    if way is Decimals.DIGITS:
        return array.cast(kind)
    scale = meaning.scale if meaning.base == "bytes" else kind.scale
    return _fitting(decimals_of(bytes_of(array), scale), kind)


def texts(array: pa.Array, meaning: Meaning) -> pa.Array:
    """Decimals as digits, if no decimal is wide enough or scales differ: one by one."""
    if pa.types.is_struct(array.type):
        digits = [None if value is None else _exact(value["value"], value["scale"]) for value in array.to_pylist()]
    elif meaning.base == "bytes":
        digits = [None if value is None else _exact(value, meaning.scale) for value in array.to_pylist()]
    elif pa.types.is_string(array.type):
        return array
    else:
        raise BlockError(f"it is {array.type} in JSON, not a text")
    made = strings([text or "" for text in digits])
    return pc.if_else(array.is_valid(), made, pa.nulls(len(made), pa.string()))


def _exact(text: str, scale: int) -> str:
    if len(text) > _LONGEST_TEXT or abs(scale) > _LARGEST_SCALE:
        raise BlockError(f"it is a decimal of more digits than any database has: its scale is {scale}")
    try:
        unscaled = int.from_bytes(base64.b64decode(text, validate=True), "big", signed=True)
    except (binascii.Error, TypeError, ValueError):
        raise BlockError("it is not base64") from None
    sign, digits, _ = Decimal(unscaled).as_tuple()
    return format(Decimal((sign, digits, -scale)), "f")


def _way(array: pa.Array, meaning: Meaning, options: ChangeOptions, seen: dict[str, str], column: str) -> Decimals:
    if meaning.base:
        return Decimals.BASE64 if meaning.base == "bytes" else Decimals.DIGITS
    if options.decimals is not Decimals.ADAPTIVE:
        return options.decimals
    digits = pc.match_substring_regex(array, _DIGITS)
    both = pc.match_substring_regex(array, _ONLY_DIGITS)
    clearly_digits = pc.any(pc.and_not(digits, both)).as_py()
    clearly_base64 = pc.any(pc.invert(digits)).as_py()
    forms = {Decimals.DIGITS} if clearly_digits else set()
    if clearly_base64:
        forms.add(Decimals.BASE64)
    if column in seen:
        forms.add(Decimals(seen[column]))
    if len(forms) != 1:
        raise ConfigurationError(_AMBIGUOUS.format(column))
    way = forms.pop()
    seen[column] = way
    return way


def _whole(array: pa.Array, kind: pa.DataType, meaning: Meaning) -> pa.Array:
    """Whole numbers of JSON; unsigned numbers of MariaDB over 2^63 arrive as negative ones."""
    below = pc.any(pc.less(array, 0)).as_py()
    if not below:
        return array.cast(pa.decimal128(MOST_DIGITS, 0)).cast(kind)
    if meaning.unsigned:
        values = without_nulls(array, 0)
        wide = np.zeros((len(values), 2), np.int64)
        wide[:, 0] = values
        valid = ~missing(array) if array.null_count else None
        return numbers(wide.reshape(-1, 2), pa.decimal128(MOST_DIGITS, 0), valid).cast(kind)
    if meaning.base:
        return array.cast(pa.decimal128(MOST_DIGITS, 0)).cast(kind)
    raise BlockError(
        "it is a negative whole number, but an unsigned bigint over 2^63 arrives like that: read it as bigint if it is "
        "signed; if it is not, set bigint.unsigned.handling.mode=precise, or column.propagate.source.type with schemas"
    )


def _variable(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Numbers with a scale each; all numbers of one scale are converted together."""
    scales, values = array.flatten()
    if scales.null_count != array.null_count or values.null_count != array.null_count:
        raise BlockError(f"it has no scale or no value, as {VARIABLE} has")
    by_row = without_nulls(scales, 0)
    there = mask_of(array.is_valid())
    made = pa.nulls(0, kind)
    rows = []
    for scale in np.unique(by_row[there]).tolist():
        same = np.flatnonzero(there & (by_row == scale))
        one = decimals_of(bytes_of(pick(values, same)), max(scale, 0))
        if scale < 0:
            raise BlockError("its scale is negative: read the column as string")
        made = pa.concat_arrays([made, _fitting(one, kind)])
        rows.append(same)
    return spread(made, np.concatenate(rows), len(array))


def _fitting(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if kind.precision == MOST_DIGITS:
        values.validate(full=True)
    return values.cast(kind)
