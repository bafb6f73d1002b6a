"""Dates and times as Debezium writes them: numbers of days, of milli-, micro- or nanoseconds, and texts.

Only a schema gives the unit of a number. An infinite date or time of PostgreSQL arrives as a number far outside of the
range of any database; no column can hold it.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import Mask, booleans, numbers, strings
from aiopravega.schema.arrow.block import BlockError
from aiopravega.schema.arrow.byte_columns import missing, without_nulls
from aiopravega.schema.arrow.time_texts import times_of
from pravega_jobs.debezium.changes.connect import Meaning
from pravega_jobs.debezium.changes.meanings import DATES, TIMES, TIMESTAMPS
from pravega_jobs.debezium.changes.options import ChangeOptions, TimePrecision

# The first day of PostgreSQL, in days since 1970.
_FIRST_DAY: Final = -2_440_588
_LAST_MICRO: Final = 9_200_000_000_000_000_000
_MS, _US, _NS = 1_000_000, 1_000, 1
_UNITS: Final = {TimePrecision.MS: _MS, TimePrecision.US: _US}
# Numbers with 12 to 14 digits are taken for milliseconds, and with 15 to 17 for microseconds: 1973 to 5138 in both.
_LEAST_MS, _LEAST_US, _MOST_US = 10**11, 10**14, 10**17
# The year 9999 in milliseconds, which stands for "no end" in many tables, and would be 1978 in microseconds.
_NO_END: Final = (253_370_764_800_000, 253_402_300_799_999)
_DAY: Final = 86_400_000_000
_INFINITIES: Final = ("infinity", "-infinity")
_INFINITE: Final = "it is infinite, which no column can hold. With on_error=null such a value is null"


def dates(array: pa.Array, *, infinity_is_null: bool) -> pa.Array:
    """Days since 1970, or texts as 2013-01-31 and 2013-01-31Z, as dates."""
    if pa.types.is_string(array.type):
        texts = _finite_texts(array, infinity_is_null=infinity_is_null)
        return pc.replace_substring_regex(texts, r"Z$", "").cast(pa.date32())
    values = without_nulls(array, 0)
    return _numbers(values, array, values < _FIRST_DAY, pa.int32(), infinity_is_null=infinity_is_null).cast(pa.date32())


def timestamps(
    array: pa.Array, kind: pa.DataType, meaning: Meaning, options: ChangeOptions, seen: dict[str, str], column: str
) -> pa.Array:
    """Points in time; times without a zone are read as times in UTC, as Debezium writes them. Nanoseconds are cut."""
    infinity_is_null = options.infinity_is_null
    if pa.types.is_string(array.type):
        texts = _finite_texts(array, infinity_is_null=infinity_is_null)
        return _zoned(times_of(texts), kind)
    values = without_nulls(array, 0)
    unit = TIMESTAMPS.get(meaning.name) or _unit(values, options, seen, column)
    factor = unit // _US if unit >= _US else 0
    limit = _LAST_MICRO // factor if factor else 2**63 - 1
    infinite = (values < -limit) | (values > limit)
    micros = np.where(infinite, 0, values) * factor if factor else values // (_US // unit)
    return _numbers(micros, array, infinite, pa.timestamp("us"), infinity_is_null=infinity_is_null, to=kind)


def finite(array: pa.Array, meaning: Meaning, *, infinity_is_null: bool) -> pa.Array:
    """Dates and times as numbers in their own unit; infinite ones are null or refused."""
    values = without_nulls(array, 0)
    if meaning.name in DATES:
        infinite = values < _FIRST_DAY
    else:
        limit = _LAST_MICRO // max(1, TIMESTAMPS[meaning.name] // _US)
        infinite = (values < -limit) | (values > limit)
    return _numbers(values, array, infinite, pa.int64(), infinity_is_null=infinity_is_null)


def times_of_day(array: pa.Array, meaning: Meaning, options: ChangeOptions) -> pa.Array:
    """Times of the day as texts such as 23:59:59.123456; MariaDB's may be negative, or longer than a day."""
    values = without_nulls(array, 0)
    unit = TIMES.get(meaning.name)
    if unit is None:
        if options.time_precision is TimePrecision.ADAPTIVE:
            raise BlockError(
                "it is a number in JSON. If it is a time of the day, give the unit of the number with "
                "option time_precision, or a schema with schema_file"
            )
        unit = _UNITS[options.time_precision]
    micros = values * (unit // _US) if unit >= _US else values // (_US // unit)
    if ((micros >= 0) & (micros < _DAY)).all():
        return numbers(micros, pa.time64("us"), ~missing(array) if array.null_count else None).cast(pa.string())
    return _long_times(micros, missing(array))


def _long_times(micros: "np.typing.NDArray[np.int64]", nulls: Mask) -> pa.Array:
    texts = []
    for value in micros.tolist():
        seconds, rest = divmod(abs(value), 1_000_000)
        sign = "-" if value < 0 else ""
        texts.append(f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:06}")
    made = strings(texts)
    return pc.if_else(pc.invert(booleans(nulls)), made, pa.nulls(len(texts), pa.string()))


def _unit(values: "np.typing.NDArray[np.int64]", options: ChangeOptions, seen: dict[str, str], column: str) -> int:
    """The unit of numbers in nanoseconds, by their size if no option gives it; two units in one column are refused."""
    if options.time_precision is not TimePrecision.ADAPTIVE:
        return _UNITS[options.time_precision]
    sizes = np.abs(values)
    units = set()
    if ((sizes >= _LEAST_MS) & (sizes < _LEAST_US)).any():
        units.add("ms")
    no_end = (values >= _NO_END[0]) & (values <= _NO_END[1])
    if ((sizes >= _LEAST_US) & (sizes < _MOST_US) & ~no_end).any():
        units.add("us")
    if column in seen:
        units.add(seen[column])
    unclear = bool(((sizes > 0) & (sizes < _LEAST_MS)).any() or (sizes >= _MOST_US).any() or no_end.any())
    if len(units) > 1 or (unclear and not units):
        raise ConfigurationError(
            f"the numbers of column {column!r} may be milliseconds or microseconds: name the unit with option "
            "time_precision (ms or us), or give a schema with schema_file"
        )
    unit = units.pop() if units else "us"
    if units or sizes.any():
        seen[column] = unit
    return _MS if unit == "ms" else _US


def _finite_texts(array: pa.Array, *, infinity_is_null: bool) -> pa.Array:
    infinite = pc.is_in(array, value_set=strings(list(_INFINITIES)))
    if not pc.any(infinite).as_py():
        return array
    if not infinity_is_null:
        raise BlockError(_INFINITE)
    return pc.if_else(infinite, pa.nulls(len(array), pa.string()), array)


def _numbers(
    values: "np.typing.NDArray[np.int64]",
    like: pa.Array,
    infinite: Mask,
    kind: pa.DataType,
    *,
    infinity_is_null: bool,
    to: pa.DataType | None = None,
) -> pa.Array:
    valid = ~missing(like)
    infinite = infinite & valid
    if infinite.any() and not infinity_is_null:
        raise BlockError(_INFINITE)
    width = np.int32 if pa.types.is_int32(kind) else np.int64
    inside = valid & ~infinite
    clean = np.where(inside, values, 0)
    if width is np.int32 and (clean > 2**31 - 1).any():
        raise BlockError("the number of days is too large")
    made = numbers(clean.astype(width), kind, None if inside.all() else inside)
    return made if to is None else _zoned(made, to)


def _zoned(times: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same points in time in another type, read in UTC."""
    return times.cast(pa.timestamp("us")).cast(pa.int64()).cast(kind)
