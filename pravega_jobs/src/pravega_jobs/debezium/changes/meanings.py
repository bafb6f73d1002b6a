"""Types of columns, by the schema that events carry. A meaning that is not known is refused by name."""

from typing import Final

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import list_of
from pravega_jobs.debezium.changes.connect import Meaning, Meanings

MOST_DIGITS: Final = 38
_UNSIGNED_DIGITS: Final = 20
DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
VARIABLE: Final = "io.debezium.data.VariableScaleDecimal"
DATES: Final = ("io.debezium.time.Date", "org.apache.kafka.connect.data.Date", "io.debezium.time.IsoDate")
ZONED: Final = "io.debezium.time.ZonedTimestamp"
# The unit of the numbers of a time, in nanoseconds.
TIMESTAMPS: Final = {
    "io.debezium.time.Timestamp": 1_000_000,
    "org.apache.kafka.connect.data.Timestamp": 1_000_000,
    "io.debezium.time.MicroTimestamp": 1_000,
    "io.debezium.time.NanoTimestamp": 1,
    "io.debezium.time.IsoTimestamp": 0,
}
TIMES: Final = {
    "io.debezium.time.Time": 1_000_000,
    "org.apache.kafka.connect.data.Time": 1_000_000,
    "io.debezium.time.MicroTime": 1_000,
    "io.debezium.time.NanoTime": 1,
}
# Names that change nothing: the values are of their base type.
_AS_THEY_ARE: Final = {
    "",
    *("Json", "Xml", "Uuid", "Enum", "EnumSet", "Ltree", "Bits", "TsVector"),
    *("ZonedTime", "IsoTime", "Interval", "Year", "MicroDuration", "NanoDuration"),
    *("Point", "Geometry", "Geography"),
}
_ROOMS: Final = ("io.debezium.data.geometry.", "io.debezium.data.", "io.debezium.time.")
_BASES: Final = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "float32": pa.float32(),
    "double": pa.float64(),
    "float64": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
_READABLE: Final = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal128,
    pa.types.is_string,
    pa.types.is_binary,
    pa.types.is_boolean,
    pa.types.is_date32,
    pa.types.is_timestamp,
)
TIMESTAMP: Final = pa.timestamp("us")
INSTANT: Final = pa.timestamp("us", tz="UTC")


def columns_of(meanings: Meanings) -> pa.Schema:
    """The columns of a table.

    Raises:
        ConfigurationError: a column has a type that is not known.
    """
    return pa.schema([(name, type_of(meaning, name)) for name, meaning in meanings.items()])


def type_of(meaning: Meaning, column: str) -> pa.DataType:
    """The type of a column.

    Raises:
        ConfigurationError: the type is not known.
    """
    if meaning.name == DECIMAL:
        return _decimal(meaning)
    if meaning.name == VARIABLE or meaning.name in TIMES:
        return pa.string()
    if meaning.name in DATES:
        return pa.date32()
    if meaning.name in TIMESTAMPS:
        return TIMESTAMP
    if meaning.name == ZONED:
        return INSTANT
    if _short(meaning.name) not in _AS_THEY_ARE:
        raise _unknown(column, f"{meaning.base} named {meaning.name}")
    if meaning.base == "array" and meaning.items is not None:
        return list_of(type_of(meaning.items, f"{column}[]"))
    if meaning.base == "struct" and meaning.fields:
        return pa.struct([(name, type_of(part, f"{column}.{name}")) for name, part in meaning.fields])
    if meaning.unsigned and meaning.base == "int64":
        return pa.decimal128(_UNSIGNED_DIGITS, 0)
    if meaning.base not in _BASES:
        raise _unknown(column, meaning.base)
    return _BASES[meaning.base]


def check_type(kind: pa.DataType, column: str) -> None:
    """Check that change events can have columns of a type, whether they are read or written.

    Raises:
        ConfigurationError: change events cannot have such columns.
    """
    if pa.types.is_list(kind):
        check_type(kind.value_type, f"{column}[]")
    elif pa.types.is_struct(kind):
        for part in kind:
            check_type(part.type, f"{column}.{part.name}")
    elif not any(fits(kind) for fits in _READABLE):
        raise ConfigurationError(
            f"column {column!r} cannot be {kind}: columns of change events are numbers, decimals, strings, binary "
            "values, booleans, dates and timestamps, and arrays and structs of them"
        )


def _decimal(meaning: Meaning) -> pa.DataType:
    """A decimal as wide as the column; a text if a decimal cannot hold it."""
    precision = MOST_DIGITS if meaning.precision is None else meaning.precision
    fits = precision <= MOST_DIGITS and 0 <= meaning.scale <= precision
    return pa.decimal128(precision, meaning.scale) if fits else pa.string()


def _short(name: str) -> str:
    for room in _ROOMS:
        if name.startswith(room):
            return name.removeprefix(room)
    return name


def _unknown(column: str, kind: str) -> ConfigurationError:
    return ConfigurationError(
        f"column {column!r} is {kind}, which is not a type that is known here: give the columns with .schema(…), "
        "without this one, or with the plain type that its JSON has"
    )
