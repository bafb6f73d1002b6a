"""What the official Java serializers write, we read, and the reverse: all formats and codecs, events and blocks."""

import json
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from tests.java.peer import JavaSerializers

from aiopravega.schema import GroupProperties, SchemaFormat, register_codec
from aiopravega.schema.arrow.arrays import values_of
from aiopravega.schema.open.blocks import open_block_serializer
from aiopravega.schema.open.blocks.deserializer import BlockDeserializer
from aiopravega.schema.open.blocks.targets import AvroTarget, JsonTarget, ProtobufTarget, Target
from aiopravega.schema.registry.codecs import GZIP, LZ4, NONE, SNAPPY
from aiopravega.schema.serializers import (
    AvroFormat,
    CustomFormat,
    EventFormat,
    JsonFormat,
    ProtobufFormat,
    open_deserializer,
    open_multi_serializer,
    open_serializer,
)
from aiopravega.sizes import LARGEST_PAYLOAD

REVERSED = "application/x-reversed"
CODECS = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "reversed": REVERSED}
VALUE = {"id": 7, "name": 'Zoë "quoted"', "ratio": 0.5, "more": "x" * 300}
ROWS: list[list[Any]] = [[7], ['Zoë "quoted"'], [0.5], ["x" * 300]]
TEXT = json.dumps(VALUE)
AVRO = json.dumps(
    {
        "type": "record",
        "name": "User",
        "namespace": "demo",
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "name", "type": "string"},
            {"name": "ratio", "type": "double"},
            {"name": "more", "type": "string"},
        ],
    }
)
KINDS = {"id": "integer", "name": "string", "ratio": "number", "more": "string"}
JSON = json.dumps({"type": "object", "properties": {name: {"type": kind} for name, kind in KINDS.items()}})


def message() -> bytes:
    file = FileDescriptorProto(name="user.proto", package="demo", syntax="proto3")
    user = file.message_type.add(name="User")
    field = FieldDescriptorProto
    kinds = [field.TYPE_INT32, field.TYPE_STRING, field.TYPE_DOUBLE, field.TYPE_STRING]
    for number, (name, kind) in enumerate(zip(VALUE, kinds, strict=True), 1):
        user.field.add(name=name, number=number, type=kind, label=field.LABEL_OPTIONAL)
    return FileDescriptorSet(file=[file]).SerializeToString()


MESSAGE = message()
TEXTS = CustomFormat("texts", "demo.User", b"a text", str.encode, lambda payload, _: payload.rstrip(b"\0").decode())
USERS = ProtobufFormat.of_descriptors(MESSAGE, "demo.User")
FORMATS: dict[str, tuple[EventFormat, str | bytes]] = {
    "avro": (AvroFormat(AVRO), AVRO),
    "json": (JsonFormat(JSON, "demo.User"), JSON),
    "protobuf": (USERS, MESSAGE),
    "custom": (TEXTS, "a text"),
}
TARGETS: dict[str, Target] = {
    "avro": AvroTarget.of(AVRO),
    "json": JsonTarget(
        pa.schema([("id", pa.int32()), ("name", pa.string()), ("ratio", pa.float64()), ("more", pa.string())])
    ),
    "protobuf": ProtobufTarget.of(MESSAGE, "demo.User"),
}


class Reversed:
    """The codec that the Java peer has, too."""

    def compress(self, payload: bytes) -> bytes:
        return payload[::-1]

    def decompress(self, payload: bytes, limit: int = LARGEST_PAYLOAD) -> bytes:
        return payload[::-1]


@pytest.fixture(scope="module")
def java(pravega_emulator, tmp_path_factory):
    register_codec(REVERSED, Reversed())
    with JavaSerializers(pravega_emulator.schema_registry_uri, tmp_path_factory.mktemp("java")) as started:
        yield started


def properties(name: str) -> GroupProperties:
    return GroupProperties.of("texts" if name == "custom" else name.capitalize())


def value_for(name: str):
    """What we write: the same that Java gets as JSON."""
    if name == "protobuf":
        return json_format.Parse(TEXT, USERS.message())
    return TEXT if name == "custom" else VALUE


