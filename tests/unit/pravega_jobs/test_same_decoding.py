"""One set of options, columns, types and errors: Spark's source and frames decode the same events alike."""

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from aiopravega import SegmentId, StreamName, TimeUnit, wire
from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.read.bulk import EventBlock
from aiopravega.schema.arrow.frames import find_frames
from pravega_jobs.frames.decoding import decoding_of
from pravega_jobs.frames.options import FrameOptions
from pyspark_pravega.read.decoded import read_columns
from pyspark_pravega.read.read_options import ReadOptions
from pyspark_pravega.read.rows import SegmentRows

STREAM = StreamName("shop", "orders")
SEGMENT = SegmentId(STREAM, 3, 0)
VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "java-serializers.json").read_text())
AVRO = json.dumps(VECTORS["avro_schema"])
ALICE = bytes.fromhex("0e0a616c696365")
FIELDS = {"id": {"type": "integer"}, "name": {"type": "string"}}
JSON = json.dumps({"type": "object", "properties": FIELDS})
PLACED = json.dumps({"type": "object", "properties": {"Offset": {"type": "integer"}}})
SPARKS = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": "id", "type": "long", "nullable": True, "metadata": {}},
            {"name": "tags", "type": {"type": "array", "elementType": "string", "containsNull": True}},
            {"name": "at", "type": {"type": "struct", "fields": [{"name": "day", "type": "date"}]}},
        ],
    }
)
TABLE = json.dumps({"type": "struct", "fields": [{"type": "int32", "field": "id"}, {"type": "string", "field": "sku"}]})


def change(op, number):
    row = {"id": number, "sku": "a"}
    source = {"connector": "postgresql", "table": "orders", "lsn": number}
    images = {"before": row, "after": None} if op == "d" else {"before": None, "after": row}
    return json.dumps({**images, "source": source, "op": op, "ts_ms": 1}).encode()


def by_spark(events, options, times=None):
    """The batch that Spark gets."""
    named = {"controller": "tcp://127.0.0.1:1", "scope": "shop", "stream": "orders", **options}
    if times is not None:
        named |= {"event_time_from": times[0].isoformat(), "event_time_to": times[1].isoformat()}
    parsed = ReadOptions.parse(named)
    data = memoryview(b"".join(wire.event_header(len(event)) + event for event in events))
    frames, _ = find_frames(data, 0, len(data))
    [batch] = SegmentRows(SEGMENT, read_columns(parsed)).batches(EventBlock(SEGMENT, 0, data, frames))
    return batch


def by_frames(events, options, times=None):
    """The batch of a frame."""
    decoding = decoding_of(FrameOptions.parse(options), STREAM, None).within(times, TimeUnit.MS)
    offsets = np.cumsum([0, *(len(event) + wire.EVENT_HEADER for event in events[:-1])])
    return decoding.batch(pa.array(events, pa.binary()), offsets, SEGMENT)


READERS = pytest.mark.parametrize("read", [by_spark, by_frames], ids=["spark", "frames"])
POSITIONS = {"metadata_columns": "offset,segment,event_pointer", "metadata_prefix": "p_"}
DEBEZIUM = {"decode": "debezium-json", "schema_text": TABLE, "key": "id"}


@READERS
@pytest.mark.parametrize(
    ("options", "events", "rows"),
    [
        (
            {"columns": "id long, price decimal(10,2), at timestamp", "decode": "json"},
            [b'{"id":1,"price":1.5,"at":"2026-01-01T00:00:00Z"}', b"{}"],
            [(1, Decimal("1.50"), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)), (None, None, None)],
        ),
        ({"decode": "json", "schema_text": JSON}, [b'{"id":1,"name":"a"}'], [(1, "a")]),
        (
            {"decode": "json", "schema_text": SPARKS},
            [b'{"id":1,"tags":["a"],"at":{"day":"2026-01-02"}}'],
            [(1, ["a"], {"day": dt.date(2026, 1, 2)})],
        ),
        ({"decode": "avro", "schema_text": AVRO}, [ALICE], [(7, "alice")]),
        (
            {"decode": "json", "schema_text": JSON, "on_error": "null"},
            [b"no json", b'{"id":2}'],
            [(None, None, b"no json"), (2, None, None)],
        ),
        ({"decode": "json", "schema_text": JSON, "on_error": "drop"}, [b"no json", b'{"id":2}'], [(2, None)]),
        (
            {"decode": "json", "columns": "id long", "on_error": "drop", **POSITIONS},
            [b"no json", b'{"id":2}'],
            [(2, 15, "shop/orders/3.#epoch.0", "shop/orders/3.#epoch.0:15-16")],
        ),
        (
            DEBEZIUM,
            [change("c", 1), b"", change("d", 2)],
            [(1, "a", "insert", []), (2, None, "delete", [])],
        ),
        (
            {**DEBEZIUM, "columns": "id int", "metadata_columns": "_op,offset", "on_error": "null"},
            [change("u", 3), b"no json"],
            [(3, "u", 0, None), (None, None, len(change("u", 3)) + 8, b"no json")],
        ),
    ],
)
def test_events_become_the_same_rows(read, options, events, rows):
    batch = read(events, options)
    batch.validate(full=True)
    assert list(zip(*(column.to_pylist() for column in batch.columns), strict=True)) == rows


