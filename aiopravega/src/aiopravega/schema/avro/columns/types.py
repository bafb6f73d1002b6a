"""Avro types as Arrow types, the same as in Spark's `from_avro`, so that one can replace the other."""

from typing import Final

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import list_of
from aiopravega.schema.avro import model as avro
from aiopravega.schema.avro.limits import limits_of

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


def columns_of(schema: avro.AvroType) -> pa.Schema:
    """The columns of a schema: the fields of a record; for other types one column, `value`.

    Raises:
        ConfigurationError: a type cannot be a column.
    """
    is_record = isinstance(schema, avro.Record)
    for limit in limits_of(schema, "" if is_record else "value"):
        raise ConfigurationError(f"the Avro schema cannot be columns: {limit.problem.lstrip('.')}: read it raw")
    return pa.schema(list(arrow_type(schema)) if is_record else [("value", arrow_type(schema))])


def arrow_type(schema: avro.AvroType) -> pa.DataType:
    """The Arrow type of an Avro type that columns can hold; all may be null, since a malformed event is null."""
    match schema:
        case avro.Primitive("bytes", "decimal", precision, scale) | avro.Fixed(_, _, "decimal", precision, scale):
            return pa.decimal128(precision, scale)
        case avro.Primitive(kind, logical):
            return _LOGICAL.get((kind, logical or ""), _SIMPLE[kind])
        case avro.Fixed():
            return pa.binary()
        case avro.Enumeration():
            return pa.string()
        case avro.Sequence(items):
            return list_of(arrow_type(items))
        case avro.Mapping(values):
            return pa.map_(pa.string(), arrow_type(values))
        case avro.Union():
            return _union(schema)
        case avro.Record(_, fields):
            return pa.struct([pa.field(field.name, arrow_type(field.type)) for field in fields])


def members(union: avro.Union) -> list[int]:
    """The branches of a union that are not null, as positions."""
    return [index for index, branch in enumerate(union.branches) if branch != avro.NULL]


def merged(union: avro.Union) -> avro.Primitive | None:
    """The type that holds all values of a union of int and long, or of float and double; None for other unions."""
    kinds = {
        branch.kind if isinstance(branch, avro.Primitive) and not branch.logical else "" for branch in union.branches
    }
    kinds.discard("null")
    for wider in ({"int", "long"}, {"float", "double"}):
        if kinds == wider:
            return avro.Primitive(max(wider, key=("int", "float", "long", "double").index))
    return None


def _union(union: avro.Union) -> pa.DataType:
    branches = members(union)
    if not branches:
        return pa.null()
    if len(branches) == 1:
        return arrow_type(union.branches[branches[0]])
    if one := merged(union):
        return arrow_type(one)
    # As in Spark: a column for each branch; one of them has a value.
    return pa.struct([(f"member{number}", arrow_type(union.branches[index])) for number, index in enumerate(branches)])
