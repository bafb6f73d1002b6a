"""Change events with a registry's header: what Avro, Protobuf and JSON give is what Debezium's own JSON gives."""

import gzip
import json

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, message_factory
from tests.unit.pravega_jobs.debezium.conftest import KEYS
from tests.unit.pravega_jobs.debezium.connect_avro import avro_of, bare, datum_of
from tests.unit.pravega_jobs.debezium.events import ID, change

from aiopravega.errors import ConfigurationError, SchemaNotFoundError
from aiopravega.schema.open.blocks.deserializer import BlockDeserializer
from aiopravega.schema.protobuf.descriptors import descriptor_of
from aiopravega.schema.registry.codecs import NONE, header
from aiopravega.schema.registry.model import CodecType, Encoding, SchemaFormat, SchemaInfo, VersionInfo
from pravega_jobs.debezium.changes.connect import schema_in
from pravega_jobs.debezium.changes.meanings import columns_of
from pravega_jobs.debezium.changes.registered.envelopes import RegisteredEnvelopes, table_columns
from pravega_jobs.debezium.changes.registered.texts import ChangeTexts

# A column with dates before Python's first year.
ANCIENT = "dt"
GZIP = "application/x-gzip"


def headed(number, payload):
    return header(number) + payload


def opener(form, schemas, codec=NONE, newest=None, type_name=None):
    """What opens events whose encoding ids are the positions of some schemas."""

    def encoding(number):
        if number >= len(schemas):
            raise SchemaNotFoundError(f"there is no encoding {number}")
        return Encoding(
            schema_info=SchemaInfo.of(form, "Envelope", schemas[number]),
            version_info=VersionInfo(type="Envelope", serialization_format=form, version=number, id=number),
            codec_type=CodecType(name=codec),
        )

    texts = ChangeTexts(form, "Envelope", newest or SchemaInfo.of(form, "Envelope", schemas[0]).schema_data)
    return RegisteredEnvelopes(BlockDeserializer(texts, encoding, type_name).decode, encoding, form)


def in_avro(events):
    """Events with Connect's schemas as Avro, and the schemas."""
    schemas, found = [], []
    for event in events:
        document = json.loads(event)
        schema = avro_of(document["schema"])
        schema = schema[1] if isinstance(schema, list) else schema
        if schema not in schemas:
            schemas.append(schema)
        connect = {**document["schema"], "optional": False}
        found.append(headed(schemas.index(schema), datum_of(connect, document["payload"], schema)))
    return found, [json.dumps(schema) for schema in schemas]


def written(vectors, table):
    return [one["event"] for one in vectors if one["settings"] == "schema" and one["table"] == table and one["event"]]


@pytest.mark.parametrize("codec", [NONE, GZIP])
@pytest.mark.parametrize("table", KEYS)
def test_avro_gives_what_json_gives(vectors, written_schema, decode, table, codec):
    events = written(vectors, table)
    changes = {"changes": "upsert" if KEYS[table] else "rows", "key": KEYS[table], "infinity_is_null": True}
    meanings = schema_in(written_schema[table])
    columns = columns_of({name: one for name, one in meanings.items() if name != ANCIENT})
    plain, wanted = decode(columns, events, meanings=meanings, **changes)
    avro, schemas = in_avro(events)
    if codec == GZIP:
        avro = [event[:5] + gzip.compress(event[5:]) for event in avro]
    newest = table_columns(SchemaInfo.of(SchemaFormat.AVRO, "E", schemas[int.from_bytes(avro[-1][1:5])]))

    block, rows = decode(columns, avro, opener=opener(SchemaFormat.AVRO, schemas, codec), **changes)

    assert (block.bad, block.left_out) == (plain.bad, plain.left_out)
    assert newest == columns_of(schema_in(events[-1]))
    assert list(map(repr, rows)) == list(map(repr, wanted))


def test_versions_of_a_table_stand_side_by_side(decode):
    def event(number, **after):
        fields = [{"field": name, "type": "int32" if name == "id" else "string", "optional": True} for name in after]
        image = {"type": "struct", "name": "t.Value", "optional": True, "fields": fields}
        schema = {"type": "struct", "name": "t.Envelope", "fields": [{**image, "field": "after"}, OP, SOURCE]}
        avro = avro_of(schema)
        return headed(number, datum_of(schema, {"after": after, "op": "c", "source": {"lsn": number}}, avro)), avro

    old, schema = event(0, id=1)
    new, later = event(1, id=2, note="b")
    known = opener(SchemaFormat.AVRO, [json.dumps(schema), json.dumps(later)])

    block, rows = decode(ID, [new, old, headed(9, b"?"), b'{"op":"c"}', new], ("_op",), key=("id",), opener=known)

    assert [row["id"] for row in rows] == [2, 1, 2]
    assert block.bad.keys() == {2, 3}
    assert "no encoding 9" in block.bad[2]
    assert "no header" in block.bad[3]
    with pytest.raises(ConfigurationError, match="note"):
        decode(ID, [new], ("_op",), key=("id",), new_columns="fail", opener=known)


OP = {"field": "op", "type": "string"}
SOURCE = {"field": "source", "type": "struct", "name": "S", "fields": [{"field": "lsn", "type": "int64"}]}


