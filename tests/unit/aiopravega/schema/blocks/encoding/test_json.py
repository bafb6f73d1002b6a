"""Rows become JSON objects that any parser reads, and that our own reads give back."""

import json
import math
from base64 import b64encode
from typing import Any

import pyarrow as pa

from aiopravega.schema.json.columns.decoder import JsonDecoder
from aiopravega.schema.json.columns.encoder import JsonEncoder


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


def test_a_read_gives_back_what_was_encoded(rows):
    # Not dates: the reader of JSON takes them for numbers.
    names = ["id", "small", "name", "flag", "ratio", "half", "at", "address", "tags", "stops"]
    some = rows.select(names)
    events = JsonEncoder(names).columns(some.columns, some.num_rows)

    block = JsonDecoder(some.schema).decode(events)

    assert not block.bad
    assert [column.to_pylist() for column in block.columns] == [column.to_pylist() for column in some.columns]


def test_nan_and_infinity_are_written_as_spark_does():
    batch = pa.record_batch({"x": pa.array([math.nan, math.inf, -math.inf, 1.0, None])})

    assert encoded(batch) == [{"x": "NaN"}, {"x": "Infinity"}, {"x": "-Infinity"}, {"x": 1}, {}]


def test_names_are_quoted_like_values():
    assert encoded(pa.record_batch({'a "b"\n': pa.array([1])})) == [{'a "b"\n': 1}]


def test_no_rows_give_no_events():
    assert encoded(pa.record_batch({"x": pa.array([], pa.int64())})) == []
