"""Classes of Java whose schemas its serializers make: events in both directions, and the columns of their schemas."""

import json
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from tests.java.peer import JavaSerializers

from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.schema import GroupProperties, SchemaFormat, SchemaInfo
from aiopravega.schema.arrow.arrays import values_of
from aiopravega.schema.open.blocks import open_block_reader
from aiopravega.schema.open.blocks.targets import JsonTarget
from aiopravega.schema.serializers import (
    AvroFormat,
    EventFormat,
    JsonFormat,
    ProtobufFormat,
    open_deserializer,
    open_serializer,
)

HOME = {"city": "Oslo", "tags": ["a", "b"]}
ORDER = {
    "id": 7,
    "$id": "a mark",
    "$ref": "a link",
    "required": True,
    "from": HOME,
    "to": {"city": "Rome", "tags": []},
    "stops": [HOME, HOME],
    "ways": [HOME],
    "box": {"inside": HOME, "more": [HOME]},
    "size": "LARGE",
    "grid": [[1, 2], [3]],
    "sizes": ["SMALL"],
    "ratio": 0.5,
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "when": 1700000000000,
    "price": 12.5,
}
STOCK = {
    "id": "s",
    "counts": {"a": 1, "b": 2},
    "homes": {"x": HOME},
    "size": "SMALL",
    "home": HOME,
    "stops": [HOME],
    "note": "n",
    "spare": HOME,
}
UNSET = {**STOCK, "note": None, "spare": None}
TREE = {"name": "root", "children": [{"name": "leaf", "children": []}]}


