"""Times in JSON, as applications write them."""

import json
import math

import pyarrow as pa
import pytest

from aiopravega.schema.json.columns.decoder import JsonDecoder

INSTANT = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema(
    [
        ("at", INSTANT),
        ("local", pa.timestamp("us")),
        ("x", pa.float64()),
        ("note", pa.string()),
        ("trip", pa.struct([("ends", pa.list_(pa.field("element", INSTANT)))])),
    ]
)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2024-02-29T23:59:59.1234567Z", "2024-02-29T23:59:59.123456"),
        ("2024-02-29 23:59:59.123456789", "2024-02-29T23:59:59.123456"),
        ("2024-03-01T01:59:59.12345699+02:00", "2024-02-29T23:59:59.123456"),
        ("1600-02-29T23:59:59.9999999Z", "1600-02-29T23:59:59.999999"),
        ("2024-02-29T23:59:59.5Z", "2024-02-29T23:59:59.500000"),
        ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59"),
    ],
)
def test_digits_of_times_after_the_sixth_are_cut(payloads, text, read):
    event = {"at": text, "local": text, "x": "NaN", "note": "a:00.1234567", "trip": {"ends": [text, None]}}
    events = payloads(json.dumps(event).encode(), b'{"at":"2024-02-29T23:59:59.1234567890Z"}', b"{}")

    block = JsonDecoder(SCHEMA).decode(events)

    assert sorted(block.bad) == [1]
    at, local, x, note, trip = (column.to_pylist()[0] for column in block.columns)
    assert (at.isoformat(), local.isoformat()) == (f"{read}+00:00", read)
    assert (math.isnan(x), note) == (True, "a:00.1234567")
    assert trip == {"ends": [at, None]}
