"""Decoding as a read sees it: headers and codecs of Java's serializers, and what it does with malformed events."""

import json
import logging
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from aiopravega import PravegaConfig, SegmentId, StreamName
from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.schema import codec_named
from aiopravega.schema.arrow.envelope import NO_HEADER, Unpacking, codec_of, encoding_ids, without_header
from aiopravega.schema.open.blocks.targets import AvroTarget, JsonTarget
from pravega_jobs.decoding.option_texts import Options
from pravega_jobs.decoding.options import DECODE_OPTIONS, DecodeOptions
from pyspark_pravega.decode.plans import decode_plan

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "java-serializers.json").read_text())
USER = StructType([StructField("id", LongType()), StructField("name", StringType())])
COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])
SEGMENT = SegmentId(StreamName("examples", "orders"), 3, 0)
JSON_SCHEMA = '{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}}}'


def options(**given):
    return DecodeOptions.parse(Options(given, DECODE_OPTIONS, "a read"))


def plan(given=None, **texts):
    return decode_plan(options(**texts), PravegaConfig(), [SEGMENT.stream], given)


def decode(plan, events):
    return plan.decoder().decode(events, np.arange(len(events)) * 100, SEGMENT)


@pytest.mark.parametrize(
    "event",
    [event for event in VECTORS["events"] if event["format"] != "Protobuf"],
    ids=lambda event: f"{event['format']}-{event['codec'] or 'plain'}",
)
def test_what_java_wrote_is_read(event, payloads):
    events = payloads(*[bytes.fromhex(event["hex"])] * 3)
    target = AvroTarget.of(json.dumps(VECTORS["avro_schema"])) if event["format"] == "Avro" else JsonTarget(COLUMNS)
    decoder = target.decoder(None)
    codec = codec_of(event["codec"] or "")

    assert set(encoding_ids(events)) == {NO_HEADER if event["encoding_id"] is None else event["encoding_id"]}
    inside = events if event["encoding_id"] is None else without_header(events)
    block = (Unpacking(codec, decoder) if codec else decoder).decode(inside)

    assert not block.bad
    assert [column.to_pylist() for column in block.columns] == [[7] * 3, ["alice"] * 3]


def test_encoding_ids_are_distinguished_from_events_without_header(payloads):
    events = payloads(b"\x01\x00\x00\x01\x02x", b"", b"\x01\x00\x00", b"{}", b"\x01\xff\xff\xff\xff", b"\x01\0\0\0\0")

    assert encoding_ids(events).tolist() == [258, NO_HEADER, NO_HEADER, NO_HEADER, NO_HEADER, 0]


def test_a_payload_that_does_not_unpack_is_reported(payloads):
    packed = bytes.fromhex(VECTORS["events"][4]["hex"])[5:]

    decoder = Unpacking(codec_named("application/x-gzip"), JsonTarget(COLUMNS).decoder(None))

    block = decoder.decode(payloads(packed, b"no gzip", packed))

    assert block.columns[0].to_pylist() == [7, 7]
    assert "not gzip" in block.bad[1]


EVENTS = [b'{"id":1,"name":"a"}', b"no json", b'{"id":3}', b"", b'{"id":5}']


def test_a_malformed_event_fails_with_its_place_and_reason(payloads):
    with pytest.raises(MalformedEventError) as raised:
        decode(plan(decode="json", schema_text=JSON_SCHEMA), payloads(*EVENTS))

    assert str(raised.value).startswith(
        "examples/orders/3.#epoch.0: the event at offset 100 cannot be decoded as Json: Invalid value"
    )
    assert raised.value.at == 100


def test_malformed_events_become_nulls_with_their_bytes(payloads):
    made = plan(decode="json", schema_text=JSON_SCHEMA, on_error="null")

    decoded = decode(made, payloads(*EVENTS))

    assert made.kept == "_corrupt_event"
    assert decoded.taken.tolist() == [0, 1, 2, 3, 4]
    assert decoded.columns[0].to_pylist() == [1, None, 3, None, 5]
    assert decoded.kept.to_pylist() == [None, b"no json", None, b"", None]
    assert decode(made, payloads(b"{}")).kept.to_pylist() == [None]


def test_dead_events_become_nulls_with_their_places_and_reasons(payloads):
    made = plan(decode="json", schema_text=JSON_SCHEMA, on_error="dead")

    decoded = decode(made, payloads(*EVENTS))

    assert made.kept == "_error"
    assert decoded.columns[0].to_pylist() == [1, None, 3, None, 5]
    good, first, _, second, _ = decoded.kept.to_pylist()
    assert good is None
    assert first.pop("reason").startswith("cannot be decoded as Json: Invalid value")
    assert first == {
        "event": b"no json",
        "routing_key": None,
        "pointer": "examples/orders/3.#epoch.0:100-15",
        "schema_id": None,
    }
    assert (second["event"], second["pointer"]) == (b"", "examples/orders/3.#epoch.0:300-8")
    assert decode(made, payloads(b"{}")).kept.to_pylist() == [None]


def test_malformed_events_are_dropped_and_counted(payloads, caplog):
    decoder = plan(decode="json", schema_text=JSON_SCHEMA, on_error="drop").decoder()

    decoded = decoder.decode(payloads(*EVENTS), np.arange(5), SEGMENT)
    decoder.finish(SEGMENT)

    assert decoded.columns[0].to_pylist() == [1, 3, 5]
    assert decoded.taken.tolist() == [0, 2, 4]
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert "examples/orders/3.#epoch.0: dropped 2 events" in caplog.text


