"""The Avro schema for columns, if the user gives none: a record whose fields may all be null."""

import json
import re
from typing import Any, Final

import pyarrow as pa

from aiopravega.errors import ConfigurationError

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIMPLE: Final[tuple[tuple[pa.DataType, Any], ...]] = (
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
    for simple, found in _SIMPLE:
        if kind == simple:
            return found
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
