"""Rows landed in partitioned tables of Delta and Iceberg, on the disk and in a store, judged by other readers.

What they have in common with tables without partitions is in `test_landing_contract`.
"""

from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.transforms import DayTransform
from tests.integration.pravega_jobs.landing_job import CONSUMER, IcebergLake, landing, new_lake, rows
from tests.integration.pravega_jobs.upkeep_job import files_of, kept_up, stored

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing import Action, DeltaFolder, land

ROWS = pa.table(
    {
        "id": pa.array([1, 2, None, 1], pa.int32()),
        "name": ["a/b %é=", None, "x", "a/b %é="],
        "day": pa.array([date(2026, 1, 2), date(1969, 12, 31), None, date(2026, 1, 2)]),
        "at": pa.array([10**15, -1, None, 10**15], pa.timestamp("us", "UTC")),
        "flag": [True, False, None, True],
        "value": [1, 2, 3, 4],
    }
)
LESS = ROWS.drop_columns("id")
FUNCTIONS = ["bucket(4, id)", "truncate(2, name)", "year(day)", "month(at)", "hour(at)", "flag", "day", "_interval"]
OWN = {name: pa.array([], pa.string()) for name in ("_consumer", "_interval")}


@pytest.fixture
def iceberg(tmp_path) -> IcebergLake:
    lake: IcebergLake = new_lake("iceberg", f"{tmp_path}/lake")
    return lake


def put(value: Any, table: Any, name: str = "monday", **more: Any) -> Action:
    return land(value, table, landing(name).cuts, consumer=CONSUMER, interval=name, **more).action


def found(table: Any) -> list[dict[str, Any]]:
    """The interval and the row of each value, as Polars finds them."""
    read = pl.scan_delta(table.path) if isinstance(table, DeltaFolder) else pl.scan_iceberg(table.load())
    return sorted(read.drop("_consumer").collect().to_dicts(), key=lambda row: (row["_interval"], row["value"]))


def expected(given: pa.Table, name: str) -> list[dict[str, Any]]:
    return [dict.fromkeys(ROWS.column_names) | row | {"_interval": name} for row in given.to_pylist()]


@pytest.fixture(params=["delta", "delta-s3", "iceberg"])
def parted(request, tmp_path) -> tuple[Any, list[str]]:
    """A table that is not made yet, and its partitions."""
    kind = str(request.param)
    if kind == "iceberg":
        return new_lake(kind, f"{tmp_path}/lake").table(), FUNCTIONS
    where = request.getfixturevalue("s3") if kind == "delta-s3" else str(tmp_path)
    return DeltaFolder(f"{where}/orders"), ["day", "name", "id", "flag", "_interval"]


def test_rows_of_hard_values_are_found_in_their_partitions(parted):
    table, partition_by = parted
    assert put(ROWS, table, partition_by=partition_by) is Action.APPEND
    assert put(ROWS, table, partition_by=partition_by) is Action.NOTHING
    assert put(ROWS, table, "sunday") is Action.APPEND
    assert put(ROWS[:0], table, "a day without rows") is Action.APPEND
    assert put(ROWS[:2], table, generation=2) is Action.REPLACE
    assert put(LESS, table, "less", new_columns="ignore") is Action.APPEND
    assert put(LESS[1:], table, "less", new_columns="ignore", generation=2) is Action.REPLACE
    assert found(table) == expected(LESS[1:], "less") + expected(ROWS[:2], "monday") + expected(ROWS, "sunday")
    held = {each.interval: each.rows for each in table.holdings()}
    assert held == {"monday": 2, "sunday": 4, "less": 3, "a day without rows": 0}
    with pytest.raises(LandingError, match=f"has the partitions .*{partition_by[-1]}, and partition_by names day: "):
        put(ROWS, table, "tuesday", partition_by=["day"])


def test_delta_notes_the_values_of_each_file_and_its_folder(tmp_path):
    table = DeltaFolder(str(tmp_path))
    put(ROWS[:3], table, partition_by=["day", "id", "flag"])
    actions = pa.table(DeltaTable(table.path).get_add_actions()).to_pylist()
    noted = {each["path"].partition("/")[2].rpartition("/")[0]: each["partition"] for each in actions}
    null = "__HIVE_DEFAULT_PARTITION__"
    assert noted == {
        "day=2026-01-02/id=1/flag=true": {"day": date(2026, 1, 2), "id": 1, "flag": True},
        "day=1969-12-31/id=2/flag=false": {"day": date(1969, 12, 31), "id": 2, "flag": False},
        f"day={null}/id={null}/flag={null}": {"day": None, "id": None, "flag": None},
    }
    assert found(table) == expected(ROWS[:3], "monday")


