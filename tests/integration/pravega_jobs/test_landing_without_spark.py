"""Tables of this process in tables of each kind, without Spark: the same rules, and types that all readers know."""

import datetime as dt
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.integration.pravega_jobs.landing_job import CONSUMER, Lake, landing, new_lake, rows

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing import Action, land
from pravega_jobs.landing.local_rows import LocalRows
from pravega_jobs.landing.locations import FolderLocation

AT = dt.datetime(2026, 1, 1, 1, 2, 3, 123456, tzinfo=dt.UTC)
# Types that tables do not have, beside the types that they become.
GIVEN: dict[str, pa.Array] = {
    "u32": pa.array([2**32 - 1, None], pa.uint32()),
    "text": pa.array(["a\tb\\", None]).dictionary_encode(),
    "large": pa.array(["ä", "NULL"], pa.large_string()),
    "raw": pa.array([b"\0\xff", None], pa.large_binary()),
    "berlin": pa.array([AT, None], pa.timestamp("ns", "Europe/Berlin")),
    "local": pa.array([AT.replace(tzinfo=None), None], pa.timestamp("us")),
    "day": pa.array([AT.date(), None], pa.date64()),
    "price": pa.array([Decimal("-1.50"), None], pa.decimal128(10, 2)),
    "real": pa.array([float("nan"), None], pa.float32()),
    "flag": pa.array([True, None]),
}
NESTED: dict[str, pa.Array] = {
    "list": pa.array([[1, None], []], pa.large_list(pa.uint16())),
    "inner": pa.array([{"at": AT, "name": "x"}, None], pa.struct([("at", pa.timestamp("ns")), ("name", pa.string())])),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
}


@pytest.fixture(params=["parquet", "delta", "iceberg", "postgres"])
def lake(request: pytest.FixtureRequest, tmp_path: Any) -> Lake:
    kind = str(request.param)
    where = request.getfixturevalue("postgres_dsn") if kind == "postgres" else f"{tmp_path}/lake"
    made: Lake = new_lake(kind, where)
    return made


def put(value: Any, table: Any, name: str = "monday", **more: Any) -> Action:
    return land(value, table, landing(name).cuts, consumer=CONSUMER, interval=name, **more).action


def three(value: int) -> pa.Table:
    return pa.table({"id": pa.array([value, value, None], pa.int32())})


def unread() -> pa.RecordBatchReader:
    """Batches that nobody may ask for."""

    def batches() -> Iterator[pa.RecordBatch]:
        raise AssertionError("the rows were read")
        yield

    return pa.RecordBatchReader.from_batches(three(1).schema, batches())


def test_a_table_of_any_library_lands_once_by_the_same_rules(lake):
    table = lake.table()
    assert put(three(1), table) is Action.APPEND
    assert put(unread(), table) is Action.NOTHING
    assert put(pl.LazyFrame(pl.from_arrow(three(2))), table, "sunday") is Action.APPEND
    assert put(three(3).to_pandas(types_mapper=pd.ArrowDtype), table, generation=2) is Action.REPLACE
    assert put(three(0).to_reader(1), table, "tuesday") is Action.APPEND
    with pytest.raises(LandingError, match="generation 2"):
        put(unread(), table)
    assert put(three(0)[:0], table, "a day without rows") is Action.APPEND
    assert lake.contents(table) == sorted(rows("monday", 3) + rows("sunday", 2) + rows("tuesday", 0))
    assert {(each.interval, each.rows) for each in table.holdings()} == {
        ("monday", 3),
        ("sunday", 3),
        ("tuesday", 3),
        ("a day without rows", 0),
    }
    assert lake.leftovers(table) == []


def test_values_of_every_type_are_found_by_other_readers(lake):
    table, is_files = lake.table(), hasattr(lake, "staging")
    given = pa.table(GIVEN | (NESTED if is_files else {}))
    assert put(given, table) is Action.APPEND
    if is_files:
        files = [str(each) for each in Path(lake.where).rglob("part-*.parquet")]
        found = duckdb.read_parquet(files).to_arrow_table().to_pylist()
    else:
        names = ", ".join(GIVEN)
        found = [dict(zip(GIVEN, row, strict=True)) for row in lake.ask(f"select {names} from {table.table}")]
    assert [{name: plain(row[name]) for name in given.column_names} for row in found] == [
        {name: plain(value) for name, value in row.items()} for row in given.to_pylist()
    ]


def plain(value: Any) -> Any:
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, dt.datetime) and value.tzinfo:
        return value.astimezone(dt.UTC)
    return str(value) if isinstance(value, float) else value


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        (pa.nulls(1), "has no type, as pandas and Polars"),
        (pa.array([1], pa.uint64()), "is uint64, which no kind of table has"),
        (pa.array([1], pa.duration("s")), "which no kind of table has"),
        (pa.array([1], pa.timestamp("ns")), "has a value that timestamp.us., as tables have it, does not hold"),
    ],
)
def test_a_column_that_no_table_has_is_refused_by_name(tmp_path, column, complaint):
    lake = new_lake("delta", f"{tmp_path}/lake")
    with pytest.raises(LandingError, match=f"column 'odd' .*{complaint}"):
        put(pa.table({"odd": column}), lake.table())
    assert lake.table().holdings() == lake.leftovers(lake.table()) == []


def test_rows_that_are_no_table_are_refused_before_anything_is_asked():
    with pytest.raises(ConfigurationError, match="but must be a pyarrow"):
        put([{"id": 1}], "postgresql://nobody@127.0.0.1:1/none#orders")


def test_many_rows_become_several_files_of_large_groups(tmp_path):
    batch = pa.record_batch({"raw": [os.urandom(1 << 20) for _ in range(16)]})
    reader = pa.RecordBatchReader.from_batches(batch.schema, (batch for _ in range(18)))
    staged = LocalRows(reader).write_files(landing(), FolderLocation(tmp_path / "files"), {"_consumer": CONSUMER})
    assert (staged.rows, len(staged.files)) == (288, 2)
    assert staged.schema() == pa.schema([("raw", pa.binary()), ("_consumer", pa.string())])
