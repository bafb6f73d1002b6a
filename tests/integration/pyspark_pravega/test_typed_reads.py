"""Events decoded by a real Spark, by schemas that are given or come from a real Schema Registry."""

import json
import uuid
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyspark.errors import AnalysisException, PySparkException

from aiopravega import StreamCutRange
from aiopravega.schema import GroupProperties, SchemaFormat, SchemaInfo, codec_named, header
from pyspark_pravega.land import Iceberg, land

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "java-serializers.json").read_text())
AVRO_FIRST = VECTORS["avro_schema"]
AVRO_SECOND = AVRO_FIRST | {
    "fields": [
        {"name": "id", "type": "long"},
        *AVRO_FIRST["fields"][1:],
        {"name": "vip", "type": "boolean", "default": True},
    ]
}
NAMES = {"id": {"type": "integer"}, "name": {"type": "string"}}
JSON_FIRST = {"type": "object", "properties": NAMES}
JSON_SECOND = {"type": "object", "properties": {**NAMES, "vip": {"type": "boolean"}}}
ALICE = bytes.fromhex("0e0a616c696365")  # {"id": 7, "name": "alice"} in Avro
BOB = bytes.fromhex("1006626f6200")  # {"id": 8, "name": "bob", "vip": false} in the second version
GZIP, SNAPPY = "application/x-gzip", "application/x-snappy-framed"


@pytest.fixture
def write(client):
    """Writes events in order, all to one segment."""

    def write(stream, events):
        with client.writer(stream) as writer:
            writer.write_many(events, ["key"] * len(events))

    return write


@pytest.fixture
def typed(read, pravega_emulator):
    """A DataFrame of a stream whose schemas are in the registry."""
    uri = pravega_emulator.schema_registry_uri
    return lambda stream, **options: read(stream, **{"decode": "auto", "schema_registry_uri": uri} | options)


def failed(frame) -> str:
    with pytest.raises(PySparkException) as raised:
        frame.collect()
    return str(raised.value)


def test_json_is_read_into_the_columns_that_the_reader_is_given(spark, pravega_config, write, make_stream):
    stream = make_stream(1)
    write(stream, [b'{"id":%d,"address":{"city":"Rome"},"more":1}' % number for number in range(1000)])

    frame = (
        spark.read.format("pravega")
        .schema("id long, address struct<city: string, zip: int>, offset long")
        .options(controller=pravega_config.controller_uri, scope=stream.scope, stream=stream.stream)
        .options(decode="json", metadata_columns="offset")
        .load()
    )

    assert [tuple(row) for row in frame.select("id", "address.city", "address.zip").orderBy("offset").collect()] == [
        (number, "Rome", None) for number in range(1000)
    ]


def test_json_is_read_by_a_json_schema(read, write, make_stream):
    stream = make_stream(1)
    write(stream, [b'{"name":"bob"}', b'{\n "id": 7,\n "name": "alice"\n}'])

    frame = read(stream, decode="json", schema_text=json.dumps(JSON_FIRST))

    assert frame.dtypes == [("id", "bigint"), ("name", "string")]
    assert [tuple(row) for row in frame.collect()] == [(None, "bob"), (7, "alice")]


def test_avro_is_read_by_a_schema_in_a_file(read, write, make_stream, tmp_path):
    stream = make_stream(1)
    write(stream, [ALICE] * 10)
    (tmp_path / "user.avsc").write_text(json.dumps(AVRO_FIRST))

    frame = read(stream, decode="avro", schema_file=tmp_path / "user.avsc")

    assert frame.dtypes == [("id", "int"), ("name", "string")]
    assert [tuple(row) for row in frame.collect()] == [(7, "alice")] * 10


def test_avro_types_go_through_spark_and_parquet(read, write, make_stream, tmp_path, spark):
    schema = {
        "type": "record",
        "name": "All",
        "fields": [
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "counts", "type": {"type": "map", "values": "int"}},
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
            {"name": "choice", "type": ["null", "int", "string"]},
        ],
    }
    stream = make_stream(1)
    write(
        stream,
        [b"\x04\x04\xd2" + b"\x02" + b"\x04" + b"\x02\x02x\x00" + b"\x02\x02k\x0e\x00" + b"\x02" + b"\x04\x02y"] * 3,
    )

    read(stream, decode="avro", schema_text=json.dumps(schema)).write.parquet(str(tmp_path / "out"))

    rows = spark.read.parquet(str(tmp_path / "out")).selectExpr(
        "cast(price as string)", "unix_millis(at)", "cast(day as string)", "tags", "counts", "kind", "choice.member1"
    )
    assert [tuple(row) for row in rows.collect()] == [("12.34", 1, "1970-01-03", ["x"], {"k": 7}, "B", "y")] * 3