def test_iceberg_finds_rows_by_partitions_that_statistics_do_not_tell(iceberg):
    table = iceberg.table()
    put(ROWS, table, partition_by=FUNCTIONS)
    assert len(files_of(table)) == 3
    for condition, count in (("id = 1", 2), ("name = 'x'", 1), ("day < '1970-01-01'", 1), ("flag = true", 2)):
        tasks = list(table.load().scan(row_filter=condition).plan_files())
        assert (len(tasks), table.load().scan(row_filter=condition).to_arrow().num_rows) == (1, count)


def test_tables_that_others_made_with_partitions_are_followed(tmp_path, iceberg):
    empty = pa.table({name: ROWS[name][:0] for name in ROWS.column_names} | OWN)
    delta = DeltaFolder(f"{tmp_path}/orders")
    write_deltalake(delta.path, empty, partition_by=["name", "day"])
    table = iceberg.table()
    put(ROWS, table, "before")
    with table.load().update_spec() as spec:
        spec.add_field("day", DayTransform(), "the_day")
        spec.add_field("id", "bucket[3]")
    put(ROWS, table, "between")
    with table.load().update_spec() as spec:
        spec.remove_field("the_day")
    for each in (delta, table):
        assert put(ROWS, each) is Action.APPEND
        assert put(ROWS[:1], each, generation=2) is Action.REPLACE
    assert found(delta) == expected(ROWS[:1], "monday")
    assert found(table) == expected(ROWS, "before") + expected(ROWS, "between") + expected(ROWS[:1], "monday")
    assert {file["spec_id"] for file in table.load().inspect.files().to_pylist()} == {0, 1, 2}


@pytest.mark.parametrize("kind", ["delta-parts", "iceberg-parts"])
def test_upkeep_keeps_partitions_and_rows_are_replaced_afterwards(tmp_path, kind):
    lake = new_lake(kind, f"{tmp_path}/lake")
    lake.partition_by = ("id",) if kind == "delta-parts" else ("bucket(4, id)",)
    table = lake.table()
    for name in ("monday", "sunday", "tuesday"):
        lake.land(table, landing(name), 1)
    done = kept_up(table)
    assert (done.compacted_files, done.new_files, len(files_of(table))) == (6, 2, 2)
    assert lake.contents(table) == sorted(rows("monday", 1) + rows("sunday", 1) + rows("tuesday", 1))
    assert lake.land(table, landing("sunday"), 9) is Action.NOTHING
    assert lake.land(table, landing("sunday", generation=2), 2) is Action.REPLACE
    assert lake.contents(table) == sorted(rows("monday", 1) + rows("sunday", 2) + rows("tuesday", 1))
    kept_up(table)
    assert lake.contents(table) == sorted(rows("monday", 1) + rows("sunday", 2) + rows("tuesday", 1))
    assert stored(table) == files_of(table)
    folders = [each for each in Path(lake.where).rglob("landing-*") if each.is_dir()]
    assert all(any(each.rglob("*.parquet")) for each in folders)
    assert lake.leftovers(table) == []


@pytest.mark.parametrize(
    ("kind", "partition_by", "complaint"),
    [
        ("delta", ["none"], "partition_by has none, and the rows have price"),
        ("delta", ["price"], "the partition column price is double"),
        ("delta", ["price", "at", "text", "_consumer", "_interval"], "the partition column price is double"),
        ("delta", ["text", "_consumer", "_interval"], "column 'text' has an empty text"),
        ("iceberg", ["day(none)"], r"partition_by has day\(none\), and the rows have price"),
        ("iceberg", ["day(text)"], "text is string, which it does not take"),
        ("iceberg", ["price"], "price is double, which it does not take"),
        ("iceberg", ["bucket(4, price)"], "price is double, which it does not take"),
    ],
)
def test_partitions_that_a_table_cannot_have_are_refused_by_name(tmp_path, kind, partition_by, complaint):
    lake = new_lake(kind, f"{tmp_path}/lake")
    given = pa.table({"price": [1.5], "text": [""], "at": pa.array([0], pa.timestamp("us", "UTC"))})
    with pytest.raises(LandingError, match=complaint):
        put(given, lake.table(), partition_by=partition_by)
    assert lake.table().holdings() == lake.leftovers(lake.table()) == []
    assert lake.table().columns() is None


def test_files_that_were_written_for_other_partitions_are_refused(tmp_path):
    for kind in ("delta-parts", "iceberg-parts"):
        lake = new_lake(kind, f"{tmp_path}/{kind}")
        table = lake.table()
        with lake.staged(table, landing(), 1) as staged:
            if isinstance(table, DeltaFolder):
                write_deltalake(table.path, pa.table({"id": pa.array([], pa.int32())} | OWN), partition_by=["id"])
            else:
                table.load().update_spec().remove_field("id").commit()
            with pytest.raises(LandingError, match="were written for .*Run it again"):
                table.commit(staged, landing())
        assert table.rows() == {}


def test_a_kind_without_partitions_refuses_them(tmp_path):
    with pytest.raises(ConfigurationError, match="partition_by is for tables of Delta and Iceberg"):
        put(ROWS, f"parquet:{tmp_path}", partition_by=["day"])