def test_json_with_a_header_is_read_as_without(decode, vectors, written_schema):
    events = written(vectors, "customers")
    _, wanted = decode(written_schema["customers"], events, key=("id",))
    known = opener(SchemaFormat.JSON, ["{}"])
    enclosed = [headed(0, event.encode()) for event in events]
    # An event without a header is JSON by itself.
    block, rows = decode(written_schema["customers"], [events[0], *enclosed[1:]], key=("id",), opener=known)
    assert (block.bad, rows) == ({}, wanted)
    block, rows = decode(ID, [headed(0, change(after={"id": 7}).encode())], ("_op",), key=("id",), opener=known)
    assert rows == [{"id": 7, "_op": "c"}]


@pytest.fixture
def message():
    """The descriptors of an envelope in Protobuf, and its class."""
    file = descriptor_pb2.FileDescriptorProto(name="changes.proto", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto

    def add(name, *fields):
        made = file.message_type.add(name=name)
        for number, (field, kind, type_name) in enumerate(fields, 1):
            made.field.add(name=field, number=number, type=kind, type_name=type_name or None, label=1)

    add("Value", ("id", kinds.TYPE_INT32, ""), ("placed", kinds.TYPE_INT64, ""), ("data", kinds.TYPE_BYTES, ""))
    add("Source", ("lsn", kinds.TYPE_INT64, ""), ("table", kinds.TYPE_STRING, ""))
    add(
        "Envelope",
        ("before", kinds.TYPE_MESSAGE, ".Value"),
        ("after", kinds.TYPE_MESSAGE, ".Value"),
        ("source", kinds.TYPE_MESSAGE, ".Source"),
        ("op", kinds.TYPE_STRING, ""),
        ("ts_ms", kinds.TYPE_INT64, ""),
    )
    files = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    return files, message_factory.GetMessageClass(descriptor_of(files, "Envelope"))


def test_protobuf_gives_the_rows(decode, message):
    files, envelope = message
    events = [
        envelope(after={"id": 1, "placed": 5, "data": b"x\0"}, source={"lsn": 9, "table": "t"}, op="c", ts_ms=3),
        envelope(before={"id": 1}, source={"lsn": 10, "table": "t"}, op="d", ts_ms=4),
    ]
    known = opener(SchemaFormat.PROTOBUF, [files], newest=files, type_name="Envelope")
    columns = table_columns(SchemaInfo.of(SchemaFormat.PROTOBUF, "Envelope", files))
    assert columns == pa.schema([("id", pa.int32()), ("placed", pa.int64()), ("data", pa.binary())])
    columns = columns.set(1, pa.field("placed", pa.timestamp("us")))
    payloads = [headed(0, event.SerializeToString()) for event in events]

    block, rows = decode(
        columns,
        [*payloads, headed(0, b"\xff")],
        ("_change_type", "_lsn"),
        key=("id",),
        time_precision="us",
        opener=known,
    )

    assert [(row["_change_type"], row["id"], row["_lsn"]) for row in rows] == [("insert", 1, 9), ("delete", 1, 10)]
    assert (rows[0]["data"], rows[0]["placed"].microsecond) == (b"x\0", 5)
    assert block.bad.keys() == {2}


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (["null", "int", "string"], "a union of 2 types in Avro"),
        ({"type": "map", "values": "int"}, "is mapping in Avro"),
        ({"type": "fixed", "name": "F", "size": 3}, "is fixed in Avro"),
        ({"type": "int", "connect.name": "io.debezium.time.Strange"}, "io.debezium.time.Strange"),
        ({"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]}, "contains itself"),
    ],
)
def test_a_field_without_a_column_type_is_refused_by_name(column, said):
    image = {"type": "record", "name": "V", "fields": [{"name": "odd", "type": column}]}
    event = {"type": "record", "name": "E", "fields": [{"name": "after", "type": ["null", image]}]}
    with pytest.raises(ConfigurationError, match=said) as refused:
        table_columns(SchemaInfo.of(SchemaFormat.AVRO, "E", json.dumps(event)))
    assert "odd" in str(refused.value)


def test_logical_types_of_avro_do_where_connect_says_nothing():
    columns = {
        "price": ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, pa.decimal128(9, 2)),
        "day": ({"type": "int", "logicalType": "date"}, pa.date32()),
        "at": ({"type": "long", "logicalType": "timestamp-micros"}, pa.timestamp("us")),
        "time": ({"type": "int", "logicalType": "time-millis"}, pa.string()),
        "kind": ({"type": "enum", "name": "K", "symbols": ["A"]}, pa.string()),
    }
    fields = [{"name": name, "type": ["null", kind]} for name, (kind, _) in columns.items()]
    image = {"type": "record", "name": "V", "fields": fields}
    event = {"type": "record", "name": "E", "fields": [{"name": "before", "type": ["null", image]}]}
    found = table_columns(SchemaInfo.of(SchemaFormat.AVRO, "E", json.dumps(event)))
    assert dict(zip(found.names, found.types, strict=True)) == {name: kind for name, (_, kind) in columns.items()}
    assert bare(event) == json.loads(json.dumps(bare(event)))


@pytest.mark.parametrize("form", [SchemaFormat.AVRO, SchemaFormat.JSON])
def test_a_schema_of_other_events_is_refused(form):
    avro = '{"type":"record","name":"E","fields":[{"name":"status","type":"string"}]}'
    text = avro if form is SchemaFormat.AVRO else '{"type":"object","properties":{"status":{"type":"string"}}}'
    with pytest.raises(ConfigurationError, match=r"no record after or before.*schema_type"):
        table_columns(SchemaInfo.of(form, "E", text))
