"""Events of other connectors and producers: other spellings of JSON, texts for numbers, times with more digits."""

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.pravega_jobs.debezium.events import ID, MARIA, POSTGRES, change, columns, enclosed

from pravega_jobs.debezium.changes.connect import schema_in
from pravega_jobs.debezium.changes.meanings import INSTANT, TIMESTAMP, columns_of

ORACLE = {"connector": "oracle", "db": "d", "schema": "S", "table": "T", "scn": "2122185"}
ISO = {"type": "string", "name": "io.debezium.time.IsoTimestamp"}
FIELDS = {"id": {"type": "int32"}, "v": {"type": "string"}}
ROW = columns(id=pa.int32(), v=pa.string())


def parts(number):
    return json.loads(enclosed(FIELDS, change(after={"id": number, "v": "x"})))


SPELLINGS: list[Callable[[Any], str]] = [
    json.dumps,
    lambda event: json.dumps(event, indent=1),
    lambda event: json.dumps(event, separators=(",", ":")),
    lambda event: json.dumps(event, separators=(",", ":")) + "\n",
    lambda event: " \r\n\t" + json.dumps(event, separators=(",", ":")),
    lambda event: json.dumps({"payload": event["payload"], "schema": event["schema"]}),
    lambda event: json.dumps({"schema": None, "payload": event["payload"]}, indent=4),
    lambda event: json.dumps(event["payload"], indent=1) + "\n",
]


def test_an_envelope_is_read_in_any_spelling(upserts):
    events = [spell(parts(number)) for number, spell in enumerate(SPELLINGS)] * 2

    block, rows = upserts(ROW, events, table="public.t")

    assert not block.bad
    assert [(row["id"], row["v"]) for row in rows] == [(number, "x") for number in range(len(SPELLINGS))] * 2
    assert block.taken.tolist() == list(range(len(events)))


def test_the_meaning_of_values_is_known_in_any_spelling(upserts):
    fields = {"id": {"type": "int32"}, "at": {"type": "int64", "name": "io.debezium.time.Timestamp"}}
    event = json.loads(enclosed(fields, change(after={"id": 1, "at": 1000})))

    _, rows = upserts(columns(id=pa.int32(), at=TIMESTAMP), [json.dumps(event, indent=2)])

    assert rows[0]["at"].isoformat() == "1970-01-01T00:00:01"


def test_numbers_of_an_envelope_in_another_spelling_keep_their_digits(upserts):
    event = '{ "payload" : {"op":"c", "after":{"id":9007199254740993}, "source":{}}, "schema": null }'

    _, rows = upserts(columns(id=pa.int64()), [event])

    assert rows[0]["id"] == 9007199254740993


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ('{"schema": {}}', "has no payload"),
        ('{ "schema": {"type":', "is not JSON"),
        ('{"payload": {}, "schema": {}, "more": 1}', "beside the schema and the payload: more"),
        ('{"payload": {}, "schema": {}} {}', "is not JSON"),
        ('{"schema": {"type":"struct","fields":[7]}, "payload": {}}', "schema cannot be read"),
    ],
)
def test_an_envelope_that_is_none_has_the_right_reason(upserts, event, reason):
    block, rows = upserts(ROW, [json.dumps(parts(1)), event])

    assert [row["id"] for row in rows] == [1]
    assert reason in block.bad[1]


@pytest.mark.parametrize(
    ("sources", "wanted"),
    [
        ([ORACLE | {"txId": "6.28.807"}] * 2, ["6.28.807", "6.28.807"]),
        (
            [POSTGRES | {"txId": 555, "table": "T", "schema": "S", "db": "d"}, ORACLE | {"txId": "6.28.807"}],
            ["555", "6.28.807"],
        ),
        ([ORACLE | {"txId": None}, ORACLE | {"txId": "1.2.3"}], [None, "1.2.3"]),
        ([MARIA | {"gtid": "0-7-31"}] * 2, ["0-7-31"] * 2),
    ],
)
def test_a_transaction_is_a_number_or_a_text(upserts, sources, wanted):
    events = [change(after={"id": number}, source=source) for number, source in enumerate(sources)]

    block, rows = upserts(ID, events, about=("_op", "_tx", "_sequence"))

    assert not block.bad
    assert [row["_tx"] for row in rows] == wanted


def test_a_snapshot_is_a_truth_value_of_old_connectors_or_a_text(upserts):
    events = [change(after={"id": 1}, source=MARIA | {"snapshot": each}) for each in (True, "last", False, None)]

    block, rows = upserts(ID, events, about=("_op", "_snapshot"))

    assert not block.bad
    assert [row["_snapshot"] for row in rows] == ["true", "last", "false", None]


@pytest.mark.parametrize(
    ("text", "kind", "wanted"),
    [
        ("2024-02-29T23:59:59.1234567Z", INSTANT, "2024-02-29T23:59:59.123456+00:00"),
        ("2024-03-01T01:59:59.123456789+02:00", INSTANT, "2024-02-29T23:59:59.123456+00:00"),
        ("2024-02-29T23:59:59.12345678", TIMESTAMP, "2024-02-29T23:59:59.123456"),
        ("2024-02-29T23:59:59.123456789Z", TIMESTAMP, "2024-02-29T23:59:59.123456"),
        ("2024-02-29Z", pa.date32(), "2024-02-29"),
        ("2024-02-29", pa.date32(), "2024-02-29"),
    ],
)
def test_times_and_dates_as_texts_are_read(upserts, text, kind, wanted):
    block, rows = upserts(columns(id=pa.int32(), at=kind), [change(after={"id": 1, "at": text}, source=ORACLE)])

    assert not block.bad
    assert rows[0]["at"].isoformat() == wanted


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ({"type": "string", "name": "io.debezium.time.IsoDate"}, "2024-02-29Z", "2024-02-29"),
        (
            {"type": "string", "name": "io.debezium.time.IsoTimestamp"},
            "1970-01-01T00:00:01.1234567Z",
            "1970-01-01T00:00:01.123456",
        ),
        ({"type": "int64", "name": "io.debezium.time.NanoTimestamp"}, 1_123456789, "1970-01-01T00:00:01.123456"),
        ({"type": "int64", "name": "io.debezium.time.NanoTimestamp"}, -1, "1969-12-31T23:59:59.999999"),
    ],
)
def test_times_are_read_by_their_schema(upserts, field, value, wanted):
    event = enclosed({"id": {"type": "int32"}, "at": field}, change(after={"id": 1, "at": value}))

    block, rows = upserts(columns_of(schema_in(event)), [event])

    assert not block.bad
    assert rows[0]["at"].isoformat() == wanted


def test_a_heartbeat_with_blanks_is_left_out(upserts):
    block, _ = upserts(ID, ['{"ts_ms": 1795294887040}\n', '{\n "ts_ms": 1,\n "ts_us": 1000\n}'])

    assert block.left_out == {"heartbeat": 2}