def test_all_versions_and_codecs_come_out_in_the_newest_version(typed, write, make_stream, register, client, tmp_path):
    stream = make_stream(1)
    headers = register(stream.stream, SchemaFormat.AVRO, [AVRO_FIRST, AVRO_SECOND], ["", GZIP, SNAPPY], stream.scope)
    events = [
        headers[version, codec] + codec_named(codec).compress(payload)
        for version, payload in enumerate([ALICE, BOB])
        for codec in ("", GZIP, SNAPPY)
    ]
    write(stream, [*events, *reversed(events)])

    newest = typed(stream)
    first = typed(stream, schema_version=0, decode="avro", on_error="drop")

    assert newest.dtypes == [("id", "bigint"), ("name", "string"), ("vip", "boolean")]
    alices, bobs = [(7, "alice", True)] * 3, [(8, "bob", False)] * 3
    assert [tuple(row) for row in newest.collect()] == [*alices, *bobs, *bobs, *alices]
    # The first version's id is an int, which the second one's long does not fit.
    assert [tuple(row) for row in first.collect()] == [(7, "alice")] * 6

    # A table with the columns of the first version takes the range, in one commit: its id becomes a long.
    lake = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}"}
    load_catalog("lake", **lake).create_namespace("shop")
    table = Iceberg("shop.users", "lake", lake)
    head = client.head(stream)
    older = pa.table({"id": pa.array([6], pa.int32()), "name": ["eve"]})
    land(older, table, StreamCutRange(head, head), consumer="lake", interval="before")
    whole = StreamCutRange(head, client.tail(stream))
    land(newest, table, whole, consumer="lake", interval="all", new_columns="add")
    found = table.load()
    rows = found.scan(selected_fields=("id", "name", "vip")).to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [(6, "eve", None), *[(7, "alice", True)] * 6, *bobs, *bobs]
    assert len(found.snapshots()) == 2


def test_what_java_wrote_is_read(typed, write, make_stream, register):
    stream = make_stream(1, "users")
    register(stream.stream, SchemaFormat.AVRO, [AVRO_FIRST], ["", GZIP, SNAPPY], stream.scope)
    write(stream, [bytes.fromhex(event["hex"]) for event in VECTORS["events"] if event["format"] == "Avro"])

    assert [tuple(row) for row in typed(stream).collect()] == [(7, "alice")] * 3


def test_json_of_the_registry_is_read_with_and_without_header(typed, write, make_stream, register):
    stream = make_stream(1)
    group = f"group-{uuid.uuid4().hex}"
    headers = register(group, SchemaFormat.JSON, [JSON_FIRST, JSON_SECOND], ["", GZIP])
    packed = headers[1, GZIP] + codec_named(GZIP).compress(b'{"id":3,"vip":true}')
    write(stream, [headers[0, ""] + b'{"id":1}', b'{"id":2,"name":"x"}', packed])

    frame = typed(stream, schema_registry_group=group)

    assert [tuple(row) for row in frame.collect()] == [(1, None, None), (2, "x", None), (3, None, True)]


def test_a_group_with_several_types_asks_for_a_choice(typed, write, make_stream, registry):
    stream = make_stream(1)
    group = stream.stream
    registry.create_group(group, GroupProperties.of(SchemaFormat.ANY, multiple_types=True), stream.scope)
    headers = {}
    for kind, name, text in (
        (SchemaFormat.AVRO, "demo.User", json.dumps(AVRO_FIRST)),
        (SchemaFormat.JSON, "Visit", json.dumps(JSON_FIRST)),
    ):
        version = registry.add_schema(group, SchemaInfo.of(kind, name, text), stream.scope)
        headers[name] = header(registry.encoding_id(group, version, "", stream.scope))
    write(stream, [headers["demo.User"] + ALICE, headers["Visit"] + b'{"id":1,"name":"v"}'])

    with pytest.raises(AnalysisException, match=r"several types: Visit \(Json\), demo.User \(Avro\)"):
        typed(stream)
    assert "type Visit (Json), but demo.User (Avro) is read" in failed(typed(stream, schema_type="demo.User"))
    assert typed(stream, schema_type="demo.User", on_error="drop").collect()[0].name == "alice"
    assert typed(stream, schema_type="Visit", on_error="drop").collect()[0].name == "v"