def shipment() -> bytes:
    """A message with a message used twice, one in a list, maps, an enum, and fields with and without presence."""
    field = FieldDescriptorProto
    one, many = field.LABEL_OPTIONAL, field.LABEL_REPEATED
    file = FileDescriptorProto(name="shipment.proto", package="demo", syntax="proto3")
    size = file.enum_type.add(name="Size")
    for number, name in enumerate(("UNKNOWN", "SMALL", "LARGE")):
        size.value.add(name=name, number=number)
    top = file.message_type.add(name="Shipment")
    address = top.nested_type.add(name="Address")
    address.field.add(name="city", number=1, type=field.TYPE_STRING, label=one)
    address.field.add(name="tags", number=2, type=field.TYPE_STRING, label=many)
    of_address = {"type": field.TYPE_MESSAGE, "type_name": ".demo.Shipment.Address"}
    for name, kind in (("Counts", {"type": field.TYPE_INT32}), ("Homes", of_address)):
        entry: DescriptorProto = top.nested_type.add(name=f"{name}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=field.TYPE_STRING, label=one)
        entry.field.add(name="value", number=2, label=one, **kind)
    top.field.add(name="id", number=1, type=field.TYPE_INT32, label=one)
    top.field.add(name="from", number=2, label=one, **of_address)
    top.field.add(name="to", number=3, label=one, **of_address)
    top.field.add(name="stops", number=4, label=many, **of_address)
    top.field.add(name="size", number=5, type=field.TYPE_ENUM, type_name=".demo.Size", label=one)
    for number, name in ((6, "Counts"), (7, "Homes")):
        kind = {"type": field.TYPE_MESSAGE, "type_name": f".demo.Shipment.{name}Entry"}
        top.field.add(name=name.lower(), number=number, label=many, **kind)
    top.oneof_decl.add(name="_note")
    top.field.add(name="note", number=8, type=field.TYPE_STRING, label=one, proto3_optional=True, oneof_index=0)
    return FileDescriptorSet(file=[file]).SerializeToString()


SHIPMENT = {name: ORDER[name] for name in ("id", "from", "stops", "size")} | {
    "to": {"city": "Rome"},
    "counts": {"a": 1},
    "homes": {"x": HOME},
    "note": "",
}
MESSAGE = {"type": "demo.Shipment", "schema": shipment()}
NO_END = "contains itself"


@pytest.fixture(scope="module")
def java(pravega_emulator, tmp_path_factory):
    with JavaSerializers(pravega_emulator.schema_registry_uri, tmp_path_factory.mktemp("java")) as started:
        yield started


def format_of(schema: SchemaInfo) -> EventFormat:
    """What a program without the class has: the schema in the registry."""
    if schema.format is SchemaFormat.AVRO:
        return AvroFormat(schema.text)
    if schema.format is SchemaFormat.JSON:
        return JsonFormat(schema.text, schema.type, validate=True)
    return ProtobufFormat.of_descriptors(schema.schema_data, schema.type)


def plain(value: Any) -> Any:
    """A value, or a row of columns, as the JSON that Java has."""
    if hasattr(value, "DESCRIPTOR"):
        return json_format.MessageToDict(value, preserving_proto_field_name=True)
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return {name: plain(each) for name, each in value}
    return [plain(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("name", "how", "value", "columns"),
    [
        ("json", {"class": "Order"}, ORDER, ORDER),
        ("json", {"class": "Stock"}, STOCK, "counts: 'object' without known properties"),
        ("json", {"class": "Tree"}, TREE, NO_END),
        ("avro", {"class": "Stock"}, STOCK, STOCK),
        ("avro", {"class": "Stock"}, UNSET, UNSET),
        ("avro", {"class": "Tree"}, TREE, NO_END),
        ("protobuf", MESSAGE, SHIPMENT, {**SHIPMENT, "to": {"city": "Rome", "tags": []}}),
    ],
)
async def test_each_reads_what_the_other_writes_of_a_class(java, registry, group, name, how, value, columns):
    await registry.create_group(group, GroupProperties.of(name.capitalize()))

    theirs = java.write(json.dumps(value), format=name, group=group, **how)
    (latest,) = await registry.latest(group)
    form = format_of(latest.schema_info)
    read = await (await open_deserializer(registry, group, form)).deserialize(theirs)
    ours = (await open_serializer(registry, group, form)).serialize(read)

    assert plain(read) == value
    assert ours[:5] == theirs[:5]  # the class's own schema, no second version
    assert json.loads(java.read(ours, format=name, group=group, **how)) == value
    if isinstance(columns, str):
        with pytest.raises(ConfigurationError, match=columns):
            await open_block_reader(registry, group)
    else:
        rows = await (await open_block_reader(registry, group)).batch(values_of([theirs, ours], pa.binary()))
        assert plain(rows.to_pylist()) == [columns] * 2


@pytest.mark.parametrize(
    ("name", "of", "said"),
    [
        ("json", "Needed", "expected type: JsonArray, found: Boolean"),  # required = true
        ("json", "Generic", "Illegal character"),
        ("json", "Maybe", "Illegal character"),  # an Optional is generic, too
        ("avro", "Generic", "Unknown type: T"),
    ],
)
def test_java_itself_refuses_these_classes(java, group, name, of, said):
    with pytest.raises(RuntimeError, match=said):
        java.write("{}", format=name, group=group, **{"class": of})


async def test_schemas_of_jackson_with_required_properties_are_taken(java, registry, group):
    needed: dict[str, Any] = {
        "type": "object",
        "id": "urn:jsonschema:Needed",
        "properties": {"id": {"type": "integer", "required": True}},
    }
    form = JsonFormat(needed, "Needed", validate=True)
    event = (await open_serializer(registry, group, form)).serialize({"id": 1})
    more = {**needed, "properties": {**needed["properties"], "note": {"type": "string", "required": False}}}
    later = JsonFormat(more, "Needed")

    newer = (await open_serializer(registry, group, later, declared_only=True)).serialize({"id": 2, "note": "n"})

    for how in ("json", "any"):
        assert [json.loads(java.read(each, format=how, group=group))["id"] for each in (event, newer)] == [1, 2]
    reader = await open_block_reader(registry, group)
    rows = await reader.batch(values_of([event, newer], pa.binary()))
    assert rows.to_pylist() == [{"id": 1, "note": None}, {"id": 2, "note": "n"}]


async def test_values_beside_the_schema_of_their_class_are_read(java, registry, group):
    """Jackson describes bytes as a list of numbers and writes base64; it writes null for what is unset."""
    await registry.create_group(group, GroupProperties.of(SchemaFormat.JSON, multiple_types=True))
    unset = java.write(json.dumps(UNSET), format="json", group=group, **{"class": "Stock"})
    photo = java.write('{"pixels": "AAEC"}', format="json", group=group, **{"class": "Photo"})

    deserializer = await open_deserializer(registry, group)

    assert await deserializer.deserialize_many([unset, photo]) == [UNSET, {"pixels": "AAEC"}]
    (stock,) = await registry.latest(group, type_name="Serializers$Stock")
    with pytest.raises(MalformedEventError, match="None is not of type 'string'"):
        format_of(stock.schema_info).reader()(unset[5:])
    target = JsonTarget(pa.schema([("pixels", pa.binary())]))
    reader = await open_block_reader(registry, group, type_name="Serializers$Photo", target=target)
    assert (await reader.batch(values_of([photo], pa.binary()))).to_pylist() == [{"pixels": b"\0\1\2"}]
