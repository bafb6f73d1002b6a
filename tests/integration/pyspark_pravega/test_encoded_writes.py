"""Columns written as events by a real Spark: schemas given, made or registered; keys and times of rows."""

import json
from collections import defaultdict
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from google.protobuf import timestamp_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from pyspark.sql.types import StringType, StructField, StructType

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.errors import StreamSealedError
from aiopravega.routing import SegmentMap, key_position
from aiopravega.schema import GroupProperties, SchemaFormat, SchemaInfo, split_header
from pyspark_pravega.write.columns import SinkColumns
from pyspark_pravega.write.task import write_plain
from pyspark_pravega.write.write_options import WriteOptions

ROWS = 200


@pytest.fixture
def write(pravega_config):
    """Writes a DataFrame to a stream, with options."""

    def write(frame, sink, **options):
        named = {"controller": pravega_config.controller_uri, "scope": sink.scope, "stream": sink.stream}
        frame.write.format("pravega").mode("append").options(**named | options).save()

    return write


@pytest.fixture
def events_in(client):
    """The events of a stream, with their offsets."""
    return lambda sink: list(client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), sink))


@pytest.fixture
def orders(spark):
    """Rows with an id, a customer, an amount and a time."""
    return spark.range(0, ROWS, numPartitions=2).selectExpr(
        "id", "id % 7 as customer", "id / 4 as amount", "timestamp_seconds(1700000000 + id) as at"
    )


def test_json_has_the_asked_texts_and_readers_may_want_all_fields(write, spark, events_in, make_stream, pravega_config):
    sink = make_stream(1)
    columns = "id int, price decimal(10,8), at timestamp"
    whole = spark.sql("select 1 id, cast(1e-8 as decimal(10,8)) price, timestamp '2020-12-30 12:13:14.123Z' at")
    write(whole, sink, encode="json", timestamp_format="sql", json_decimals="text")
    write(spark.sql("select 2 id, cast(null as timestamp) at"), sink, encode="json", timestamp_format="iso")

    named = {"controller": pravega_config.controller_uri, "scope": sink.scope, "stream": sink.stream}
    reader = spark.read.format("pravega").options(**named, decode="json", columns=columns, on_error="null")
    strict = reader.option("missing_fields", "fail").load().collect()

    events = [event.data for event in events_in(sink)]
    assert events == [b'{"id":1,"price":"0.00000001","at":"2020-12-30 12:13:14.123000Z"}', b'{"id":2}']
    [good, bad] = sorted(strict, key=lambda row: row.id is None)
    assert (good.id, good.price, good.at.astimezone(UTC)) == (
        1,
        Decimal("1E-8"),
        datetime(2020, 12, 30, 12, 13, 14, 123000, UTC),
    )
    assert (good._corrupt_event, bad.id, bytes(bad._corrupt_event)) == (None, None, events[1])


def test_a_row_becomes_a_json_event_in_the_segment_of_its_key_column(write, orders, events_in, make_stream, client):
    sink = make_stream(3)

    write(orders, sink, encode="json", event_router="customer")

    segments = SegmentMap(client.run(client.controller.current_segments(sink)))
    ids = defaultdict(list)
    for event in events_in(sink):
        row = json.loads(event.data)
        assert row.keys() == {"id", "customer", "amount", "at"}
        assert event.segment == segments.segment_for(key_position(str(row["customer"])))
        ids[row["customer"]].append(row["id"])
    assert sorted(number for some in ids.values() for number in some) == list(range(ROWS))


def test_a_struct_becomes_the_event_and_a_field_of_it_the_key(write, orders, read, make_stream, events_in):
    sink = make_stream(2)

    write(orders.selectExpr("struct(id, customer) as event"), sink, encode="json", event_router="event.customer")

    assert json.loads(events_in(sink)[0].data).keys() == {"id", "customer"}
    json_schema = orders.selectExpr("id", "customer").schema.json().replace('"nullable":false', '"nullable":true')
    found = read(sink, decode="json", schema_text=json_schema)
    assert found.selectExpr("sum(id)", "count(customer)").first()[:] == (sum(range(ROWS)), ROWS)


def test_avro_registered_from_columns_is_read_back_with_and_without_gzip(
    write, orders, read, make_stream, registry, pravega_emulator
):
    sink = make_stream(2)
    uri = pravega_emulator.schema_registry_uri

    write(orders, sink, encode="avro", schema_registry_uri=uri)
    write(orders, sink, encode="avro", schema_registry_uri=uri, codec="gzip")

    assert len(registry.versions(sink.stream, sink.scope)) == 1
    assert [codec.name for codec in registry.codecs(sink.stream, sink.scope)] == ["application/x-gzip"]
    found = read(sink, decode="auto", schema_registry_uri=uri)
    assert found.dtypes == orders.dtypes
    assert sorted(found.collect()) == sorted(orders.collect() * 2)