def test_a_malformed_event_fails_the_job_with_its_place(read, write, make_stream):
    stream = make_stream(1)
    write(stream, [b'{"id":1}', b'{"id":', b'{"id":3}'])

    said = failed(read(stream, decode="json", schema_text=json.dumps(JSON_FIRST)))

    assert f"MalformedEventError: {stream}/0.#epoch.0: the event at offset 16 cannot be decoded as Json" in said


def test_malformed_events_are_kept_beside_the_others_or_dropped(read, write, make_stream):
    stream = make_stream(1)
    write(stream, [b'{"id":1}', b'{"id":', b'{"id":3}'])
    asked = {"decode": "json", "schema_text": json.dumps(JSON_FIRST), "metadata_columns": "offset"}

    kept = read(stream, on_error="null", **asked)
    dropped = read(stream, on_error="drop", **asked)

    assert kept.columns == ["id", "name", "offset", "_corrupt_event"]
    assert [tuple(row) for row in kept.collect()] == [
        (1, None, 0, None),
        (None, None, 16, bytearray(b'{"id":')),
        (3, None, 30, None),
    ]
    assert [tuple(row) for row in dropped.collect()] == [(1, None, 0), (3, None, 30)]
    assert kept.where("_corrupt_event is not null").count() == 1


def test_events_of_an_unknown_encoding_are_malformed(typed, write, make_stream, register):
    stream = make_stream(1)
    headers = register(stream.stream, SchemaFormat.AVRO, [AVRO_FIRST], namespace=stream.scope)
    write(stream, [headers[0, ""] + ALICE, header(99) + ALICE, ALICE])

    assert "encoding 99" in failed(typed(stream))
    reasons = typed(stream, on_error="null").where("_corrupt_event is not null")
    assert [bytes(row[0]) for row in reasons.select("_corrupt_event").collect()] == [header(99) + ALICE, ALICE]


def test_reads_whose_schema_is_not_found_are_refused(typed, read, make_stream, register):
    stream = make_stream(1)

    with pytest.raises(AnalysisException, match=f"no group 'stream' in namespace '{stream.scope}'"):
        typed(stream)
    register(stream.stream, SchemaFormat.AVRO, [AVRO_FIRST], namespace=stream.scope)
    with pytest.raises(AnalysisException, match=r"no schema for decode=json; it has demo.User \(Avro\)"):
        typed(stream, decode="json")
    with pytest.raises(AnalysisException, match="has no version 5 in group 'stream'; it has 0"):
        typed(stream, schema_version=5)
    with pytest.raises(AnalysisException, match="is it running there"):
        typed(stream, schema_registry_uri="http://127.0.0.1:1")
    with pytest.raises(AnalysisException, match="decode=json needs the columns"):
        read(stream, decode="json")


def test_several_streams_have_groups_of_their_own(spark, pravega_emulator, write, make_stream, register):
    for number, name in enumerate(("one", "two")):
        stream = make_stream(1, name)
        # The ids of the second group stand for other schemas than those of the first.
        schemas = [AVRO_SECOND, AVRO_FIRST][number:]
        headers = register(name, SchemaFormat.AVRO, schemas, namespace=stream.scope)
        write(stream, [headers[len(schemas) - 1, ""] + ALICE])

    frame = (
        spark.read.format("pravega")
        .options(controller=pravega_emulator.controller_uri, scope=stream.scope, streams="one,two")
        .options(decode="auto", schema_registry_uri=pravega_emulator.schema_registry_uri, metadata_columns="stream")
        .load()
    )

    assert sorted(tuple(row) for row in frame.collect()) == [(7, "alice", "one"), (7, "alice", "two")]
