"""Schemas of columns: Spark's and Arrow's schemas as Avro, or as JSON Schema.

Every field may be null, as in the schemas that Spark makes for a write without one. Spark's types are read from the
JSON of its schemas, so that Spark need not be installed.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from aiopravega.errors import ConfigurationError
from aiopravega.schema import SchemaFormat, SchemaInfo

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_SPARK: Final[Mapping[str, Any]] = {
    "boolean": "boolean",
    "byte": "int",
    "short": "int",
    "integer": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamp_ntz": {"type": "long", "logicalType": "local-timestamp-micros"},
}
_JSON: Final[Mapping[str, Mapping[str, str]]] = {
    "boolean": {"type": "boolean"},
    "int": {"type": "integer"},
    "long": {"type": "integer"},
    "float": {"type": "number"},
    "double": {"type": "number"},
    "string": {"type": "string"},
    "bytes": {"type": "string"},
    "date": {"type": "string", "format": "date"},
    "timestamp-micros": {"type": "string", "format": "date-time"},
    "local-timestamp-micros": {"type": "string"},
    "decimal": {"type": "number"},
}


def is_columns(source: Any) -> bool:
    """Return True if an object is a schema of Spark or of Arrow."""
    return _is_spark(source) or _is_arrow(source)


def _is_spark(source: Any) -> bool:
    return type(source).__module__.startswith("pyspark.") and hasattr(source, "jsonValue")


def _is_arrow(source: Any) -> bool:
    return type(source).__module__.startswith("pyarrow.") and hasattr(source, "field")


def from_columns(source: Any, type_name: str, kind: SchemaFormat = SchemaFormat.AVRO) -> SchemaInfo:
    """The schema of a record with these columns.

    Args:
        source: a `StructType` of Spark, or a `pyarrow.Schema`.
        type_name: the record's name; signs that Avro's names cannot have become `_`.
        kind: Avro or JSON.

    Raises:
        ConfigurationError: the format is neither Avro nor JSON, or does not have the name or the type of a column.
    """
    if kind not in (SchemaFormat.AVRO, SchemaFormat.JSON):
        raise ConfigurationError(f"columns cannot become a {kind} schema: they have no field numbers. Give a file")
    if _is_arrow(source):
        from aiopravega.schema.avro.columns.types import schema_of

        document = json.loads(schema_of(source, type_name))
    else:
        document = _record(source.jsonValue(), _full_name(type_name))
    if kind is SchemaFormat.AVRO:
        return SchemaInfo.of(kind, document["name"], json.dumps(document))
    return SchemaInfo.of(kind, type_name, json.dumps(_json_type(document)))


def _full_name(name: str) -> str:
    parts = [re.sub(r"\W", "_", part, flags=re.ASCII) for part in name.split(".")]
    return ".".join(part if _NAME.fullmatch(part) else f"_{part}" for part in parts)


def _record(struct: Mapping[str, Any], name: str) -> dict[str, Any]:
    fields = []
    for field in struct["fields"]:
        if not _NAME.fullmatch(field["name"]):
            raise ConfigurationError(
                f"column {field['name']!r} cannot be a field of Avro, whose names have letters, digits and _: rename it"
            )
        kind = _avro_type(field["type"], f"{name}_{field['name']}")
        fields.append({"name": field["name"], "type": ["null", kind], "default": None})
    return {"type": "record", "name": name, "fields": fields}


def _avro_type(kind: Any, name: str) -> Any:
    if isinstance(kind, str):
        if kind in _SPARK:
            return _SPARK[kind]
        if matched := _DECIMAL.fullmatch(kind):
            return {"type": "bytes", "logicalType": "decimal", "precision": int(matched[1]), "scale": int(matched[2])}
        if kind.startswith(("varchar(", "char(")):
            return "string"
    else:
        match kind.get("type"):
            case "struct":
                return _record(kind, name)
            case "array":
                return {"type": "array", "items": ["null", _avro_type(kind["elementType"], name)]}
            case "map" if kind["keyType"] == "string":
                return {"type": "map", "values": ["null", _avro_type(kind["valueType"], name)]}
    raise ConfigurationError(f"a column of type {kind} has no type in Avro: cast it, for example to string")


def _json_type(kind: Any) -> dict[str, Any]:
    """The JSON Schema of an Avro type that was made of columns."""
    if isinstance(kind, list):  # null, and one more
        value_type = _json_type(kind[1])
        return {**value_type, "type": [value_type["type"], "null"]}
    if isinstance(kind, str):
        return dict(_JSON[kind])
    match kind["type"]:
        case "record":
            return {
                "type": "object",
                "properties": {field["name"]: _json_type(field["type"]) for field in kind["fields"]},
            }
        case "array":
            return {"type": "array", "items": _json_type(kind["items"])}
        case "map":
            return {"type": "object", "additionalProperties": _json_type(kind["values"])}
    return dict(_JSON[kind["logicalType"]])
