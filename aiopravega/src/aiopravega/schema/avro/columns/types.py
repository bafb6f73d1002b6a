"""Avro types as Arrow types, the same as in Spark's `from_avro`, so that one can replace the other; and the reverse.

The Avro schema for columns, if the user gives none, is a record whose fields may all be null.
"""

import json
import re
from typing import Any, Final

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
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WRITTEN_AS: Final[tuple[tuple[pa.DataType, Any], ...]] = (
    (pa.bool_(), "boolean"),
    (pa.int8(), "int"),
    (pa.int16(), "int"),
    (pa.int32(), "int"),
    (pa.int64(), "long"),
    (pa.float32(), "float"),
    (pa.float64(), "double"),
    (pa.string(), "string"),
    (pa.binary(), "bytes"),
    (pa.date32(), {"type": "int", "logicalType": "date"}),
)


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


def schema_of(columns: pa.Schema, name: str) -> str:
    """The schema of a record `name` with these columns, as JSON.

    A reader with a newer version, which has more columns, can read data of this version, and the other way round.

    Raises:
        ConfigurationError: a column has a name or a type that Avro does not have.
    """
    return json.dumps(_record(list(columns), _full_name(name)))


def _full_name(name: str) -> str:
    """A name for the record, made of a name that may be a stream's."""
    parts = [re.sub(r"\W", "_", part, flags=re.ASCII) for part in name.split(".")]
    return ".".join(part if _NAME.fullmatch(part) else f"_{part}" for part in parts)


def _record(fields: list[pa.Field], name: str) -> dict[str, Any]:
    for field in fields:
        if not _NAME.fullmatch(field.name):
            raise ConfigurationError(
                f"column {field.name!r} cannot be a field of Avro, whose names have letters, digits and _: rename it"
            )
    return {
        "type": "record",
        "name": name,
        "fields": [
            {"name": field.name, "type": ["null", _type(field.type, f"{name}_{field.name}")], "default": None}
            for field in fields
        ],
    }


def _type(kind: pa.DataType, name: str) -> Any:
    """The Avro type of a column; `name` is for a record, since each record needs a different name."""
    for simple, avro_type in _WRITTEN_AS:
        if kind == simple:
            return avro_type
    if pa.types.is_timestamp(kind):
        return {"type": "long", "logicalType": "timestamp-micros" if kind.tz else "local-timestamp-micros"}
    if pa.types.is_decimal(kind):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if pa.types.is_struct(kind):
        return _record(list(kind), name)
    if pa.types.is_map(kind) and pa.types.is_string(kind.key_type):
        return {"type": "map", "values": ["null", _type(kind.item_type, name)]}
    if pa.types.is_list(kind):
        return {"type": "array", "items": ["null", _type(kind.value_type, name)]}
    raise ConfigurationError(f"a column of type {kind} has no type in Avro: cast it, for example to string")
