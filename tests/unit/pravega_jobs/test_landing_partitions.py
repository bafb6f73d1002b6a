"""Rows split by the partitions of their table, the texts that name them, and what is refused by name."""

import pickle
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from pyiceberg.io.pyarrow import _ConvertToIcebergWithoutIDs, visit_pyarrow
from pyiceberg.transforms import parse_transform

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing import table_of
from pravega_jobs.landing.delta_partitions import DeltaPartition, text_of
from pravega_jobs.landing.iceberg_partitions import IcebergPartition
from pravega_jobs.landing.locations import FolderLocation
from pravega_jobs.landing.parquet_files import write
from pravega_jobs.landing.partition_by import PartitionBy, partitions_of
from pravega_jobs.landing.splitting import Split
from pravega_jobs.landing.targets import check_partitions

# Microseconds since 1970.
TIMES = [1510871468000000, -1, None, -(10**15)]
# Values with which functions are wrong when they round towards zero, or count bytes for characters.
VALUES = {
    "int": pa.array([34, -1, None, -17], pa.int32()),
    "long": pa.array([34, -1, None, -(2**40)]),
    "text": pa.array(["iceberg", "ä€😀xyz", None, ""]),
    "raw": pa.array([b"\0\1\2\3xyz", None, b"", b"\xff"]),
    "day": pa.array([date(2017, 11, 16), date(1969, 12, 31), None, date(1, 1, 1)]),
    "local": pa.array(TIMES, pa.timestamp("us")),
    "at": pa.array(TIMES, pa.timestamp("us", "UTC")),
    "price": pa.array([Decimal("14.20"), Decimal("-10.65"), None, Decimal("0.01")], pa.decimal128(9, 2)),
}
FUNCTIONS = ["identity", "bucket[16]", "truncate[10]", "year", "month", "day", "hour", "void"]


@dataclass(frozen=True)
class Remainder:
    """A field of partitions: the remainder of a number, in a folder of its own."""

    column: str
    by: int

    @property
    def name(self) -> str:
        return f"{self.column}_{self.by}"

    def values(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        return pa.chunked_array([pa.array([None if each is None else each % self.by for each in column.to_pylist()])])

    def folder(self, value: Any) -> str:
        return f"{self.name}={value}"


def test_partitions_are_named_by_columns_and_functions_of_them():
    texts = ["departed", "day(departed)", " bucket( 16 ,id) ", "truncate(4, a column)", "f(x) is a column"]
    assert partitions_of(texts) == (
        PartitionBy("departed"),
        PartitionBy("departed", "day"),
        PartitionBy("id", "bucket", 16),
        PartitionBy("a column", "truncate", 4),
        PartitionBy("f(x) is a column"),
    )
    assert [str(each) for each in partitions_of(texts[1:4])] == [texts[1], "bucket(16, id)", texts[3]]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["week(day)"], "'week.day.': write a column, year.column."),
        (["bucket(id)"], "'bucket.id.'"),
        (["bucket(0, id)"], "'bucket.0, id.'"),
        (["day(3, at)"], "'day.3, at.'"),
        ([""], "an empty text"),
        (["id", "id"], "id twice"),
        ("id", "a list of texts, not 'id': write ..id.."),
    ],
)
def test_a_text_that_is_no_partition_is_refused(given, complaint):
    with pytest.raises(ConfigurationError, match=f"partition_by .*{complaint}"):
        partitions_of(given)


@pytest.mark.parametrize(
    ("table", "given", "complaint"),
    [
        ("parquet:/folder", ["id"], "is for tables of Delta and Iceberg, not for Parquet"),
        ("postgresql:///db#orders", ["id"], "not for PostgreSQL"),
        ("delta:/folder", ["id", "day(at)"], r"has day\(at\), and Delta has partitions by columns only"),
        ("delta:/folder", ["id"], None),
        ("iceberg:lake/shop.orders", ["day(at)"], None),
        ("parquet:/folder", [], None),
    ],
)
def test_a_kind_of_table_refuses_partitions_that_it_does_not_have(table, given, complaint):
    if complaint is None:
        check_partitions(table_of(table), given)
        return
    with pytest.raises(ConfigurationError, match=complaint):
        check_partitions(table_of(table), given)


@given(st.lists(st.tuples(st.none() | st.integers(-9, 9), st.none() | st.integers(0, 3)), min_size=1))
def test_each_row_is_in_the_part_of_its_values_and_in_its_order(pairs):
    rows = pa.table(
        {"a": pa.array([a for a, _ in pairs], pa.int64()), "b": pa.array([b for _, b in pairs], pa.int64())}
    )
    rows = rows.append_column("at", pa.array(range(len(pairs))))
    split = Split((Remainder("a", 3), Remainder("none", 2), Remainder("b", 4)))
    expected = dict[tuple[Any, ...], list[int]]()
    for at, (a, b) in enumerate(pairs):
        expected.setdefault((None if a is None else a % 3, None, b), []).append(at)
    parts = split.parts(rows)
    assert {key: part["at"].to_pylist() for key, part in parts} == expected
    assert len(parts) == len(expected)


