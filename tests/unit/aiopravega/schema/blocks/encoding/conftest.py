"""Rows of all types that Spark has, to be encoded: with values, with nulls, and with what is awkward in a format."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("small", pa.int32()),
        ("name", pa.string()),
        ("raw", pa.binary()),
        ("flag", pa.bool_()),
        ("ratio", pa.float64()),
        ("half", pa.float32()),
        ("price", pa.decimal128(20, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("address", pa.struct([("city", pa.string()), ("zip", pa.int32())])),
        ("tags", pa.list_(pa.string())),
        ("stops", pa.list_(pa.struct([("city", pa.string())]))),
        ("counts", pa.map_(pa.string(), pa.int64())),
    ]
)
ROWS: list[dict[str, Any]] = [
    {
        "id": -(2**63),
        "small": 2**31 - 1,
        "name": 'a "quoted" \\ line\n\x01 é',
        "raw": b"\0\xff",
        "flag": True,
        "ratio": 0.1,
        "half": -2.5,
        "price": Decimal("-123456789012345678.01"),
        "day": date(1969, 12, 31),
        "at": datetime(1960, 2, 29, 23, 59, 59, 999999, tzinfo=UTC),
        "local": datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC).replace(tzinfo=None),
        "address": {"city": "Rome", "zip": None},
        "tags": ["", "x" * 300, None],
        "stops": [{"city": "A"}, None, {"city": None}],
        "counts": [("a", 1), ("b", None)],
    },
    dict.fromkeys(SCHEMA.names),
    {
        "id": 0,
        "small": -1,
        "name": "",
        "raw": b"",
        "flag": False,
        "ratio": 1e300,
        "half": 0.0,
        "price": Decimal("0.00"),
        "day": date(2038, 1, 19),
        "at": datetime(2038, 1, 19, tzinfo=UTC),
        "local": datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None),
        "address": {"city": None, "zip": 0},
        "tags": [],
        "stops": [],
        "counts": [],
    },
]


@pytest.fixture(params=[0, 1], ids=["all rows", "from the second row on"])
def rows(request: pytest.FixtureRequest) -> pa.RecordBatch:
    """The rows, or a part of them whose arrays begin elsewhere than their buffers."""
    return pa.RecordBatch.from_pylist(ROWS, SCHEMA).slice(request.param)
