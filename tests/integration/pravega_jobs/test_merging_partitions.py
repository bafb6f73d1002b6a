"""Changes merged into partitioned tables of Delta and Iceberg, on the disk and in a store, judged by other readers.

What they have in common with tables without partitions is in `test_merging_lakehouse`.
"""

from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.transforms import IdentityTransform
from tests.faults.call_races import right_before
from tests.integration.pravega_jobs.history_job import random_changes, replayed, staged, versions_of
from tests.integration.pravega_jobs.landing_job import new_lake
from tests.integration.pravega_jobs.merging_job import (
    PARTITIONS,
    Model,
    columns_of,
    merge,
    merge_here,
    merge_of,
    random_range,
    rows_of,
)
from tests.integration.pravega_jobs.upkeep_job import kept_up

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing import Action, DeltaFolder
from pravega_jobs.merging import Evolution, merge_into

DISK = ["delta-parts", "iceberg-parts"]


@pytest.fixture
def kind(request) -> str:
    return str(getattr(request, "param", "delta-parts"))


@pytest.fixture
def table(kind, request, tmp_path) -> Any:
    if kind == "delta-s3-parts":
        return DeltaFolder(f"{request.getfixturevalue('s3')}/orders")
    return new_lake(kind, f"{tmp_path}/lake").table()


@pytest.fixture
def parted(kind) -> Any:
    """Merges with the partitions of the table."""
    return partial(merge_of, partition_by=PARTITIONS[kind])


def judged(table: Any, *where: Any) -> dict[int, tuple[Any, ...]]:
    """The rows as Polars finds them; a row that is there twice fails."""
    found = pl.scan_delta(table.path) if isinstance(table, DeltaFolder) else pl.scan_iceberg(table.load())
    rows = found.filter(*where).select("id", "n", "big").collect().rows()
    assert len(rows) == len({row[0] for row in rows})
    return {row[0]: row[1:] for row in rows}


def partitions(table: DeltaFolder) -> list[Any]:
    """The partition of each file of a Delta table that is split by `big`."""
    return sorted((each["partition.big"] for each in actions(table)), key=str)


def actions(table: DeltaFolder) -> list[dict[str, Any]]:
    return list(pa.table(DeltaTable(table.path).get_add_actions(flatten=True)).to_pylist())


@pytest.mark.parametrize("kind", [*DISK, "delta-s3-parts"], indirect=True)
def test_random_ranges_give_the_table_of_a_model(table, parted):
    model = Model()
    for number in range(4):
        changes = random_range(number, 2)
        way = merge_here if number % 2 else merge
        assert way(table, parted(number), columns_of(changes)).action is Action.MERGE
        assert merge(table, parted(number), []).action is Action.NOTHING
        model.take(changes)
        assert judged(table) == rows_of(table) == model.shown()
    # Files with other partitions than their rows would be left out by what readers know of partitions.
    some = {id_: row for id_, row in model.shown().items() if row[1] == "text 3"}
    assert judged(table, pl.col("big") == "text 3") == some != {}


def test_a_row_moves_with_its_partition_and_others_stay(table, parted):
    merge(table, parted(0), [(1, 10, "a", 1), (2, 20, "a", 2), (3, 30, "b %é/", 3), (4, 40, None, 4)])
    assert partitions(table) == [None, "a", "b %é/"]
    merge(table, parted(1), [(1, 11, "b %é/", 11), (3, 31, ..., 12), (4, 41, "c", 13), (5, 50, "b %é/", 14)])
    expected = {1: (11, "b %é/"), 2: (20, "a"), 3: (31, "b %é/"), 4: (41, "c"), 5: (50, "b %é/")}
    assert judged(table) == rows_of(table) == expected
    # Rows that move and new rows are in one file; the row that stays is in the file that replaces its old one.
    assert partitions(table) == ["a", "b %é/", "b %é/", "c"]
    before = {each["path"] for each in actions(table) if each["partition.big"] == "a"}
    merge(table, parted(2), [(3, None, None, 21), (1, None, None, 22), (4, 42, None, 23)])
    assert judged(table) == {2: (20, "a"), 4: (42, None), 5: (50, "b %é/")}
    assert before <= {each["path"] for each in actions(table)}
    assert all(each["partition.big"] != "c" for each in actions(table))


