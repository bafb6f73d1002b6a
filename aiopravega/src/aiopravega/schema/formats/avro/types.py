"""Avro types as Arrow types: those of Spark's `from_avro`, so that one can take the other's place."""

from typing import Final

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.formats.arrays import list_of
from aiopravega.schema.formats.avro.schema import (
    AvroType,
    Enumeration,
    Fixed,
    Mapping,
    Primitive,
    Record,
    Sequence,
    Union,
)

MOST_DIGITS: Final = 38  # of Arrow's decimals of 128 bits, and of Spark's
_MICROSECONDS: Final = "us"  # of all times; nanoseconds are cut to them
_SIMPLE: Final[dict[str, pa.DataType]] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_MOMENT: Final = pa.timestamp(_MICROSECONDS, "UTC")
_LOCAL: Final = pa.timestamp(_MICROSECONDS)
_LOGICAL: Final[dict[tuple[str, str], pa.DataType]] = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-millis"): _MOMENT,
    ("long", "timestamp-micros"): _MOMENT,
    ("long", "timestamp-nanos"): _MOMENT,
    ("long", "local-timestamp-millis"): _LOCAL,
    ("long", "local-timestamp-micros"): _LOCAL,
    ("long", "local-timestamp-nanos"): _LOCAL,
}


def columns_of(schema: AvroType) -> pa.Schema:
    """The columns of a schema: the fields of a record, or one named `value` of anything else.

    Raises:
        ConfigurationError: a type cannot be a column.
    """
    if isinstance(schema, Record):
        return pa.schema(_fields(schema, ""))
    return pa.schema([("value", arrow_type(schema, "value"))])


def arrow_type(schema: AvroType, path: str) -> pa.DataType:
    """The Arrow type of an Avro type; everything may be null, since a malformed event is.

    Raises:
        ConfigurationError: there is none; `path` says where.
    """
    match schema:
        case Primitive("bytes" | "string", "decimal", precision, scale) | Fixed(_, _, "decimal", precision, scale):
            if precision > MOST_DIGITS:
                raise ConfigurationError(
                    f"{path} is a decimal of {precision} digits, and a column has {MOST_DIGITS} at most: read it raw"
                )
            return pa.decimal128(precision, scale)
        case Primitive(kind, logical):
            return _LOGICAL.get((kind, logical or ""), _SIMPLE[kind])
        case Fixed():
            return pa.binary()
        case Enumeration():
            return pa.string()
        case Sequence(items):
            if _takes_no_bytes(items):
                raise ConfigurationError(f"{path} is an array of items without content, which has no end: read it raw")
            return list_of(arrow_type(items, f"{path}[]"))
        case Mapping(values):
            return pa.map_(pa.string(), arrow_type(values, f"{path}{{}}"))
        case Union():
            return _union(schema, path)
        case Record():
            return pa.struct(_fields(schema, path))


def members(union: Union) -> list[int]:
    """The branches of a union that are not null, as positions."""
    return [place for place, branch in enumerate(union.branches) if branch != Primitive("null")]


def merged(union: Union) -> Primitive | None:
    """The one type that holds all of a union of int and long, or of float and double; None for other unions."""
    kinds = {branch.kind if isinstance(branch, Primitive) and not branch.logical else "" for branch in union.branches}
    kinds.discard("null")
    for wider in ({"int", "long"}, {"float", "double"}):
        if kinds == wider:
            return Primitive(max(wider, key=("int", "float", "long", "double").index))
    return None


def _union(union: Union, path: str) -> pa.DataType:
    branches = members(union)
    if not branches:
        return pa.null()
    if len(branches) == 1:
        return arrow_type(union.branches[branches[0]], path)
    if one := merged(union):
        return arrow_type(one, path)
    # As Spark does: a column for each, of which one has a value.
    return pa.struct(
        [
            (f"member{number}", arrow_type(union.branches[place], f"{path}.member{number}"))
            for number, place in enumerate(branches)
        ]
    )


def _fields(record: Record, path: str) -> list[pa.Field]:
    named = [(field, f"{path}.{field.name}" if path else field.name) for field in record.fields]
    return [pa.field(field.name, arrow_type(field.type, at)) for field, at in named]


def _takes_no_bytes(schema: AvroType) -> bool:
    match schema:
        case Primitive(kind):
            return kind == "null"
        case Record(_, fields):
            return all(_takes_no_bytes(field.type) for field in fields)
    return False
