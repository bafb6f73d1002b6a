"""Rows become the events that Debezium would write: judged by those of a real one, and by Python's own JSON."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.pravega_jobs.debezium.conftest import KEYS
from tests.unit.pravega_jobs.debezium.test_vectors import ANCIENT, INFINITE, payload_of

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes.connect import schema_in
from pravega_jobs.debezium.changes.decoder import ChangeDecoder
from pravega_jobs.debezium.changes.meanings import INSTANT, TIMESTAMP, columns_of
from pravega_jobs.debezium.changes.options import BeforeImage, ChangeOptions, Changes, Decimals, TimePrecision
from pravega_jobs.debezium.changes.options import WrittenChanges as Written
from pravega_jobs.debezium.changes.plan import ChangePlan, columns_for
from pravega_jobs.debezium.changes.written_events import ChangeEncoder

ABOUT = ("_op", "_source_table", "_source_schema", "_source_db", "_lsn", "_source_ts", "_ingested_at", "_unchanged")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)


def rows_of(schema, events, options, meanings=None):
    """The columns that a read gives."""
    data = pa.array([event if isinstance(event, bytes) else event.encode() for event in events], pa.binary())
    block = ChangeDecoder(ChangePlan(schema, options, meanings)).decode(data, np.arange(len(events), dtype=np.int64))
    assert not block.bad
    return block


def written(columns, arrays, options, meanings=None):
    """The events of some rows, and their keys."""
    encoder = ChangeEncoder(columns, options, meanings)
    keys = encoder.keys(arrays, len(arrays[0]))
    events = encoder.columns(arrays, len(arrays[0]))
    events.validate(full=True)
    return events.to_pylist(), None if keys is None else keys.to_pylist()


def wanted_image(image, columns):
    """An image of a real event without what no column can hold, and with points in time instead of their texts."""
    if image is None:
        return None
    found = {name: None if str(image.get(name)) in map(str, INFINITE) else image.get(name) for name in columns}
    return {name: instant(value, columns[name]) for name, value in found.items()}


def instant(value, meaning):
    return datetime.fromisoformat(value) if value and meaning.name.endswith("ZonedTimestamp") else value


@pytest.mark.parametrize("table", KEYS)
@pytest.mark.parametrize("settings", ["plain", "schema", "transaction-sink"])
def test_an_event_that_is_read_and_written_has_the_same_images_and_key(vectors, written_schema, settings, table):
    meanings = schema_in(written_schema[table])
    meanings.pop(ANCIENT, None)
    mine = [one for one in vectors if one["settings"] == settings and one["table"] == table and one["op"] in (*"crud",)]
    options = ChangeOptions(
        changes=Changes.ENVELOPE, key=KEYS[table], before_image=BeforeImage.FULL, infinity_is_null=True
    )
    schema = columns_for(columns_of(meanings), options, ABOUT)
    block = rows_of(schema, [one["event"] for one in mine], options, meanings)

    events, keys = written(schema, block.columns, Written(key=KEYS[table]), meanings)

    assert len(events) == len(mine) > 0
    for text, one in zip(events, mine, strict=True):
        found, real = json.loads(text), payload_of(one["event"])
        for image in ("before", "after"):
            assert wanted_image(found[image], meanings) == wanted_image(real[image], meanings)
        assert [found[name] for name in ("op", "ts_ms", "ts_us")] == [real[name] for name in ("op", "ts_ms", "ts_us")]
        same = ("db", "schema", "table", "lsn", "ts_ms", "ts_us")
        assert {name: found["source"][name] for name in same} == {name: real["source"][name] for name in same}
    if KEYS[table] and settings != "schema":
        known = [(key, one["routing_key"]) for key, one in zip(keys, mine, strict=True) if one["routing_key"]]
        assert known
        assert all(key == real for key, real in known)


ROW = {
    "i8": (pa.int8(), -7),
    "i16": (pa.int16(), 300),
    "id": (pa.int32(), 1),
    "i64": (pa.int64(), 2**63 - 1),
    "f32": (pa.float32(), 0.5),
    "f64": (pa.float64(), float("-inf")),
    "whole": (pa.float64(), 3.0),
    "flag": (pa.bool_(), True),
    "text": (pa.string(), 'a "quoted"\nline \u20ac \x1f'),
    "data": (pa.binary(), b"\x00\xff\x10"),
    "price": (pa.decimal128(10, 2), Decimal("-12.30")),
    "wide": (pa.decimal128(38, 0), Decimal("-1" + "0" * 37)),
    "small": (pa.decimal128(4, 0), Decimal(1234)),
    "day": (pa.date32(), date(1900, 1, 1)),
    "local": (TIMESTAMP, datetime(1972, 1, 1, 0, 0, 0, 1)),  # noqa: DTZ001 - it has no zone
    "instant": (INSTANT, datetime(2013, 1, 31, 23, 59, 59, 123456, UTC)),
    "prices": (pa.list_(pa.field("element", pa.decimal128(8, 2))), [Decimal("1.50"), None]),
    "point": (pa.struct([("x", pa.float64()), ("when", pa.date32())]), {"x": 1.5, "when": None}),
}
KINDS = pa.schema([(name, kind) for name, (kind, _) in ROW.items()])
CHANGED = pa.schema([*KINDS, ("_change_type", pa.string())])


def change(words):
    """Rows of all types: one with values, and one that has the key only, of each word."""
    full = [ROW[name][1] for name in KINDS.names]
    empty = [2 if name == "id" else None for name in KINDS.names]
    table = [row for _ in words for row in (full, empty)]
    arrays = [pa.array([row[at] for row in table], kind) for at, kind in enumerate(KINDS.types)]
    return [*arrays, pa.array([word for word in words for _ in range(2)])]


WORDS = ["insert", "update_postimage", "delete"]


@pytest.mark.parametrize(
    ("options", "read"),
    [
        (Written(key=("id",), with_schemas=True), {}),
        (Written(key=("id",)), {"time_precision": TimePrecision.US, "decimals": Decimals.DIGITS}),
        (
            Written(key=("id",), decimals=Decimals.BASE64),
            {"time_precision": TimePrecision.US, "decimals": Decimals.BASE64},
        ),
    ],
)
def test_rows_of_all_types_are_read_as_they_were_written(options, read):
    arrays = change(WORDS)

    events, keys = written(CHANGED, arrays, options)

    assert keys == ['{"id":1}', '{"id":2}'] * 3
    asked = ChangeOptions(changes=Changes.ROWS, key=("id",), **read)
    block = rows_of(CHANGED, events, asked)
    assert [column.to_pylist() for column in block.columns] == [array.to_pylist() for array in arrays]


def test_an_event_with_its_schema_says_the_columns_of_the_table():
    events, _ = written(CHANGED, change(["insert"]), Written(key=("id",), with_schemas=True, table="public.t"))

    assert columns_of(schema_in(events[0])) == KINDS
    document = json.loads(events[0])
    names = [field["field"] for field in document["schema"]["fields"]]
    assert names == list(document["payload"])


def test_all_fields_are_there_and_the_same_rows_are_the_same_events():
    arrays = change(WORDS)

    events, _ = written(CHANGED, arrays, Written(key=("id",), table="shop.public.orders"))

    first, second, *_, deleted = [json.loads(text) for text in events]
    assert list(first) == ["before", "after", "source", "transaction", "op", "ts_ms", "ts_us"]
    assert second["after"] == dict.fromkeys(KINDS.names) | {"id": 2}
    assert (first["after"]["local"], first["after"]["day"]) == (63072000000001, -25567)
    assert (first["after"]["price"], first["after"]["f64"]) == ("-12.30", "-Infinity")
    assert first["source"] == {"connector": "pravega", "db": "shop", "schema": "public", "table": "orders"}
    assert (deleted["before"]["id"], deleted["after"], deleted["op"]) == (2, None, "d")
    assert written(CHANGED, arrays, Written(key=("id",), table="shop.public.orders"))[0] == events
    _, [key] = written(CHANGED, [array.slice(0, 1) for array in arrays], Written(key=("text", "id")))
    assert key == '{"text":"a \\"quoted\\"\\nline \u20ac \\u001F","id":1}'  # as Java escapes it


def batch(**columns):
    """Columns by name: as arrays, or as lists of texts."""
    made = {name: value if isinstance(value, pa.Array) else pa.array(value) for name, value in columns.items()}
    return pa.schema([(name, array.type) for name, array in made.items()]), list(made.values())


def test_unsent_values_are_marked_transaction_and_position_are_written():
    unsent = pa.array([["note", "data", "elsewhere"], []], pa.list_(pa.field("element", pa.string())))
    schema, arrays = batch(
        id=pa.array([1, 2], pa.int32()),
        note=["kept", "new"],
        data=pa.array([b"x", b"y"]),
        _op=["u", "u"],
        _unchanged=unsent,
        _file=["bin.000001"] * 2,
        _pos=pa.array([4, 5]),
        _row=pa.array([0, 1]),
        _tx=pa.array(["0-7-31", None]),
        _tx_order=pa.array([3, None], pa.int64()),
    )

    events, _ = written(schema, arrays, Written(key=("id",)))

    first, second = map(json.loads, events)
    assert first["transaction"] == {"id": "0-7-31", "total_order": 3, "data_collection_order": None}
    assert second["transaction"] is None
    assert first["source"] | {"connector": ""} == {"connector": "", "file": "bin.000001", "pos": 4, "row": 0}
    options = ChangeOptions(key=("id",))
    block = rows_of(schema, events, options)
    found = dict(zip(schema.names, (column.to_pylist() for column in block.columns), strict=True))
    assert (found["note"], found["data"]) == ([None, "new"], [None, b"y"])
    assert [sorted(names) for names in found["_unchanged"]] == [["data", "note"], []]
    assert (found["_tx"], found["_pos"]) == (["0-7-31", None], [4, 5])


IMAGE = pa.struct([("id", pa.int32()), ("v", pa.string())])


def images(before, after, op):
    return batch(before=pa.array([before], IMAGE), after=pa.array([after], IMAGE), op=[op])


@pytest.mark.parametrize(
    ("before", "after", "op", "key"),
    [
        (None, {"id": 1, "v": "a"}, "r", '{"id":1}'),
        ({"id": 1, "v": "a"}, {"id": 1, "v": "b"}, "u", '{"id":1}'),
        (None, {"id": 1, "v": "b"}, "u", '{"id":1}'),
        ({"id": 1, "v": None}, None, "d", '{"id":1}'),
        (None, None, "t", None),
    ],
)
def test_both_images_are_one_event(before, after, op, key):
    schema, arrays = images(before, after, op)

    events, keys = written(schema, arrays, Written(key=("id",)))

    found = json.loads(events[0])
    assert (found["before"], found["after"], found["op"]) == (before, after, op)
    assert keys == [key]


@pytest.mark.parametrize(
    ("before", "after", "op", "complaint"),
    [
        ({"id": 1}, {"id": 2}, "u", "an update changes the key"),
        (None, {"id": None}, "c", "null in its key"),
        (None, {"id": 1}, "d", "do not fit its op"),
        ({"id": 1}, None, "u", "do not fit its op"),
        (None, {"id": 1}, "x", "the change 'x', which is not known"),
        (None, {"id": 1}, None, "the change None"),
    ],
)
def test_rows_that_are_no_changes_are_refused(before, after, op, complaint):
    schema, arrays = images(before, after, op)
    arrays[2] = pa.array([op], pa.string())

    with pytest.raises(ConfigurationError, match=complaint):
        written(pa.schema([*list(schema)[:2], ("op", pa.string())]), arrays, Written(key=("id",)))


def test_the_image_before_an_update_alone_is_refused():
    schema, arrays = batch(id=pa.array([1]), _change_type=["update_preimage"], _op=["u"])

    with pytest.raises(ConfigurationError, match="to_debezium"):
        written(schema, arrays, Written(key=("id",)))


KNOWN = {"id": pa.int32(), "_op": pa.string()}


@pytest.mark.parametrize(
    ("columns", "options", "complaint"),
    [
        (KNOWN | {"m": pa.map_(pa.string(), pa.int32())}, {}, "'m' cannot be map"),
        (KNOWN | {"a": pa.list_(pa.month_day_nano_interval())}, {}, r"'a\[\]' cannot be"),
        (KNOWN | {"t": pa.time64("us")}, {}, "'t' cannot be time64"),
        (KNOWN | {"n": pa.null()}, {}, "'n' cannot be null"),
        (KNOWN | {"_sequence": pa.binary()}, {}, "'_sequence' is made by reads"),
        (KNOWN | {"_lsn": pa.string()}, {}, "'_lsn' is string, but it must be int64"),
        ({"id": pa.int32()}, {}, "no column has the kind of each change"),
        ({"_op": pa.string()}, {"key": ()}, "no columns of a table"),
        (KNOWN, {"key": ("id", "line")}, "names line"),
        (KNOWN, {"changes": Changes.ROWS}, "changes=rows is for reads"),
        (KNOWN, {"changes": Changes.ENVELOPE}, "changes=envelope has the columns"),
        (KNOWN, {"table": "a.b.c.d"}, "it takes a table, schema.table"),
    ],
)
def test_columns_that_cannot_be_written_are_refused_before_any_row(columns, options, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        ChangeEncoder(pa.schema(list(columns.items())), Written(**{"key": ("id",)} | options))


def refusal(written_schema, name, kind, value):
    columns = pa.schema([("id", pa.int32()), (name, kind), ("_op", pa.string())])
    arrays = [pa.array([1], pa.int32()), pa.array([value], kind), pa.array(["c"])]
    with pytest.raises(ConfigurationError) as raised:
        written(columns, arrays, Written(key=("id",)), schema_in(written_schema["kinds"]))
    return str(raised.value)


def test_a_value_that_the_schema_cannot_hold_is_refused_not_cut(written_schema):
    micros = datetime(2013, 1, 1, 0, 0, 0, 1)  # noqa: DTZ001 - it has no zone

    assert "finer than the unit of the events" in refusal(written_schema, "ts3", TIMESTAMP, micros)
    assert "column 'nu'" in refusal(written_schema, "nu", pa.decimal128(10, 5), Decimal("0.00001"))
    assert "not a time such as" in refusal(written_schema, "tm", pa.string(), "noon")
    assert "is not a number" in refusal(written_schema, "nf", pa.string(), "NaN")
    assert "'sm' cannot be written" in refusal(written_schema, "sm", pa.int32(), 70000)
    assert "cast the column" in refusal(written_schema, "dt", pa.string(), "2013-01-01")
    assert "has no column 'unheard'" in refusal(written_schema, "unheard", pa.string(), "x")
