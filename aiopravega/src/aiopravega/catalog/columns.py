"""Fields of a schema as columns to show: names, and types in the words of the format.

They are for people and for the pages of schedulers. Decoding events needs more; see `aiopravega.schema`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

if TYPE_CHECKING:
    from aiopravega.schema import SchemaInfo

_NULL: Final = "null"
_ANYTHING: Final = "any"
_KEY, _VALUE = 0, 1  # fields of the message that an entry of a map is


@dataclass(frozen=True, slots=True)
class Column:
    """A field at the top of an event; `nullable` is true if it may be null, or missing."""

    name: str
    type: str
    nullable: bool
    description: str | None = None


def columns_of(schema: "SchemaInfo") -> tuple[Column, ...]:
    """The columns of a schema; empty if it has no fields, or is of a custom format."""
    try:
        match schema.format.value:
            case "Avro":
                return _avro(json.loads(schema.text))
            case "Json":
                return _json(json.loads(schema.text))
            case "Protobuf":
                return _protobuf(FileDescriptorSet.FromString(schema.schema_data), schema.type)
    except (ValueError, DecodeError):  # a schema that is not valid in its format: nothing can be shown
        return ()
    return ()


def _avro(document: Any) -> tuple[Column, ...]:
    if not isinstance(document, dict) or document.get("type") != "record":
        return ()
    columns = []
    for field in document.get("fields", ()):
        kind = field["type"]
        nullable = isinstance(kind, list) and _NULL in kind
        columns.append(Column(field["name"], _avro_type(kind), nullable, field.get("doc")))
    return tuple(columns)


def _avro_type(kind: Any) -> str:
    if isinstance(kind, list):
        return " | ".join(_avro_type(branch) for branch in kind if branch != _NULL) or _NULL
    if not isinstance(kind, dict):
        return str(kind)
    match kind.get("type"):
        case "array":
            return f"array<{_avro_type(kind.get('items'))}>"
        case "map":
            return f"map<string, {_avro_type(kind.get('values'))}>"
        case "record" | "enum" | "fixed" as named:
            return f"{named} {kind.get('name')}"
        case dict() | list() as inner:
            return _avro_type(inner)
        case plain:
            logical = kind.get("logicalType")
            if logical == "decimal":
                return f"decimal({kind.get('precision')}, {kind.get('scale', 0)})"
            return str(logical or plain)


def _json(document: Any) -> tuple[Column, ...]:
    if not isinstance(document, dict):
        return ()
    required = document.get("required", ())
    return tuple(
        Column(name, kind.replace(f" | {_NULL}", ""), name not in required or _NULL in kind.split(" | "), _said(field))
        for name, field in document.get("properties", {}).items()
        for kind in [_json_type(field)]
    )


def _said(field: Any) -> str | None:
    description = field.get("description") if isinstance(field, dict) else None
    return description if isinstance(description, str) else None


def _json_type(field: Any) -> str:
    if not isinstance(field, dict):
        return _ANYTHING
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    for word in ("anyOf", "oneOf"):
        if word in field:
            return _alternatives([_json_type(choice) for choice in field[word]])
    kind = field.get("type")
    if isinstance(kind, list):
        return _alternatives([_json_type({**field, "type": one}) for one in kind])
    if kind == "array":
        return f"array<{_json_type(field.get('items'))}>"
    if "enum" in field:
        return "enum"
    return str(field.get("format") or kind or _ANYTHING)


def _alternatives(kinds: list[str]) -> str:
    """The different types, with null at the end."""
    return " | ".join(sorted(dict.fromkeys(kinds), key=lambda kind: kind == _NULL))


def _protobuf(files: FileDescriptorSet, name: str) -> tuple[Column, ...]:
    messages: dict[str, tuple[DescriptorProto, bool]] = {}
    for file in files.file:
        for message in file.message_type:
            _collect(message, file.package, file.syntax == "proto3", messages)
    if name not in messages:
        return ()
    message, implicit = messages[name]
    entries = {f".{full}": one for full, (one, _) in messages.items() if one.options.map_entry}
    return tuple(_protobuf_column(field, implicit, entries) for field in message.field)


def _collect(
    message: DescriptorProto, space: str, implicit: bool, messages: dict[str, tuple[DescriptorProto, bool]]
) -> None:
    name = f"{space}.{message.name}".lstrip(".")
    messages[name] = message, implicit
    for inner in message.nested_type:
        _collect(inner, name, implicit, messages)


def _protobuf_column(field: FieldDescriptorProto, implicit: bool, entries: Mapping[str, DescriptorProto]) -> Column:
    kind = _protobuf_type(field)
    if field.type_name in entries:
        parts = entries[field.type_name].field
        return Column(field.name, f"map<{_protobuf_type(parts[_KEY])}, {_protobuf_type(parts[_VALUE])}>", False)
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return Column(field.name, f"repeated {kind}", False)
    # In proto3 a number that was not set is 0: it is never missing.
    present = field.label == FieldDescriptorProto.LABEL_REQUIRED or (
        implicit and not field.proto3_optional and not field.HasField("oneof_index") and not _is_message(field)
    )
    return Column(field.name, kind, not present)


def _is_message(field: FieldDescriptorProto) -> bool:
    return field.type in (FieldDescriptorProto.TYPE_MESSAGE, FieldDescriptorProto.TYPE_GROUP)


def _protobuf_type(field: FieldDescriptorProto) -> str:
    return field.type_name.lstrip(".") or FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