@pytest.mark.parametrize("kind", DISK, indirect=True)
def test_soft_deletes_stay_in_their_partitions_in_any_order(table, parted):
    soft = partial(parted, deletes="soft")
    merge(table, soft(3), [(1, None, None, 31), (2, 25, "new", 32)], in_order=False)
    merge(table, soft(1), [(1, 10, "a", 11), (2, 20, "b", 12), (5, 50, "e", 13)], in_order=False)
    merge(table, soft(9), [(5, None, None, 91), (1, 11, "back", 92)], in_order=False)
    expected = {1: (11, "back", False), 2: (25, "new", False), 5: (50, "e", True)}
    assert rows_of(table, "n", "big", "_deleted") == expected


@pytest.mark.parametrize("kind", DISK, indirect=True)
def test_versions_of_rows_are_split_by_being_current(kind, table):
    ranges = [random_changes(number, 5) for number in range(3)]
    for number, changes in enumerate(ranges):
        split = ["_current", "big"] if kind == "delta-parts" else ["_current", "month(_valid_from)"]
        merge(table, merge_of(number, history="scd2", partition_by=split), staged(changes))
    assert versions_of(table) == replayed([each for changes in ranges for each in changes])


@pytest.mark.parametrize("kind", DISK, indirect=True)
def test_a_partitioned_table_gets_columns_and_is_kept_up(table, parted):
    merge(table, parted(0), [(1, 10, "a", 1), (2, 20, "b", 2)])
    wider = columns_of([(1, 11, "b", 11), (3, 30, "a", 12)]).append_column("extra", pa.array([7, 8], pa.int32()))
    assert merge(table, parted(1, new_columns=Evolution.ADD), wider).counts.new_columns == ["extra"]
    merge(table, parted(2), columns_of([(2, 21, "b", 21), (4, 40, "d", 22)]).drop_columns(["big"]))
    kept_up(table)
    merge(table, parted(3), [(1, 12, None, 31)])
    found = {1: (12, None, 7), 2: (21, "b", None), 3: (30, "a", 8), 4: (40, None, None)}
    assert rows_of(table, "n", "big", "extra") == found
    assert judged(table) == {id_: row[:2] for id_, row in found.items()}


@pytest.mark.parametrize("kind", DISK, indirect=True)
def test_a_run_that_ends_before_its_commit_has_changed_nothing(kind, table, parted, tmp_path):
    merge(table, parted(0), [(1, 10, "a", 1), (2, 20, "b", 2)])
    call = "create_write_transaction" if kind == "delta-parts" else "commit_table"

    def end() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), right_before(call, end):
        merge(table, parted(1), [(1, 11, "b", 11), (2, None, None, 12)])
    assert judged(table) == {1: (10, "a"), 2: (20, "b")}
    assert merge(table, parted(1), [(1, 11, "b", 11), (2, None, None, 12)]).action is Action.MERGE
    assert judged(table) == {1: (11, "b")}
    assert list(tmp_path.rglob("staged-*")) == []


def test_iceberg_files_of_older_partitions_are_replaced_by_newer_ones(tmp_path):
    table = new_lake("iceberg", f"{tmp_path}/lake").table()
    merge(table, merge_of(0), [(each, each, f"text {each % 2}", each) for each in range(6)])
    with table.load().update_spec() as spec:
        spec.add_field("big", IdentityTransform())
    merge(table, merge_of(1), [(1, 11, "text 7", 11), (9, 90, "text 0", 12)])
    expected = {0: (0, "text 0"), 1: (11, "text 7"), 2: (2, "text 0"), 3: (3, "text 1"), 4: (4, "text 0")}
    expected |= {5: (5, "text 1"), 9: (90, "text 0")}
    assert judged(table) == rows_of(table) == expected
    found = table.load().inspect.files().to_pylist()
    assert sorted((file["partition"]["big"], file["record_count"]) for file in found if file["spec_id"] == 1) == [
        ("text 0", 1),
        ("text 0", 3),
        ("text 1", 2),
        ("text 7", 1),
    ]


