"""Rows as JSON objects, laid out as by Spark's `to_json`: fields that are null are left out, unless `nulls` is set.

Times have all their microseconds, where `to_json` cuts them to milliseconds.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.schema.arrow.arrays import booleans, values_of
from aiopravega.schema.arrow.base64_texts import texts_of
from aiopravega.schema.arrow.byte_columns import (
    constant,
    counts_of,
    entries_of,
    joined,
    joined_items,
    missing,
    null_as,
)
from aiopravega.schema.json.columns.forms import TO_JSON, JsonDecimals, JsonForm, TimestampFormat

_QUOTE: Final = constant(b'"')
_NULL: Final = constant(b"null")
# Characters that a string must escape: quotes, backslashes, control characters.
_SPECIAL: Final = r'["\\\x00-\x1f]'
_CONTROL: Final = r"[\x00-\x1f]"
_SHORT: Final = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_FIRST_PRINTABLE: Final = 0x20


class JsonEncoder:
    """Encodes columns of these names.

    Args:
        names: the names of the columns.
        nulls: write fields that are null as null, also inside structs.
        form: the texts of points in time and of decimals.
    """

    def __init__(self, names: Sequence[str], *, nulls: bool = False, form: JsonForm = TO_JSON) -> None:
        self._names = [_name(name) for name in names]
        self._nulls = nulls
        self._form = form

    def columns(self, columns: Sequence[pa.Array], rows: int) -> pa.BinaryArray:
        """An object of each row of some columns."""
        return _object(self._names, columns, rows, self._nulls, self._form)


def _name(name: str) -> bytes:
    return bytes(_quoted(values_of([name.encode()], pa.string()))[0].as_py()) + b":"


def _object(
    names: Sequence[bytes], columns: Sequence[pa.Array], rows: int, nulls: bool, form: JsonForm
) -> pa.BinaryArray:
    begun = np.zeros(rows, np.bool_)  # rows that have a field already, so that the next one comes after a comma
    pieces: list[pa.BinaryArray | pa.BinaryScalar] = [_constants(b"{", rows)]
    for name, column in zip(names, columns, strict=True):
        value = _encoded(column, nulls, form)
        if nulls:
            value = value.fill_null(_NULL)
        first, later = constant(name), constant(b"," + name)
        lead = later if begun.all() else first if not begun.any() else pc.if_else(booleans(begun), later, first)
        pieces.append(joined(lead, value).fill_null(constant(b"")))
        begun |= ~missing(value)
    return joined(*pieces, constant(b"}"))


def _constants(data: bytes, rows: int) -> pa.BinaryArray:
    return values_of([data] * rows, pa.binary())


def _encoded(array: pa.Array, nulls: bool, form: JsonForm) -> pa.BinaryArray:
    """The value of each row, null where it is null."""
    kind = array.type
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.binary())
    if pa.types.is_struct(kind):
        names = [_name(field.name) for field in kind]
        return null_as(_object(names, array.flatten(), len(array), nulls, form), array)
    if pa.types.is_map(kind):
        keys, values = entries_of(array)
        texts = keys if pa.types.is_string(keys.type) else keys.cast(pa.string())
        entries = joined(_quoted(texts), constant(b":"), _encoded(values, nulls, form).fill_null(_NULL))
        return _enclosed(b"{", entries, array, b"}")
    if pa.types.is_list(kind):
        return _enclosed(b"[", _encoded(array.flatten(), nulls, form).fill_null(_NULL), array, b"]")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _quoted(array.cast(pa.string()))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _quoted(texts_of(array.cast(pa.binary())))
    return _simple(array, form)


def _simple(array: pa.Array, form: JsonForm) -> pa.BinaryArray:
    kind = array.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        # Arrow writes Z for this name only. Spark's batches have the zone of its session, frames have another one.
        array = array.cast(pa.timestamp(kind.unit, "UTC"))
    texts = array.cast(pa.string())
    if pa.types.is_timestamp(kind) and form.timestamps is TimestampFormat.ISO:
        texts = pc.replace_substring(texts, " ", "T", max_replacements=1)
    if pa.types.is_decimal(kind) and form.decimals is not JsonDecimals.NUMBER:
        texts = _without_exponents(texts)
    raw = texts.cast(pa.binary())
    if pa.types.is_floating(kind):
        finite = pc.is_finite(array)
        if pc.all(finite).as_py() not in (True, None):
            return pc.if_else(finite, raw, joined(_QUOTE, _unlimited(array), _QUOTE))
        return raw
    is_number = pa.types.is_decimal(kind) and form.decimals.is_number
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or is_number:
        return raw
    return joined(_QUOTE, raw, _QUOTE)


def _without_exponents(texts: pa.StringArray) -> pa.StringArray:
    """Decimals whose texts have all digits, as 0.00000001 for 1E-8."""
    short = pc.match_substring(texts, "E").fill_null(False)
    plain = [format(Decimal(text), "f").encode() for text in texts.filter(short).to_pylist()]
    return pc.replace_with_mask(texts, short, values_of(plain, pa.string())) if plain else texts


def _unlimited(array: pa.Array) -> pa.BinaryArray:
    """Spark's names for NaN and the infinities."""
    below = pc.if_else(pc.less(array, 0), constant(b"-Infinity"), constant(b"Infinity"))
    return pc.if_else(pc.is_nan(array), constant(b"NaN"), below)


def _enclosed(begin: bytes, items: pa.BinaryArray, like: pa.Array, end: bytes) -> pa.BinaryArray:
    inside = joined_items(items, counts_of(like), b",")
    return null_as(joined(constant(begin), inside, constant(end)), like)


def _quoted(texts: pa.StringArray) -> pa.BinaryArray:
    if pc.any(pc.match_substring_regex(texts, _SPECIAL)).as_py():
        texts = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
        if pc.any(pc.match_substring_regex(texts, _CONTROL)).as_py():
            for code in range(_FIRST_PRINTABLE):
                texts = pc.replace_substring(texts, chr(code), _SHORT.get(chr(code), f"\\u{code:04X}"))
    return joined(_QUOTE, texts.cast(pa.binary()), _QUOTE)
