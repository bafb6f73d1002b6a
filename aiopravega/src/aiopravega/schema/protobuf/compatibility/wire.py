"""Types of Protobuf fields on the wire, and the types that each can be read as without a change of values."""

from collections.abc import Mapping
from typing import Final

from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.descriptor import OneofDescriptor

from aiopravega.schema.protobuf.labels import is_repeated, is_required

_VARINT: Final = (
    Field.TYPE_INT32,
    Field.TYPE_INT64,
    Field.TYPE_UINT32,
    Field.TYPE_UINT64,
    Field.TYPE_SINT32,
    Field.TYPE_SINT64,
    Field.TYPE_BOOL,
    Field.TYPE_ENUM,
)
_WIRE: Final[Mapping[int, str]] = {
    **dict.fromkeys(_VARINT, "varint"),
    **dict.fromkeys((Field.TYPE_FIXED64, Field.TYPE_SFIXED64, Field.TYPE_DOUBLE), "64 bits"),
    **dict.fromkeys((Field.TYPE_FIXED32, Field.TYPE_SFIXED32, Field.TYPE_FLOAT), "32 bits"),
    **dict.fromkeys((Field.TYPE_STRING, Field.TYPE_BYTES, Field.TYPE_MESSAGE), "length and bytes"),
    Field.TYPE_GROUP: "group",
}
# The types that each type can be read as without a change of values.
_KEPT: Final[Mapping[int, frozenset[int]]] = {
    Field.TYPE_BOOL: frozenset({Field.TYPE_INT32, Field.TYPE_INT64, Field.TYPE_UINT32, Field.TYPE_UINT64}),
    Field.TYPE_INT32: frozenset({Field.TYPE_INT64, Field.TYPE_ENUM}),
    Field.TYPE_UINT32: frozenset({Field.TYPE_UINT64, Field.TYPE_INT64}),
    Field.TYPE_SINT32: frozenset({Field.TYPE_SINT64}),
    Field.TYPE_ENUM: frozenset({Field.TYPE_INT32, Field.TYPE_INT64}),
    Field.TYPE_STRING: frozenset({Field.TYPE_BYTES}),
    Field.TYPE_MESSAGE: frozenset({Field.TYPE_BYTES}),
}
_NAMES: Final[Mapping[int, str]] = {
    value: name.removeprefix("TYPE_").lower() for name, value in vars(Field).items() if name.startswith("TYPE_")
}


def keeps_values(reader: int, writer: int) -> bool:
    """True if every value of the writer's type is read as the same value."""
    return reader == writer or reader in _KEPT.get(writer, ())


def same_wire_type(reader: int, writer: int) -> bool:
    """True if a reader reads the bytes as a value; otherwise it skips them as an unknown field."""
    return _WIRE[reader] == _WIRE[writer]


def type_name(field: Field) -> str:
    """A field's type as a .proto file has it."""
    if field.message_type is not None:
        if field.message_type.GetOptions().map_entry:
            key, value = (field.message_type.fields_by_number[number] for number in (1, 2))
            return f"map<{type_name(key)}, {type_name(value)}>"
        return f"{'group ' if field.type == Field.TYPE_GROUP else ''}{field.message_type.full_name}"
    return str(field.enum_type.full_name) if field.enum_type is not None else _NAMES[field.type]


def declaration(field: Field) -> str:
    """A field as a .proto file has it."""
    is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
    label = "repeated " if is_repeated(field) and not is_map else "required " if is_required(field) else ""
    default = f" [default = {field.default_value}]" if field.has_default_value else ""
    return f"{label}{type_name(field)} {field.name} = {field.number}{default}"


def oneof_of(field: Field) -> OneofDescriptor | None:
    """The oneof of a field; an optional field of proto3 has a generated one, which does not count."""
    oneof = field.containing_oneof
    if oneof is None or (len(oneof.fields) == 1 and oneof.name == f"_{field.name}"):
        return None
    return oneof