def test_a_batch_of_malformed_events_only_has_no_rows(payloads):
    decoded = decode(plan(decode="json", schema_text=JSON_SCHEMA, on_error="drop"), payloads(b"x", b"y"))

    assert decoded.columns[0].to_pylist() == []
    assert decoded.taken.tolist() == []


def test_the_columns_of_json_may_be_those_that_the_reader_is_given(payloads):
    assert decode(plan(USER, decode="json"), payloads(b'{"id":1}')).columns[0].to_pylist() == [1]
    assert decode(plan(decode="json", schema_text=USER.json()), payloads(b'{"id":1}')).columns[0].to_pylist() == [1]


@pytest.mark.parametrize(("given", "options"), [(USER, {}), (None, {"schema_text": USER.json()})])
def test_an_event_that_lacks_a_field_may_be_a_malformed_one(payloads, given, options):
    events = payloads(b'{"id":1}', b'{"id":2,"name":null}')

    for rule, rows in (("null", [1, 2]), ("fail", [2])):
        made = plan(given, decode="json", on_error="drop", missing_fields=rule, **options)
        assert decode(pickle.loads(pickle.dumps(made)), events).columns[0].to_pylist() == rows


def test_a_plan_travels():
    for texts in (
        {"decode": "json", "schema_text": JSON_SCHEMA},
        {"decode": "avro", "schema_text": json.dumps(VECTORS["avro_schema"])},
    ):
        made = plan(**texts)

        assert pickle.loads(pickle.dumps(made)).schema == made.schema


def test_a_schema_may_stand_in_a_file(tmp_path, payloads):
    file = tmp_path / "user.avsc"
    file.write_text(json.dumps(VECTORS["avro_schema"]))

    decoded = decode(plan(decode="avro", schema_file=str(file)), payloads(bytes.fromhex("0e0a616c696365")))

    assert [column.to_pylist() for column in decoded.columns] == [[7], ["alice"]]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            {"decode": "thrift"},
            "must be one of raw, json, avro, protobuf, debezium-json, debezium-avro, debezium-protobuf, canal-json, a",
        ),
        ({"on_error": "drop"}, "option 'on_error' is for decoded events"),
        ({"decode": "json", "on_error": "ignore"}, "must be one of fail, null, drop"),
        ({"decode": "json"}, r"needs the columns: .* with option 'columns' \(id long, price double\)"),
        ({"columns": "id int"}, "option 'columns' is for decoded events"),
        ({"decode": "avro", "columns": "id int"}, "for decode=json and change events of Debezium: .*its schema"),
        ({"decode": "json", "columns": "id int", "schema_text": "{}"}, "both give the columns"),
        ({"decode": "json", "schema_text": "id long"}, "not JSON"),
        ({"decode": "json", "missing_fields": "drop"}, "must be one of null, fail"),
        ({"decode": "avro", "schema_text": "{}", "missing_fields": "fail"}, "for decode=json, not for decode=avro"),
        ({"decode": "json", "schema_text": '{"type":"struct","fields":[{}]}'}, "not one of Spark's"),
        ({"decode": "avro", "schema_text": "{}", "schema_file": "x"}, "give either"),
        ({"decode": "avro", "schema_file": "no-such-file.avsc"}, "cannot read no-such-file.avsc"),
        ({"decode": "auto", "schema_text": "{}"}, "say which format"),
        ({"decode": "avro", "schema_text": '"int', "schema_version": "-1"}, "at least 0"),
    ],
)
def test_options_that_cannot_work_are_refused(texts, said, monkeypatch):
    monkeypatch.delenv("PRAVEGA_SCHEMA_REGISTRY_URI", raising=False)
    with pytest.raises(ConfigurationError, match=said):
        plan(**texts)


def test_a_column_that_may_not_be_null_is_refused():
    with pytest.raises(ConfigurationError, match="may not be NOT NULL"):
        plan(StructType([StructField("id", LongType(), nullable=False)]), decode="json")


def test_a_password_is_not_shown():
    shown = repr(options(decode="auto", schema_registry_uri="http://h:1", schema_registry_password="geheim"))

    assert "geheim" not in shown


def test_a_registry_without_an_address_is_refused(monkeypatch):
    monkeypatch.delenv("PRAVEGA_SCHEMA_REGISTRY_URI", raising=False)

    with pytest.raises(ConfigurationError, match="set PRAVEGA_SCHEMA_REGISTRY_URI"):
        plan(decode="auto")


WITHOUT_PANDAS = """
import sys
from aiopravega.schema.arrow.arrays import values_of
from aiopravega.schema.open.blocks.targets import AvroTarget, JsonTarget
import pyarrow as pa

reader = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"string","default":"x"}]}'
writer = b'{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
avro = AvroTarget.of(reader).decoder(writer).decode(values_of([bytes([2])], pa.binary()))
json = JsonTarget(pa.schema([("a", pa.int64())])).decoder(None).decode(values_of([b'{"a":1}'], pa.binary()))
assert not avro.bad and not json.bad
print("pandas" in sys.modules)
"""


def test_decoding_does_without_pandas_which_would_cost_each_worker_45_mb():
    answer = subprocess.run([sys.executable, "-c", WITHOUT_PANDAS], capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == "False"
