"""Flights as events: JSON, Avro and Protobuf, and what a reader needs to know of them."""

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final

import fastavro
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from benchmarks.events import AVRO, DDL, flights

_PACKAGE: Final = "demo"
MESSAGE: Final = f"{_PACKAGE}.Flight"
_SCHEMA: Final = fastavro.parse_schema(json.loads(AVRO))
FIELDS: Final[list[tuple[str, str]]] = [
    (field["name"], field["type"] if isinstance(field["type"], str) else field["type"][1])
    for field in json.loads(AVRO)["fields"]
]


def avro_event(row: Mapping[str, Any]) -> bytes:
    """A flight as Avro."""
    out = BytesIO()
    fastavro.schemaless_writer(out, _SCHEMA, row)
    return out.getvalue()


def protobuf_message() -> tuple[bytes, Any]:
    """The descriptor set of a flight, and the class of its message."""
    file = descriptor_pb2.FileDescriptorProto(name="flight.proto", package=_PACKAGE, syntax="proto3")
    message = file.message_type.add(name="Flight")
    field = descriptor_pb2.FieldDescriptorProto
    kinds = {
        "string": field.TYPE_STRING,
        "long": field.TYPE_INT64,
        "double": field.TYPE_DOUBLE,
        "boolean": field.TYPE_BOOL,
    }
    for number, (name, kind) in enumerate(FIELDS, 1):
        message.field.add(name=name, number=number, type=kinds[kind], label=field.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName(MESSAGE))
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString(), made


def encoded_flights(kind: str) -> tuple[list[bytes], bytes]:
    """Flights in a format, and their schema: DDL, an Avro schema, or a descriptor set."""
    if kind == "json":
        return [json.dumps(row).encode() for row in flights()], DDL.encode()
    if kind == "avro":
        return [avro_event(row) for row in flights()], AVRO.encode()
    descriptors, flight = protobuf_message()
    return [flight(**row).SerializeToString() for row in flights()], descriptors