def test_columns_and_types_are_the_same():
    for options in (DEBEZIUM | POSITIONS, {"decode": "json", "schema_text": SPARKS, "on_error": "null"}, {}):
        assert by_frames([change("c", 1)], options).schema == by_spark([change("c", 1)], options).schema


@READERS
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"decode": "thrift"}, "option 'decode' is 'thrift', but must be one of raw, json, avro"),
        ({"decode": "json", "on_error": "ignore"}, "must be one of fail, null, drop"),
        ({"decode": "json"}, r"decode=json needs the columns: .* with option 'columns' \(id long, price double\)"),
        ({"decode": "json", "columns": "id word"}, "'word' is not a type; known are boolean"),
        ({"decode": "avro", "columns": "id int"}, "option 'columns' is for decode=json and change events of Debezium"),
        ({"decode": "json", "schema_text": "id long"}, "the schema for decode=json is not JSON"),
        ({"decode": "json", "schema_text": '{"type":"struct","fields":[{}]}'}, "is not one of Spark's"),
        ({"decode": "avro", "schema_file": "no-such-file.avsc"}, "'schema_file': cannot read no-such-file.avsc"),
        ({"decode": "auto", "schema_text": "{}"}, "decode=auto takes format and schema from the registry"),
        ({"decode": "json", "columns": "id long", "key": "id"}, "'key' is for change events of Debezium, not for"),
        ({**DEBEZIUM, "dedup": "true"}, "option 'dedup': a task sees only its part"),
        ({"decode": "json", "schema_text": PLACED, "metadata_columns": "offset"}, "Give option 'metadata_prefix'"),
        ({"decode": "json", "columns": "id long", "metadata_columns": "latency"}, "'metadata_columns' has latency"),
        ({"decode": "avro"}, "set PRAVEGA_SCHEMA_REGISTRY_URI"),
        ({"decode": "avro", "schema_text": '"int', "schema_version": "-1"}, "at least 0"),
    ],
)
def test_what_cannot_work_is_refused_with_the_same_words(read, options, said, monkeypatch):
    monkeypatch.delenv("PRAVEGA_SCHEMA_REGISTRY_URI", raising=False)
    with pytest.raises(ConfigurationError, match=said):
        read([b"{}"], options)


@READERS
def test_an_event_that_cannot_be_decoded_has_the_same_words(read):
    event = r"shop/orders/3\.#epoch\.0: the event at offset 10 cannot be decoded as "
    with pytest.raises(MalformedEventError, match=event + r"Json: .*on_error=null keeps .* on_error=drop leaves"):
        read([b"{}", b"no json"], {"decode": "json", "columns": "id long"})
    with pytest.raises(MalformedEventError, match=r"the event at offset 0 cannot be decoded as a change event of Deb"):
        read([b"no json"], DEBEZIUM)


@READERS
def test_an_interval_has_the_same_rows_and_the_same_words(read):
    noon = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
    times = [noon + dt.timedelta(minutes=minute) for minute in range(5)]
    events = [json.dumps({"id": number, "at": time.isoformat()}).encode() for number, time in enumerate(times)]
    typed = {"decode": "json", "columns": "id long, at timestamp", "metadata_columns": "offset", "event_time": "AT"}

    found = read(events, typed, (times[1], times[3]))

    assert found["id"].to_pylist() == [1, 2]
    assert found["offset"].to_pylist() == [len(events[0]) + 8, 2 * (len(events[0]) + 8)]
    assert read([*events, b"{}"], typed | {"on_error": "drop"}, (times[0], times[1]))["id"].to_pylist() == [0]
    refused = [
        ({}, b"{}", MalformedEventError, "the event at offset 0 has no time in column 'AT', so that it is in no"),
        ({"on_error": "null"}, events[0], ConfigurationError, "every interval would have them"),
        ({"event_time": "when"}, events[0], ConfigurationError, "names column 'when', but the events have the columns"),
        ({"columns": "at string"}, events[0], ConfigurationError, "'AT' of option 'event_time' is a string: it has no"),
        ({"decode": "raw", "columns": ""}, events[0], ConfigurationError, "read raw: give option 'decode'"),
    ]
    for options, event, error, said in refused:
        with pytest.raises(error, match=said):
            read([event], typed | options, (times[0], times[1]))


@pytest.mark.parametrize(
    ("options", "good"), [({"decode": "json", "columns": "id long"}, b"{}"), (DEBEZIUM, change("c", 1))]
)
def test_bad_events_are_found_whatever_the_rule_for_them(options, good):
    for rule in ("fail", "null", "drop"):
        plan = decoding_of(FrameOptions.parse(options | {"on_error": rule}), STREAM, None).plan
        assert plan is not None
        assert list(plan.decoder().bad(pa.array([good, b"no json"], pa.binary()), SEGMENT)) == [1]
