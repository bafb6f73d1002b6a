"""Change events of Canal, in the shapes that its flat messages and Flink's `canal-json` have."""

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.names import SegmentId
from pravega_jobs.frames.decoding import decoding_of
from pravega_jobs.frames.options import FrameOptions

STREAM = StreamName("shop", "changes")
COLUMNS = "id long, name string, weight double, _change_type string"


def event(kind: str, data: list[dict[str, Any]] | None, old: list[dict[str, Any]] | None = None, **more: Any) -> bytes:
    """An event as Canal writes it."""
    facts = {"database": "inventory", "table": "products", "es": 1589373515000, "ts": 1589373515477, "id": 3}
    kinds = {"pkNames": ["id"], "sqlType": {"id": 4}, "mysqlType": {"id": "INTEGER"}, "isDdl": False, "sql": ""}
    return json.dumps({"type": kind, "data": data, "old": old, **facts, **kinds, **more}).encode()


def product(id_: str, name: str | None, weight: str | None) -> dict[str, Any]:
    return {"id": id_, "name": name, "weight": weight}


def read(*events: bytes, columns: str = COLUMNS, **options: Any) -> list[dict[str, Any]]:
    given = {"decode": "canal-json", "columns": columns, "key": "id"} | options
    decoding = decoding_of(FrameOptions.parse(given), STREAM, None)
    block = pa.array(list(events), pa.binary())
    rows: list[dict[str, Any]] = decoding.batch(block, np.arange(len(events)), SegmentId(STREAM, 0, 0)).to_pylist()
    return rows


def row(id_: int, name: str | None, weight: float | None, kind: str) -> dict[str, Any]:
    return {"id": id_, "name": name, "weight": weight, "_change_type": kind}


def test_each_row_of_an_event_is_a_change_and_definitions_are_none():
    found = read(
        event("INSERT", [product("101", "scooter", "3.14"), product("102", None, None)]),
        event("UPDATE", [product("101", "scooter", "5.18")], [{"weight": "3.14"}]),
        event("CREATE", None, isDdl=True, sql="CREATE TABLE other (id int)"),
        event("DELETE", [product("102", None, None)]),
    )
    assert found == [
        row(101, "scooter", 3.14, "insert"),
        row(102, None, None, "insert"),
        row(101, "scooter", 5.18, "update_postimage"),
        row(102, None, None, "delete"),
    ]


def test_the_row_before_an_update_has_the_values_that_old_has_not():
    columns = "id long, name string, weight double"
    [found] = read(
        event("UPDATE", [product("101", "scooter", None)], [{"name": None, "weight": "3.14"}]),
        columns=f"before struct<{columns.replace(' ', ': ').replace(',:', ',')}>, "
        f"after struct<{columns.replace(' ', ': ').replace(',:', ',')}>, op string",
        changes="envelope",
        key="",
    )
    assert found == {
        "before": {"id": 101, "name": None, "weight": 3.14},
        "after": {"id": 101, "name": "scooter", "weight": None},
        "op": "u",
    }


def test_an_update_of_the_key_removes_the_old_row():
    found = read(event("UPDATE", [product("7", "a", "1")], [{"id": "6"}]))
    assert [(one["id"], one["_change_type"]) for one in found] == [(6, "delete"), (7, "insert")]


def test_keys_that_move_within_one_event_keep_their_last_change():
    found = read(event("UPDATE", [product("3", "b", "2"), product("2", "a", "1")], [{"id": "2"}, {"id": "1"}]))
    assert [(one["id"], one["name"], one["_change_type"]) for one in found] == [
        (3, "b", "insert"),
        (1, None, "delete"),
        (2, "a", "insert"),
    ]


def test_values_are_read_from_their_texts():
    values = {
        "id": "1",
        "price": "12.50",
        "day": "2020-05-13",
        "at": "2020-05-13 20:13:00.123",
        "flag": "1",
        "raw": "\u0001ÿ",
        "big": "9223372036854775807",
        "note": "2020-05-13",
    }
    types = "price decimal(10,2), day date, at timestamp_ntz, flag boolean, raw binary, big long, note string"
    [found] = read(
        event("INSERT", [values]),
        columns=f"id int, {types}, _change_type string, _source_table string, _source_db string, _source_ts timestamp",
    )
    assert found["price"] == Decimal("12.50")
    assert (found["day"], found["at"]) == (date(2020, 5, 13), datetime.fromisoformat("2020-05-13T20:13:00.123"))
    assert (found["flag"], found["raw"], found["big"]) == (True, b"\1\xff", 2**63 - 1)
    assert (found["note"], found["_source_table"], found["_source_db"]) == ("2020-05-13", "products", "inventory")
    assert found["_source_ts"].timestamp() == 1589373515


def test_one_table_of_several_is_read():
    other = event("INSERT", [product("1", "b", "1")], table="orders")
    mine = event("INSERT", [product("2", "a", "1")])
    assert [one["id"] for one in read(other, mine, table="products")] == [2]
    with pytest.raises(ConfigurationError, match="the events are of several tables"):
        read(other, mine)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (b"no json", "cannot be read as a change event of Canal"),
        (b'{"op":"c","after":{"id":1}}', "it has no type"),
        (event("INSERT", None), "it has no data"),
        (event("UPDATE", [product("1", "a", "1")]), "old must have as many rows"),
        (event("MERGE", [product("1", "a", "1")]), "its type is 'MERGE'"),
        (event("INSERT", [product("1.5", "a", "1")]), "has '1.5', which is not a whole number"),
    ],
)
def test_what_is_no_change_of_canal_is_refused_or_left_out(wrong, reason):
    good = event("INSERT", [product("1", "a", "1")])
    with pytest.raises(MalformedEventError, match=reason):
        read(good, wrong)
    assert read(good, wrong, on_error="drop") == [row(1, "a", 1.0, "insert")]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"columns": ""}, "decode=canal-json needs the columns"),
        ({"columns": "id long, at timestamp, _change_type string"}, "Canal writes times without a zone"),
        ({"schema_text": "{}"}, "'schema_text' has no use with decode=canal-json"),
        ({"schema_registry_uri": "http://localhost:1"}, "'schema_registry_uri' has no use with decode=canal-json"),
    ],
)
def test_options_that_canal_cannot_follow_are_refused(options, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        read(**options)