def test_a_new_column_is_a_new_version_if_the_schema_is_given(
    write, orders, read, make_stream, registry, pravega_emulator
):
    sink = make_stream(1)
    uri = pravega_emulator.schema_registry_uri
    write(orders.select("id"), sink, encode="avro", schema_registry_uri=uri, schema_type="demo.Order")
    fields = [{"name": name, "type": ["null", "long"], "default": None} for name in ("id", "customer")]
    wider = json.dumps({"type": "record", "name": "demo.Order", "fields": fields})

    with pytest.raises(Exception, match="does not have the schema of demo.Order"):
        write(
            orders.select("id"), sink, encode="avro", schema_text=wider, schema_registry_uri=uri, schema_register="no"
        )
    with pytest.raises(Exception, match="no field for the column customer"):
        write(orders.select("id", "customer"), sink, encode="avro", schema_registry_uri=uri)
    write(orders.select("id", "customer"), sink, encode="avro", schema_text=wider, schema_registry_uri=uri)

    assert [one.version_info.version for one in registry.versions(sink.stream, sink.scope)] == [0, 1]
    found = read(sink, decode="auto", schema_registry_uri=uri)
    assert found.selectExpr("count(id)", "count(customer)").first()[:] == (2 * ROWS, ROWS)


def test_protobuf_is_written_by_the_newest_message_of_the_registry(
    write, spark, make_stream, registry, pravega_emulator, events_in
):
    sink = make_stream(1)
    files = FileDescriptorSet()
    timestamp_pb2.DESCRIPTOR.CopyToProto(files.file.add())
    registry.create_group(sink.stream, GroupProperties.of(SchemaFormat.PROTOBUF), sink.scope)
    schema = SchemaInfo.of(SchemaFormat.PROTOBUF, "google.protobuf.Timestamp", files.SerializeToString())
    registry.add_schema(sink.stream, schema, sink.scope)
    rows = spark.range(0, 9, numPartitions=1).selectExpr("id as seconds", "7 as nanos")

    write(rows, sink, encode="protobuf", schema_registry_uri=pravega_emulator.schema_registry_uri)

    found = [split_header(event.data) for event in events_in(sink)]
    assert {encoding_id for encoding_id, _ in found} == {0}
    messages = [timestamp_pb2.Timestamp.FromString(payload) for _, payload in found]
    assert [(message.seconds, message.nanos) for message in messages] == [(number, 7) for number in range(9)]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"encode": "json", "event_router": "upper(customer)"}, "make a column of it first"),
        ({"encode": "json", "event_router": "amount"}, "routing keys are strings or integers"),
        ({"encode": "json", "event_time": "amount"}, "event_time takes a timestamp"),
        ({"encode": "protobuf"}, "needs a message type"),
        ({}, "give option 'encode'"),
    ],
)
def test_what_cannot_become_events_is_refused_before_anything_is_written(
    write, orders, make_stream, events_in, options, complaint
):
    sink = make_stream(1)

    with pytest.raises(Exception, match=complaint):
        write(orders, sink, **options)

    assert events_in(sink) == []


def test_the_latest_time_is_noted_when_the_rows_are_in_the_stream(write, orders, make_stream, client, events_in):
    sink = make_stream(1)

    write(orders, sink, encode="json", event_time="at", event_time_delay_ms="500", write_id="first")

    assert len(events_in(sink)) == ROWS
    noted = 1_700_000_000_000 + (ROWS - 1) * 1000 - 500
    # A writer's times do not go back: the server has the noted one, and takes it again, but no earlier one.
    client.note_time(sink, "first", datetime.fromtimestamp(noted / 1000, UTC))
    with pytest.raises(Exception, match=str(noted - 1)):
        client.note_time(sink, "first", noted - 1)


def test_best_effort_writes_what_it_can(write, spark, make_stream, events_in):
    sink = make_stream(1)
    rows = spark.range(0, 50, numPartitions=1).selectExpr("cast(id as string) as event")

    write(rows, sink, writer_mode="best_effort")

    assert [event.data for event in events_in(sink)] == [str(number).encode() for number in range(50)]


def test_only_best_effort_continues_when_a_stream_takes_no_more(client, make_stream, pravega_config, caplog):
    sink = make_stream(1)
    client.seal_stream(sink)
    columns = SinkColumns.find(StructType([StructField("event", StringType())]))
    batch = pa.record_batch({"event": pa.array(["a"])})

    def write_in(mode: str) -> None:
        named = {"controller": pravega_config.controller_uri, "scope": sink.scope, "stream": sink.stream}
        write_plain(client, WriteOptions.parse({**named, "writer_mode": mode}), columns, iter([batch]))

    with pytest.raises(StreamSealedError):
        write_in("at_least_once")
    write_in("best_effort")

    assert "what was left of a partition is not written" in caplog.text