def plain(value):
    if hasattr(value, "DESCRIPTOR"):
        return json_format.MessageToDict(value)
    return json.loads(value) if isinstance(value, str) else value


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", FORMATS)
async def test_each_reads_what_the_other_writes(java, registry, group, name, codec):
    form, schema = FORMATS[name]
    how = {"format": name, "group": group, "type": "demo.User", "schema": schema, "codec": codec}
    await registry.create_group(group, properties(name))

    theirs = java.write(TEXT, **how)
    serializer = await open_serializer(registry, group, form, codec=CODECS[codec])
    ours = serializer.serialize(value_for(name))

    deserializer = await open_deserializer(registry, group, form)
    assert plain(await deserializer.deserialize(theirs)) == VALUE
    assert plain(await deserializer.deserialize(ours)) == VALUE
    assert json.loads(java.read(ours, **how)) == VALUE
    assert ours[:5] == theirs[:5]  # the same schema and codec to the registry
    if name in TARGETS:
        encodings = {serializer.encoding_id: await deserializer.encoding(ours)}
        block = BlockDeserializer(TARGETS[name], encodings.__getitem__).decode(values_of([theirs, ours], pa.binary()))
        assert not block.bad
        assert [column.to_pylist() for column in block.columns] == [value * 2 for value in ROWS]
        columns = TARGETS[name].schema
        blocks = await open_block_serializer(registry, group, form.info, columns, codec=CODECS[codec])
        (event,) = blocks.events(pa.RecordBatch.from_pylist([VALUE], columns)).to_pylist()
        assert event[:5] == theirs[:5]
        assert json.loads(java.read(event, **how)) == VALUE


@pytest.mark.parametrize("name", ["json", "protobuf", "custom"])
async def test_each_reads_what_the_other_writes_without_header(java, registry, group, name):
    form, schema = FORMATS[name]
    how = {"format": name, "group": group, "type": "demo.User", "schema": schema, "header": False}
    await registry.create_group(group, properties(name))

    theirs = java.write(TEXT, **how)
    ours = (await open_serializer(registry, group, form, header=False)).serialize(value_for(name))

    read = form.reader()
    assert plain(read(theirs)) == plain(read(ours)) == VALUE
    assert json.loads(java.read(ours, **how)) == VALUE


async def test_several_types_and_formats_stand_in_one_group(java, registry, group):
    await registry.create_group(group, GroupProperties.of(SchemaFormat.ANY, multiple_types=True))
    forms: list[EventFormat] = [AvroFormat(AVRO.replace('"User"', '"A"')), JsonFormat(JSON, "B")]
    ours = await open_multi_serializer(registry, group, forms, codec=GZIP)
    events = [ours.serialize(VALUE, "demo.A"), ours.serialize(VALUE, "B")]
    events.append(java.write(TEXT, format="avro", group=group, schema=AVRO, codec="snappy"))

    deserializer = await open_deserializer(registry, group)

    assert await deserializer.deserialize_many(events) == [VALUE] * 3
    assert [(await deserializer.encoding(event)).schema_info.type for event in events] == ["demo.A", "B", "demo.User"]
    assert [json.loads(java.read(event, format="any", group=group)) for event in events[:2]] == [VALUE] * 2


async def test_the_schema_of_the_reader_counts_for_both(java, registry, group):
    await registry.create_group(group, properties("avro"))
    newer = json.loads(AVRO)
    newer["fields"] = [{"name": "country", "type": "string", "default": "?"}, newer["fields"][0] | {"type": "long"}]
    theirs = java.write(TEXT, format="avro", group=group, schema=AVRO)
    ours = (await open_serializer(registry, group, AvroFormat(AVRO))).serialize(VALUE)

    deserializer = await open_deserializer(registry, group, AvroFormat(newer))

    assert await deserializer.deserialize(theirs) == {"country": "?", "id": 7}
    assert json.loads(java.read(ours, format="avro", group=group, schema=json.dumps(newer))) == {
        "country": "?",
        "id": 7,
    }