def test_tables_that_others_made_with_partitions_are_followed(tmp_path):
    table = DeltaFolder(f"{tmp_path}/orders")
    rows = pa.table({"id": pa.array([1, 2], "int32"), "n": pa.array([1, 2], "int64"), "big": ["a b", None]})
    write_deltalake(table.path, rows.append_column("_sequence", pa.nulls(2, pa.binary())), partition_by=["id"])
    merge(table, merge_of(0), [(1, 10, "x", 1), (2, None, None, 2), (3, 30, "z", 3)])
    assert judged(table) == {1: (10, "x"), 3: (30, "z")}
    before = {each["path"] for each in actions(table)}
    merge(table, merge_of(1), [(3, 31, "z", 11)])
    # The log tells the key of each file.
    assert len(before & {each["path"] for each in actions(table)}) == 1


def test_a_file_that_another_library_named_is_not_doubled_but_refused(tmp_path):
    table = DeltaFolder(f"{tmp_path}/orders")
    rows = pa.table({"id": pa.array([1], "int32"), "n": pa.array([1], "int64"), "big": ["a"]})
    write_deltalake(table.path, rows.append_column("_sequence", pa.nulls(1, pa.binary())), partition_by=["big"])
    Path(f"{table.path}/big=a").rename(f"{table.path}/big=é")
    [log] = Path(f"{table.path}/_delta_log").glob("*.json")
    log.write_text(log.read_text().replace("big=a/", "big=é/"))
    with pytest.raises(LandingError, match="has the file 'big=é/part.*, a path that is written differently"):
        merge(table, merge_of(0), [(1, 10, "b", 1)])
    assert rows_of(table, "n") == {1: (1,)}
    assert list(Path(table.path).glob("merge-*")) == []


@pytest.mark.parametrize(
    ("kind", "partition_by", "complaint"),
    [
        ("delta", ["none"], "partition_by has none, and the rows have id, n, big, _sequence"),
        ("delta", ["_sequence"], "the partition column _sequence is binary"),
        ("iceberg", ["day(none)"], r"partition_by has day\(none\), and the rows have id, n, big, _sequence"),
        ("iceberg", ["day(big)"], "big is string, which it does not take"),
    ],
)
def test_partitions_that_a_table_cannot_have_are_refused_by_name(tmp_path, kind, partition_by, complaint):
    table = new_lake(kind, f"{tmp_path}/lake").table()
    with pytest.raises(LandingError, match=complaint):
        merge(table, merge_of(0, partition_by=partition_by), [(1, 10, "a", 1)])
    assert table.columns() is None


@pytest.mark.parametrize("kind", DISK, indirect=True)
def test_what_a_partitioned_table_does_not_take_changes_nothing(kind, table, parted):
    merge(table, parted(0), [(1, 10, "a", 1)])
    with pytest.raises(LandingError, match=r"has the partitions .*big.*, and partition_by names id: they are not"):
        merge(table, merge_of(1, partition_by=["id"]), [(1, 11, "b", 11)])
    if kind == "delta-parts":
        with pytest.raises(LandingError, match="column 'big' has an empty text, which Delta reads as null"):
            merge(table, parted(1), [(1, 11, "", 11)])
    assert judged(table) == {1: (10, "a")}
    merge(table, merge_of(1), [(1, 11, "b", 11)])
    assert judged(table) == {1: (11, "b")}


def test_partitions_that_no_such_table_has_are_refused_before_a_merge(tmp_path):
    cuts = merge_of(0).landing.cuts
    more: dict[str, Any] = {"key": ["id"], "consumer": "merger", "interval": "range 0"}
    with pytest.raises(ConfigurationError, match=r"has day\(at\), and Delta has partitions by columns only"):
        merge_into(columns_of([]), f"delta:{tmp_path}", cuts, partition_by=["day(at)"], **more)
    rows = columns_of([(1, 10, "a", 1)])
    merge_into(rows, f"delta:{tmp_path}/orders", cuts, partition_by=["big"], **more)
    assert partitions(DeltaFolder(f"{tmp_path}/orders")) == ["a"]
