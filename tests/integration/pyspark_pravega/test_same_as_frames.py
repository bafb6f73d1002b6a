"""Spark and frames on one server: the same rows, columns and words by the registry, and one write done by either.

What needs no server is in tests/unit/pravega_jobs/test_same_decoding.py.
"""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf import timestamp_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_schema

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.errors import PravegaError, WriteIdReusedError
from aiopravega.schema import GroupProperties, SchemaFormat, SchemaInfo, codec_named, header
from pravega_jobs.frames import range_of, read_table, write_arrow

GZIP = "application/x-gzip"
TYPES = {"id": "int", "name": "string"}
AVRO = [
    {"type": "record", "name": "demo.User", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}
    for fields in (TYPES, TYPES | {"id": "long"})
]
ALICE = bytes.fromhex("0e0a616c696365")  # {"id": 7, "name": "alice"}
JSON = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
TIMESTAMP = "google.protobuf.Timestamp"
TIMES = [timestamp_pb2.Timestamp(seconds=number, nanos=number % 3).SerializeToString() for number in range(5)]
TABLE = {"type": "struct", "fields": [{"type": "int32", "field": "id"}, {"type": "string", "field": "sku"}]}
CHANGE = {"source": {"connector": "postgresql", "table": "orders"}, "ts_ms": 1}
CHANGES = [
    {"before": None, "after": {"id": 1, "sku": "a"}, "op": "c", **CHANGE},
    {"before": {"id": 1, "sku": "a"}, "after": None, "op": "d", **CHANGE},
]
AUTO: dict[str, Any] = {"decode": "auto"}


def descriptors() -> bytes:
    files = FileDescriptorSet()
    timestamp_pb2.DESCRIPTOR.CopyToProto(files.file.add())
    return files.SerializeToString()


@pytest.fixture
def fill(write, registry, register, tmp_path):
    """Writes events of a kind to a stream, with their schemas in the registry; the options to read them by."""

    def fill(kind, stream):
        options: dict[str, Any] = AUTO
        if kind == "raw":
            events, options = [b"\x00\xff", b""], {}
        elif kind == "avro":
            headers = register(stream.stream, SchemaFormat.AVRO, AVRO, ["", GZIP], stream.scope)
            packed = headers[1, GZIP] + codec_named(GZIP).compress(ALICE)
            events = [headers[0, ""] + ALICE, packed, header(99) + ALICE]
            options = AUTO | {"on_error": "null", "metadata_columns": "offset,event_pointer"}
        elif kind == "json":
            headers = register(stream.stream, SchemaFormat.JSON, [JSON], [""], stream.scope)
            events = [headers[0, ""] + b'{"id":1}', b'{"id":2,"name":"b"}', b"no json"]
            options = AUTO | {"on_error": "drop"}
        elif kind == "protobuf":
            registry.create_group(stream.stream, GroupProperties.of(SchemaFormat.PROTOBUF), stream.scope)
            schema = SchemaInfo.of(SchemaFormat.PROTOBUF, TIMESTAMP, descriptors())
            version = registry.add_schema(stream.stream, schema, stream.scope)
            first = header(registry.encoding_id(stream.stream, version, "", stream.scope))
            events = [first + time for time in TIMES]
        elif kind == "protobuf of a file":
            (tmp_path / "time.desc").write_bytes(descriptors())
            file = tmp_path / "time.desc"
            events, options = TIMES, {"decode": "protobuf", "schema_file": file, "schema_type": TIMESTAMP}
        else:
            table = {"type": "struct", "fields": [{**TABLE, "field": part} for part in ("before", "after")]}
            events = [json.dumps({"schema": table, "payload": change}).encode() for change in CHANGES]
            options = {"decode": "debezium-json", "key": "id"}
        write(stream, [(event, "key") for event in events])
        return options

    return fill


@pytest.fixture
def by_frame(client):
    """The rows of a stream as a table of Arrow, with the options of `read`."""

    def by_frame(stream, **options):
        texts: dict[str, Any] = {name: str(value) for name, value in options.items()}
        return read_table(range_of(client, stream), **texts)

    return by_frame


@pytest.fixture
def asked(pravega_emulator):
    """Options, with the address of the registry where it is asked."""
    address = {"schema_registry_uri": pravega_emulator.schema_registry_uri}
    return lambda options: options | address if options.get("decode") == "auto" else options


@pytest.mark.parametrize("kind", ["raw", "avro", "json", "protobuf", "protobuf of a file", "changes with schemas"])
def test_events_of_a_kind_become_the_same_rows_and_types(read, by_frame, asked, fill, make_stream, kind):
    stream = make_stream(1)
    options = asked(fill(kind, stream))

    spark, frame = read(stream, **options), by_frame(stream, **options)

    assert frame.num_rows
    assert [(field.name, field.dataType) for field in from_arrow_schema(frame.schema)] == [
        (field.name, field.dataType) for field in spark.schema
    ]
    assert frame.to_pylist() == spark.toArrow().to_pylist()


def test_what_the_registry_cannot_answer_has_the_same_words(read, by_frame, asked, make_stream, register, write):
    stream = make_stream(1)

    def both_say(words, **options):
        said = []
        for reads in (lambda: read(stream, **asked(options)).collect(), lambda: by_frame(stream, **asked(options))):
            with pytest.raises((PySparkException, PravegaError)) as raised:
                reads()
            said.append(str(raised.value))
        spark, frame = said
        assert words in frame
        assert frame in spark

    both_say(f"no group 'stream' in namespace '{stream.scope}'", **AUTO)
    register(stream.stream, SchemaFormat.AVRO, AVRO, namespace=stream.scope)
    both_say("has no version 5 in group 'stream'; it has 0, 1", decode="auto", schema_version=5)
    write(stream, [(header(99) + ALICE, "key")])
    both_say("encoding 99", **AUTO)


@pytest.mark.parametrize("spark_first", [True, False], ids=["spark first", "frame first"])
def test_a_write_of_one_is_recognised_by_the_other(spark, pravega_config, client, make_stream, spark_first):
    sink = make_stream(2)
    named = {"controller": pravega_config.controller_uri, "scope": sink.scope, "stream": sink.stream}
    at = datetime(2026, 1, 5, 12, 0, 0, 120_000, UTC)
    rows = [
        {"id": number, "price": Decimal(number) / 8, "at": at, "flag": None, "routing_key": f"key-{number % 7}"}
        for number in range(50)
    ]
    columns = "id long, price decimal(10,4), at timestamp, flag boolean, routing_key string"
    frame = spark.createDataFrame(rows, columns).repartition(3)
    table = frame.toArrow().sort_by("id")

    def by_spark(some):
        writer = some.write.format("pravega").mode("append").options(**named, encode="json", write_id="daily")
        writer.save()

    if spark_first:
        by_spark(frame)
        assert not write_arrow(client, table, sink, "daily").by_this_try
        with pytest.raises(WriteIdReusedError):
            write_arrow(client, table.slice(1), sink, "daily")
    else:
        assert write_arrow(client, table, sink, "daily").by_this_try
        by_spark(frame)
        with pytest.raises(Exception, match="WriteIdReusedError"):
            by_spark(frame.where("id > 0"))

    found = [json.loads(event.data)["id"] for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), sink)]
    assert sorted(found) == list(range(50))