@pytest.mark.parametrize("name", VALUES)
def test_functions_of_columns_are_those_of_iceberg(name):
    column = VALUES[name]
    kind: Any = visit_pyarrow(column.type, _ConvertToIcebergWithoutIDs())
    plain = column.cast({"date32[day]": pa.int32()}.get(str(column.type), column.type))
    plain = plain.cast(pa.int64()) if pa.types.is_timestamp(plain.type) else plain
    for function in FUNCTIONS:
        transform = parse_transform(function)
        if not transform.can_transform(kind):
            continue
        field = pickle.loads(pickle.dumps(IcebergPartition(f"{name}_part", name, function)))
        found = field.values(pa.chunked_array([column.slice(0, 2), column.slice(2)]))
        change = transform.transform(kind)
        assert found.to_pylist() == [None if each is None else change(each) for each in plain.to_pylist()]


def written(folder: Path, split: Split, groups: list[pa.Table], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The files of rows of which each batch is a group of its own."""
    monkeypatch.setattr("pravega_jobs.landing.parquet_files._GROUP_BYTES", 1)
    folder.mkdir()
    batches = [batch for group in groups for batch in group.combine_chunks().to_batches()]
    return list(write(batches, groups[0].schema, {}, FolderLocation(folder), None, split))


def test_partitions_that_come_again_get_one_file_and_many_get_more(tmp_path, monkeypatch):
    few = [pa.table({"id": range(start, start + 8)}) for start in (0, 8, 16)]
    files = written(tmp_path / "few", Split((Remainder("id", 4),)), few, monkeypatch)
    assert sorted((each.partition, each.rows) for each in files) == [((each,), 6) for each in range(4)]
    many = [pa.table({"id": range(40)}), pa.table({"id": range(40)})]
    files = written(tmp_path / "many", Split((Remainder("id", 40),)), many, monkeypatch)
    assert [sum(each.rows for each in files), len(files)] == [80, 16 + 2 * 24]
    days = [pa.table({"id": [day] * 3}) for day in range(40)]
    files = written(tmp_path / "days", Split((Remainder("id", 40),)), days, monkeypatch)
    assert [each.partition for each in files[:3]] == [(0,), (1,), (2,)]
    assert [each.rows for each in files] == [3] * 40


def test_files_lie_in_folders_of_their_values_without_these_columns(tmp_path, monkeypatch):
    rows = pa.table({"day": [date(2026, 1, 2), None], "name": ["a/b %é=", "x"], "id": [1, 2]})
    split = Split((DeltaPartition("day"), DeltaPartition("name")), leaves_out=True)
    first, second = written(tmp_path / "rows", split, [rows], monkeypatch)
    assert first.name.rpartition("/")[0] == "day=2026-01-02/name=a%2Fb%20%25%C3%A9%3D"
    assert second.name.rpartition("/")[0] == "day=__HIVE_DEFAULT_PARTITION__/name=x"
    assert parquet.ParquetFile(tmp_path / "rows" / first.name).read().to_pylist() == [{"id": 1}]
    assert [text_of(each) for each in (True, -5, date(26, 1, 2), None)] == ["true", "-5", "0026-01-02", None]


@pytest.mark.parametrize(("text", "complaint"), [("", "an empty text, which Delta reads as null"), ("ä" * 99, "255")])
def test_a_text_that_delta_cannot_have_as_partition_is_refused(text, complaint):
    with pytest.raises(LandingError, match=f"column 'name' has .*{complaint}"):
        DeltaPartition("name").folder(text)


def test_a_write_that_fails_leaves_all_of_its_files_abandoned(tmp_path, monkeypatch):
    ended = list[Any]()

    class Noted(FolderLocation):
        def sink(self, name: str) -> Any:
            sink = super().sink(name)
            return Watched(sink, ended)

    monkeypatch.setattr("pravega_jobs.landing.parquet_files._GROUP_BYTES", 1)
    good, bad = (pa.record_batch({"id": pa.array(ids, pa.int64())}) for ids in ([1, 2], [3]))

    def batches() -> Any:
        yield good
        raise LandingError("no more")

    with pytest.raises(LandingError, match="no more"):
        list(write(batches(), bad.schema, {}, Noted(tmp_path), None, Split((Remainder("id", 9),))))
    assert [error is not None for error in ended] == [True, True]


@dataclass
class Watched:
    """A file that notes the error with which it ends."""

    sink: Any
    ended: list[Any]

    def __enter__(self) -> Any:
        return self.sink.__enter__()

    def __exit__(self, *error: object) -> Any:
        self.ended.append(error[1])
        return self.sink.__exit__(*error)
