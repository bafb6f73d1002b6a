"""Rows become JSON objects that any parser reads, and that our own reads give back."""

import datetime as dt
import json
import math
from base64 import b64encode
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega.schema.json.columns.decoder import JsonDecoder
from aiopravega.schema.json.columns.encoder import JsonEncoder
from aiopravega.schema.json.columns.forms import JsonDecimals, JsonForm, TimestampFormat


def encoded(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    events = JsonEncoder(batch.schema.names).columns(batch.columns, batch.num_rows)
    return [json.loads(event) for event in events.to_pylist()]


def test_every_type_is_what_its_text_says_and_nulls_are_left_out(rows):
    for row, found in zip(rows.to_pylist(), encoded(rows), strict=True):
        assert found.keys() == {name for name, value in row.items() if value is not None}
        for name in ("id", "small", "name", "flag", "ratio", "half", "tags"):
            assert found.get(name) == row[name]
        if row["id"] is None:
            continue
        assert found["raw"] == b64encode(row["raw"]).decode()
        assert math.isclose(found["price"], row["price"])
        assert found["day"] == row["day"].isoformat()
        assert found["at"] == row["at"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        assert found["local"] == row["local"].strftime("%Y-%m-%dT%H:%M:%S.%f")
        assert found["address"] == {name: value for name, value in row["address"].items() if value is not None}
        stops = [stop and {name: value for name, value in stop.items() if value is not None} for stop in row["stops"]]
        assert found["stops"] == stops
        assert found["counts"] == dict(row["counts"])


UTC = st.just(dt.UTC)
# Types, each with its values. Java and Spark write no years after 9999.
SIMPLE = [
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-(2**7), 2**7 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), st.floats()),
    (pa.decimal128(12, 3), st.integers(-(10**12) + 1, 10**12 - 1).map(lambda number: Decimal(number).scaleb(-3))),
    (pa.string(), st.one_of(st.sampled_from(["NaN", "Infinity", '"NaN",', "-Infinity}"]), st.text())),
    (pa.binary(), st.binary()),
    (pa.date32(), st.dates()),
    (pa.timestamp("us"), st.datetimes()),
    (pa.timestamp("us", "UTC"), st.datetimes(timezones=UTC)),
]


def nested(inner):
    """Lists and structs of some types."""
    lists = inner.map(lambda one: (pa.list_(pa.field("element", one[0])), st.lists(st.none() | one[1], max_size=4)))
    structs = st.lists(inner, min_size=1, max_size=3).map(
        lambda all_: (
            pa.struct([(f"f{index}", kind) for index, (kind, _) in enumerate(all_)]),
            st.fixed_dictionaries({f"f{index}": st.none() | values for index, (_, values) in enumerate(all_)}),
        )
    )
    return st.one_of(lists, structs)


TYPES = st.recursive(st.sampled_from(SIMPLE), nested, max_leaves=4)


def as_text(value: Any) -> str:
    """A value as text, by which NaN is equal to NaN."""
    return repr(value)


@given(st.data())
def test_values_of_every_type_come_back_as_they_were(data):
    columns = data.draw(st.lists(TYPES, min_size=1, max_size=3))
    count = data.draw(st.integers(1, 5))
    arrays = []
    for kind, values in columns:
        given_values = data.draw(st.lists(st.none() | values, min_size=count, max_size=count))
        arrays.append(pa.array(given_values, kind, from_pandas=False))
    batch = pa.record_batch(arrays, [f"c{index}" for index in range(len(arrays))])

    events = JsonEncoder(batch.schema.names).columns(batch.columns, batch.num_rows)
    block = JsonDecoder(batch.schema).decode(events.cast(pa.binary()))

    assert not block.bad
    for column, found in zip(batch.columns, block.columns, strict=True):
        assert found.type == column.type
        assert as_text(found.to_pylist()) == as_text(column.to_pylist())


def test_nan_and_infinity_are_written_as_spark_does_and_read():
    batch = pa.record_batch({"x": pa.array([math.nan, math.inf, -math.inf, 1.0, None])})

    assert encoded(batch) == [{"x": "NaN"}, {"x": "Infinity"}, {"x": "-Infinity"}, {"x": 1}, {}]
    events = JsonEncoder(["x"]).columns(batch.columns, 5)
    assert as_text(JsonDecoder(batch.schema).decode(events).columns[0].to_pylist()) == "[nan, inf, -inf, 1.0, None]"


@pytest.mark.parametrize(
    ("form", "event"),
    [
        (JsonForm(), b'{"at":"2020-12-30T12:13:14.123000Z","price":1E-8,"all":[{"x":"2020-12-30T12:13:14.000000"}]}'),
        (
            JsonForm(TimestampFormat.SQL, JsonDecimals.PLAIN),
            b'{"at":"2020-12-30 12:13:14.123000Z","price":0.00000001,"all":[{"x":"2020-12-30 12:13:14.000000"}]}',
        ),
        (
            JsonForm(decimals=JsonDecimals.TEXT),
            b'{"at":"2020-12-30T12:13:14.123000Z","price":"0.00000001","all":[{"x":"2020-12-30T12:13:14.000000"}]}',
        ),
    ],
)
def test_times_and_decimals_have_the_wanted_texts_and_are_read(form, event):
    at = dt.datetime(2020, 12, 30, 12, 13, 14, 123000, dt.UTC)
    row = {"at": at, "price": Decimal("1E-8"), "all": [{"x": at.replace(microsecond=0, tzinfo=None)}]}
    decimals = pa.decimal128(38, 8)
    every = pa.list_(pa.field("element", pa.struct([("x", pa.timestamp("us"))])))
    schema = pa.schema([("at", pa.timestamp("us", "UTC")), ("price", decimals), ("all", every)])
    large = Decimal("-123456789012345678901234567890.12345678")
    batch = pa.RecordBatch.from_pylist([row, {"price": large}, {}], schema)

    elsewhere = batch.set_column(0, "at", batch["at"].cast(pa.timestamp("us", "Europe/Berlin")))  # texts are in UTC
    events = JsonEncoder(schema.names, form=form).columns(elsewhere.columns, 3)
    found = JsonDecoder(schema).decode(events)

    assert events[0].as_py() == event
    assert str(large).encode() in events[1].as_py()
    assert pa.RecordBatch.from_arrays(found.columns, schema=schema).equals(batch)


def test_names_are_quoted_like_values():
    assert encoded(pa.record_batch({'a "b"\n': pa.array([1])})) == [{'a "b"\n': 1}]


def test_no_rows_give_no_events():
    assert encoded(pa.record_batch({"x": pa.array([], pa.int64())})) == []
