"""The column of each field of a schema, or the reason why it has none: events are decoded by the same functions."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.open.blocks.targets import JsonTarget, ProtobufTarget, target_of
from aiopravega.schema.registry.model import SchemaFormat, SchemaInfo

# The columns of a schema that has one field of another schema and no others.
_Columns: TypeAlias = Callable[[], pa.Schema]


@dataclass(frozen=True, slots=True)
class FieldColumn:
    """A field at the top of a schema: its type as a column, or the reason why it cannot be one."""

    name: str
    type: pa.DataType | None
    reason: str | None = None


def field_columns(schema: SchemaInfo) -> tuple[FieldColumn, ...]:
    """The fields of a schema, in their order.

    If one of them has a reason, events have no columns by this schema: they are read raw, or by another schema.

    Raises:
        ConfigurationError: the schema has no fields, or is of a custom format.
        InvalidSchemaError: it is not a schema of its format.
    """
    try:
        return tuple(FieldColumn(field.name, field.type) for field in target_of(schema).schema)
    except ConfigurationError as error:
        found = [_column(name, columns) for name, columns in _alone(schema)]
        if all(one.reason is None for one in found):
            raise error from None  # the reason is not in a field
        return tuple(found)


def _column(name: str, columns: _Columns) -> FieldColumn:
    try:
        return FieldColumn(name, columns().field(0).type)
    except ConfigurationError as error:
        return FieldColumn(name, None, str(error))


def _alone(schema: SchemaInfo) -> Iterator[tuple[str, _Columns]]:
    match schema.format:
        case SchemaFormat.AVRO:
            yield from _fields_of_avro(schema.text)
        case SchemaFormat.JSON:
            yield from _properties(json.loads(schema.text))
        case SchemaFormat.PROTOBUF:
            yield from _fields_of_message(schema)


def _fields_of_avro(text: str) -> Iterator[tuple[str, _Columns]]:
    from aiopravega.schema.avro.columns.types import columns_of
    from aiopravega.schema.avro.model import Record, RecordField
    from aiopravega.schema.avro.parsing import parse

    record = parse(text)
    if not isinstance(record, Record):
        return

    def alone(field: RecordField) -> _Columns:
        return lambda: columns_of(replace(record, fields=(field,)))

    for field in record.fields:
        yield field.name, alone(field)


def _properties(document: Any) -> Iterator[tuple[str, _Columns]]:
    from aiopravega.schema.json.columns.types import column_of

    properties = document.get("properties") if isinstance(document, dict) else None
    if not isinstance(properties, dict):
        return

    def alone(name: str) -> _Columns:
        return lambda: JsonTarget(pa.schema([(name, column_of(document, name))])).schema

    for name in properties:
        yield name, alone(name)


def _fields_of_message(schema: SchemaInfo) -> Iterator[tuple[str, _Columns]]:
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorSet

    from aiopravega.schema.protobuf.descriptors import only_message

    name = schema.type or only_message(schema.schema_data)

    def message_in(files: FileDescriptorSet) -> DescriptorProto | None:
        waiting = [(file.package, message) for file in files.file for message in file.message_type]
        while waiting:
            around, message = waiting.pop()
            full = f"{around}.{message.name}".lstrip(".")
            if full == name:
                return message
            waiting += [(full, inner) for inner in message.nested_type]
        return None

    def alone(number: int) -> _Columns:
        def columns() -> pa.Schema:
            files = FileDescriptorSet.FromString(schema.schema_data)
            message = message_in(files)
            assert message is not None
            chosen = message.field[number]
            chosen.ClearField("oneof_index")
            chosen.ClearField("proto3_optional")
            del message.field[number + 1 :], message.field[:number], message.oneof_decl[:]
            return ProtobufTarget.of(files.SerializeToString(), name).schema

        return columns

    message = message_in(FileDescriptorSet.FromString(schema.schema_data))
    for number, field in enumerate(() if message is None else message.field):
        yield field.name, alone(number)
