"""JSON events become columns, each event one row whatever is in it."""

import json
from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega.errors import ConfigurationError
from aiopravega.schema.json.columns.decoder import JsonDecoder
from aiopravega.schema.json.columns.types import columns_of
from aiopravega.schema.open.blocks.targets import JsonTarget

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("tags", pa.list_(pa.field("element", pa.string()))),
        ("address", pa.struct([("city", pa.string()), ("zip", pa.int32())])),
    ]
)
NOTHING = {"id": None, "name": None, "tags": None, "address": None}


def decoded(payloads):
    block = JsonDecoder(SCHEMA).decode(payloads)
    batch = pa.RecordBatch.from_arrays(block.columns, schema=SCHEMA)
    batch.validate(full=True)
    return batch.to_pylist(), block.bad


def test_fields_are_found_by_name_and_others_skipped(payloads):
    rows, bad = decoded(
        payloads(
            b'{"name": "a", "id": 1, "unknown": {"x": [1]}}',
            b'{"address": {"city": "Rome", "more": 1}, "tags": ["x", null]}',
            b"{}",
            b' {"id": null}\t',
        )
    )

    assert not bad
    assert rows == [
        NOTHING | {"id": 1, "name": "a"},
        NOTHING | {"address": {"city": "Rome", "zip": None}, "tags": ["x", None]},
        NOTHING,
        NOTHING,
    ]


def test_events_over_several_lines_are_one_row_each(payloads):
    events = [json.dumps({"id": number, "name": "two\nlines"}, indent=4).encode() for number in range(100)]

    rows, bad = decoded(payloads(*events))

    assert not bad
    assert [row["id"] for row in rows] == list(range(100))


# Each of these would make more or fewer rows than one, or move the ends of its neighbours.
TRICKS = [
    b"",
    b" ",
    b"{}{}",
    b"{}\n{}",
    b'{}}\n{"event":{}',
    b'{"name":"a',
    b'"}',
    b'{"tags":[',
    b"]}",
    b'{"id":1},',
    b"null",
    b"[{}]",
    b"7",
    b"{} x",
    b'{"id":1}\0',
]


@given(st.lists(st.sampled_from([b'{"id":1}', *TRICKS]), max_size=12))
def test_no_event_passes_for_another(payloads, events):
    numbered = [event.replace(b"1", str(number).encode()) for number, event in enumerate(events)]

    rows, bad = decoded(payloads(*numbered))

    assert set(bad) == {number for number, event in enumerate(events) if event in TRICKS}
    assert [row["id"] for row in rows] == [number for number in range(len(events)) if number not in bad]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (b'{"id":"x"}', "id is of type string, but read as number"),
        (b'{"address":{"zip":[]}}', "address/zip is of type array, but read as number"),
        (b"7", "it is of type number, but read as object"),
        (b'{"id":1.5}', "Failed to convert JSON to int64"),
        (b'{"name":5}', "name is of type number, but read as string"),
        (b'{"id":1,"id":2}', "specified twice"),
        (b'{"id":1', "Missing a comma"),
        (b'{"name":"\xff"}', "not UTF-8"),
        (b'{"name":"a\nb"}', "Invalid encoding in string"),
        (b"null", "it is null"),
        (b"{}{}", "Missing a comma"),
        (b'{}}\n{"event":{}', "several"),
    ],
)
def test_a_malformed_event_is_found_with_its_reason(payloads, event, reason):
    rows, bad = decoded(payloads(b'{"id":1}', event, b'{"id":3}'))

    assert [row["id"] for row in rows] == [1, 3]
    assert reason in bad[1]


def test_many_malformed_events_among_many_are_all_found(payloads):
    events = [b"{" if number % 7 == 0 else b'{"id":%d}' % number for number in range(2000)]

    rows, bad = decoded(payloads(*events))

    assert set(bad) == set(range(0, 2000, 7))
    assert [row["id"] for row in rows] == [number for number in range(2000) if number % 7]


DATED = pa.schema(
    [
        ("day", pa.date32()),
        ("trip", pa.struct([("from", pa.date32())])),
        ("stops", pa.list_(pa.field("element", pa.date32()))),
    ]
)


def test_dates_are_texts_wherever_they_stand(payloads):
    events = payloads(
        b'{"day": "2013-01-31", "trip": {"from": "2013-02-01"}, "stops": ["2013-02-02", null]}',
        b'{"day": null, "trip": null, "stops": null}',
        b'{"trip": {}}',
    )
    block = JsonDecoder(DATED).decode(events)

    assert not block.bad
    assert pa.RecordBatch.from_arrays(block.columns, schema=DATED).to_pylist() == [
        {"day": date(2013, 1, 31), "trip": {"from": date(2013, 2, 1)}, "stops": [date(2013, 2, 2), None]},
        {"day": None, "trip": None, "stops": None},
        {"day": None, "trip": {"from": None}, "stops": None},
    ]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (b'{"day": "2013-13-01"}', "Failed to parse string: '2013-13-01' as a scalar of type date32"),
        (b'{"day": 15706}', "day is of type number, but read as string"),
    ],
)
def test_what_is_not_a_date_is_malformed(payloads, event, reason):
    block = JsonDecoder(DATED).decode(payloads(b'{"day": "2013-01-31"}', event))

    assert list(block.bad) == [1]
    assert reason in block.bad[1]


