"""Dates and times in the form in which Debezium writes them; `times` reads them."""

import re
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.schema.arrow.arrays import numbers, strings
from aiopravega.schema.arrow.byte_columns import missing, without_nulls

_NS_PER_US: Final = 1_000
_MICRO: Final = 1_000_000
_OF_DAY: Final = re.compile(r"(-?)(\d+):([0-5]\d):([0-5]\d)(?:\.(\d{1,6}))?")
_ZONE, _NOTHING = strings(["Z", ""])


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
    found = np.array([_micros_of_day(text) for text in array.to_pylist()], np.int64)
    return _counted(numbers(found, pa.int64(), ~missing(array) if array.null_count else None), unit)


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
