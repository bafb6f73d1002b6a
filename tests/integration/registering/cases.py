"""Schemas of three formats, of which some may follow the first one by some policies."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet

from aiopravega.schema import SchemaFormat, SchemaInfo
from aiopravega.schema.serializers import AvroFormat, EventFormat, JsonFormat, ProtobufFormat

ID, TEXT_ID = ("id", pa.int64()), ("id", pa.string())


@dataclass(frozen=True)
class Case:
    """A schema, and columns that it can be written from."""

    name: str
    schema: SchemaInfo
    columns: tuple[tuple[str, pa.DataType], ...]

    @property
    def form(self) -> EventFormat:
        match self.schema.format:
            case SchemaFormat.AVRO:
                return AvroFormat(self.schema.text)
            case SchemaFormat.JSON:
                return JsonFormat(self.schema.text, self.schema.type)
        return ProtobufFormat.of_descriptors(self.schema.schema_data, self.schema.type)


def avro(name: str, *fields: dict[str, Any], columns: tuple[Any, ...] = (ID,)) -> Case:
    text = json.dumps({"type": "record", "name": "orders", "fields": fields})
    return Case(name, SchemaInfo.of(SchemaFormat.AVRO, "orders", text), columns)


def of_json(name: str, *, columns: tuple[Any, ...] = (ID,), **properties: Any) -> Case:
    text = json.dumps({"type": "object", "properties": properties, "additionalProperties": False})
    return Case(name, SchemaInfo.of(SchemaFormat.JSON, "orders", text), columns)


def protobuf(name: str, *, columns: tuple[Any, ...] = (ID,), **fields: "FieldDescriptorProto.Type.ValueType") -> Case:
    files = FileDescriptorSet()
    file = files.file.add(name="orders.proto", syntax="proto3")
    message = file.message_type.add(name="orders")
    for number, (field, kind) in enumerate(fields.items(), 1):
        message.field.add(name=field, number=number, type=kind, label=FieldDescriptorProto.LABEL_OPTIONAL)
    return Case(name, SchemaInfo.of(SchemaFormat.PROTOBUF, "orders", files.SerializeToString()), columns)


LONG, TEXT = {"name": "id", "type": "long"}, {"name": "id", "type": "string"}
NOTE = {"name": "note", "type": "string", "default": ""}
AMOUNT = {"name": "amount", "type": "double"}
INT64, STRING = FieldDescriptorProto.TYPE_INT64, FieldDescriptorProto.TYPE_STRING
CASES: Mapping[SchemaFormat, tuple[Case, ...]] = {
    SchemaFormat.AVRO: (
        avro("first", LONG),
        avro("wider", LONG, NOTE, columns=(ID, ("note", pa.string()))),
        avro("field without default", LONG, AMOUNT, columns=(ID, ("amount", pa.float64()))),
        avro("other type of a field", TEXT, columns=(TEXT_ID,)),
    ),
    SchemaFormat.JSON: (
        of_json("first", id={"type": "integer"}),
        of_json("wider", id={"type": "integer"}, note={"type": "string"}),
        of_json("narrower", id={"type": "integer", "minimum": 1}),
        of_json("other type of a field", id={"type": "string"}, columns=(TEXT_ID,)),
    ),
    SchemaFormat.PROTOBUF: (
        protobuf("first", id=INT64),
        protobuf("wider", id=INT64, note=STRING),
        protobuf("other type of a field", id=STRING, columns=(TEXT_ID,)),
    ),
}
# Of another format than the group: refused whatever its policy is.
FOREIGN = {
    SchemaFormat.AVRO: CASES[SchemaFormat.JSON][0],
    SchemaFormat.JSON: CASES[SchemaFormat.PROTOBUF][0],
    SchemaFormat.PROTOBUF: CASES[SchemaFormat.AVRO][0],
}
# Single events of it can be read, columns not: it contains itself.
RECURSIVE = avro("contains itself", LONG, {"name": "next", "type": ["null", "orders"], "default": None})