def test_zeros_that_a_codec_left_are_cut_off():
    assert JsonDecoder(SCHEMA).trim(b'{"id":1}\0\0\0') == b'{"id":1}'


def test_a_json_schema_stands_for_columns(as_spark):
    schema = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "price": {"type": ["number", "null"]},
            "open": {"type": "boolean"},
            "kind": {"enum": ["a", "b"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "address": {"$ref": "#/definitions/address"},
            "note": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        },
        "definitions": {"address": {"properties": {"city": {"type": "string"}}}},
    }

    assert as_spark(columns_of(schema)) == (
        "struct<id:bigint,price:double,open:boolean,kind:string,tags:array<string>,address:struct<city:string>,note:string>"
    )


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ([], "not an object"),
        ({"type": "string"}, "does not describe objects"),
        ({"type": "object"}, "its top: 'object' without known properties"),
        ({"type": "object", "properties": {"a": {}}}, "at a: the type is null"),
        ({"type": "object", "properties": {"a": True}}, "at a: true allows anything"),
        ({"type": "object", "properties": {"a": {"type": ["string", "integer"]}}}, "a column has one"),
        ({"type": "object", "properties": {"a": {"type": "array"}}}, "what its items are"),
        ({"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}}, "2 types"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "contains itself"),
        ({"type": "object", "properties": {"a": {"$ref": "#/definitions/no"}}}, "not in the schema"),
        ({"type": "object", "properties": {"a": {"$ref": "other.json"}}}, "outside of the schema"),
    ],
)
def test_a_json_schema_that_cannot_be_columns_is_refused(schema, said):
    with pytest.raises(ConfigurationError, match=said):
        columns_of(schema)


@pytest.mark.parametrize("threads", [False, True])
def test_events_that_would_pass_for_others_together_are_reported(payloads, threads):
    # As many rows as events, if they were only joined: a string that continues in the next event, two objects in one.
    events = [b'{"name":"a}', b'{"}', b'{"id":1}{"id":2}', b'{"id":3}', b'{"address":{}', b'{"id":4},{"id":5}']

    block = JsonDecoder(SCHEMA, threads=threads).decode(payloads(*events))

    assert block.columns[0].to_pylist() == [3]
    assert sorted(block.bad) == [0, 1, 2, 4, 5]


@pytest.mark.parametrize("bad", [None, b'{"id":1}{"id":1}', b'{"id":1}\n', b"[]"])
def test_threads_find_the_same(payloads, bad):
    events = [b'{"id":%d,"name":"%s"}' % (number, b"x" * 90) for number in range(40_000)]  # more than one block
    if bad is not None:
        events[31_000] = bad

    block = JsonDecoder(SCHEMA, threads=True).decode(payloads(*events))
    alone = JsonDecoder(SCHEMA).decode(payloads(*events))

    assert [column.equals(other) for column, other in zip(block.columns, alone.columns, strict=True)] == [True] * 4
    assert block.bad == alone.bad
    assert len(block.columns[0]) == 40_000 - len(block.bad)


def test_texts_of_numbers_are_numbers_only_where_a_column_is_real(payloads):
    schema = pa.schema([("x", pa.float64()), ("name", pa.string()), ("more", pa.list_(pa.float32()))])
    events = payloads(
        b'{"x": "NaN", "name": "NaN", "more": [1, "-Infinity" ]}',
        b'{"x": 1.5, "name": "\\"NaN\\", "}',
        b'{"x": NaN, "unknown": "NaN"}',
        b'{"x": "nan"}',
        b'{"NaN": "NaN", "x": "Infinity"}',
    )

    block = JsonDecoder(schema).decode(events)

    assert [*block.bad] == [3]
    assert "is of type string, but read as number" in block.bad[3]
    assert str(block.columns[0].to_pylist()) == "[nan, 1.5, nan, inf]"
    assert block.columns[1].to_pylist() == ["NaN", '"NaN", ', None, None]
    assert block.columns[2].to_pylist() == [[1.0, float("-inf")], None, None, None]


def test_bytes_are_read_from_base64_and_other_texts_refused(payloads):
    block = JsonDecoder(pa.schema([("x", pa.binary())])).decode(payloads(b'{"x": "AP8="}', b'{"x": "a!"}', b"{}"))

    assert block.columns[0].to_pylist() == [b"\0\xff", None]
    assert block.bad == {1: "it is not base64"}


@pytest.mark.parametrize(
    "kind", [pa.map_(pa.string(), pa.int64()), pa.time64("us"), pa.list_(pa.struct([("a", pa.duration("s"))]))]
)
def test_columns_that_json_cannot_give_are_refused_by_name(kind):
    with pytest.raises(ConfigurationError, match=r"column 'wide.*cannot be read from JSON"):
        JsonTarget(pa.schema([("wide", kind)]))
