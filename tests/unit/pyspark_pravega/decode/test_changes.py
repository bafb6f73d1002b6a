"""Change events as a read sees them: options, columns, what the log says, what `on_error` does."""

import json
import logging
import pickle
from typing import Any

import numpy as np
import pytest

from aiopravega import SegmentId, StreamName
from aiopravega.errors import ConfigurationError, MalformedEventError
from pravega_jobs.decoding.change_planning import about_changes
from pravega_jobs.decoding.option_texts import Options
from pravega_jobs.decoding.options import DECODE_OPTIONS, DecodeOptions
from pyspark_pravega.decode.plans import change_plan
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.source import PravegaDataSource

SEGMENT = SegmentId(StreamName("shop", "orders"), 3, 0)
FIELDS = [
    {"type": "int32", "field": "id"},
    {"type": "string", "name": "io.debezium.time.ZonedTimestamp", "field": "at"},
]
SCHEMA = json.dumps({"type": "struct", "fields": [{"type": "struct", "fields": FIELDS, "field": "after"}]})


def plan(given=None, about=(), newest=None, **texts):
    options = DecodeOptions.parse(Options({"decode": "debezium-json"} | texts, DECODE_OPTIONS, "a read"))
    return change_plan(
        options,
        about,
        given,
        newest or (lambda: pytest.fail("the stream was read")),
        lambda: pytest.fail("the registry was asked"),
    )


def change(op, number):
    image = {"id": number, "at": None}
    source = {"connector": "postgresql", "table": "orders", "lsn": number}
    images = {"before": image, "after": None} if op == "d" else {"before": None, "after": image}
    return json.dumps({**images, "source": source, "op": op, "ts_ms": 1}).encode()


EVENTS = [change("c", 1), b"", b"no json", change("d", 2), b'{"ts_ms":5}', change("u", 3)]


def decode(made, payloads, events=EVENTS):
    decoder = made.decoder()
    found = decoder.decode(payloads(*events), np.arange(len(events)) * 100, SEGMENT)
    decoder.finish(SEGMENT)
    return found


def test_the_columns_are_those_of_a_schema_and_two_about_the_change():
    made = pickle.loads(pickle.dumps(plan(schema_text=SCHEMA, key="id")))

    assert made.schema.simpleString() == "struct<id:int,at:timestamp,_change_type:string,_unchanged:array<string>>"
    assert made.pinned == {}


def test_the_newest_schema_of_the_events_is_pinned():
    made = plan(newest=lambda: SCHEMA, key="id", about=("_op",))

    assert made.schema.names == ["id", "at", "_op"]
    assert made.pinned == {"schema_text": SCHEMA}
    assert plan(key="id", about=("_op",), **made.pinned).schema == made.schema


def test_columns_about_the_change_are_not_those_of_the_read():
    own, others = about_changes(("offset", "cdc", "_source", "segment"))

    assert own[-1] == "_source"
    assert {"_op", "_sequence", "_unchanged"} <= set(own)
    assert others == ("offset", "segment")
    assert Columns.of(others, plan(schema_text=SCHEMA, key="id", about=own)).schema.names[-2:] == list(others)


def test_what_has_no_row_is_in_the_log_by_kind(payloads, caplog):
    with caplog.at_level(logging.WARNING):
        found = decode(plan(schema_text=SCHEMA, key="id", on_error="drop"), payloads)

    assert found.taken.tolist() == [0, 3, 5]
    assert found.columns[0].to_pylist() == [1, 2, 3]
    assert found.columns[2].to_pylist() == ["insert", "delete", "update_postimage"]
    assert "left out 2 events without a row: 1 empty, 1 heartbeat" in caplog.text
    assert "dropped 1 events that cannot be decoded as a change event of Debezium" in caplog.text


def test_a_malformed_event_fails_or_is_kept_with_its_bytes(payloads):
    with pytest.raises(MalformedEventError, match="offset 200 cannot be decoded as a change event of Debezium"):
        decode(plan(schema_text=SCHEMA, key="id"), payloads)

    found = decode(plan(schema_text=SCHEMA, key="id", on_error="null"), payloads)

    assert found.taken.tolist() == [0, 2, 3, 5]
    assert found.columns[0].to_pylist() == [1, None, 2, 3]
    assert found.kept.to_pylist() == [None, b"no json", None, None]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"schema_text": SCHEMA}, "needs option 'key'"),
        ({"schema_text": SCHEMA, "key": "number"}, "names number"),
        ({"schema_text": SCHEMA, "key": "id,id"}, "id more than once"),
        ({"schema_text": SCHEMA, "key": "id", "changes": "all"}, "must be one of upsert, rows, envelope"),
        ({"schema_text": SCHEMA, "key": "id", "dedup": "true"}, "dropDuplicates"),
        ({"schema_text": SCHEMA, "key": "id", "schema_type": "Envelope"}, "has no use"),
        ({"schema_text": SCHEMA, "key": "id", "decode": "debezium-avro"}, "are in the registry"),
        ({"schema_text": "{}", "key": "id"}, "neither one event"),
        ({"schema_text": '{"payload":{}}', "key": "id"}, "without its schema"),
        ({"schema_text": "id int", "key": "id"}, "not JSON"),
    ],
)
def test_options_that_cannot_work_are_refused(texts, said):
    with pytest.raises(ConfigurationError, match=said):
        plan(**texts)


def test_options_of_change_events_have_no_use_for_others():
    with pytest.raises(ConfigurationError, match="'key' is for change events of Debezium"):
        DecodeOptions.parse(Options({"decode": "json", "key": "id"}, DECODE_OPTIONS, "a read"))


def test_columns_that_a_catalog_kept_are_read_again():
    options = {"controller": "tcp://h:1", "scope": "shop", "stream": "orders", "decode": "debezium-json", "key": "id"}
    options |= {"schema_text": SCHEMA, "metadata_columns": "_op,_sequence,offset"}
    statement = {"provider": "pravega", **options, **{f"option.{name}": text for name, text in options.items()}}

    made = PravegaDataSource(statement).schema()
    again: Any = PravegaDataSource({}).reader(made)

    assert made.names == ["id", "at", "_op", "_sequence", "offset"]
    assert again._columns.schema.simpleString() == made.simpleString()
