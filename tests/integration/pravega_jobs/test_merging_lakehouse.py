"""Real tables of Delta and Iceberg that changes are merged into: repeated, late or killed, no row goes back in time."""

import random
import subprocess
import sys
import threading
import time

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.integration.pravega_jobs.landing_job import land, landing, new_table
from tests.integration.pravega_jobs.merging_job import (
    SCHEMA,
    Model,
    columns_of,
    merge,
    merge_of,
    random_range,
    rows_of,
)

from aiopravega.errors import LandingError
from pravega_jobs.landing import Action, DeltaFolder
from pravega_jobs.merging import Evolution, Unsent, merge_changes
from pravega_jobs.merging.engine.chunks import chunks
from pravega_jobs.merging.engine.files import Merging


@pytest.fixture(params=["delta", "iceberg"])
def table(request, tmp_path):
    return new_table(request.param, tmp_path / "0")


def position(row):
    return int.from_bytes(row, "big")


def test_a_merge_applies_all_changes_and_a_repeated_range_does_nothing(table):
    first = merge(table, merge_of(0), [(1, 10, "a", 1), (2, 20, "b", 2), (3, 30, None, 3)])
    assert (first.counts.inserted, first.holding.rows) == (3, 3)
    second = merge(table, merge_of(1), [(1, 11, "x", 11), (2, None, None, 12), (4, 40, "d", 13), (9, None, None, 14)])
    counts = second.counts
    assert (counts.inserted, counts.updated, counts.deleted, counts.absent, counts.older) == (1, 1, 1, 1, 0)
    expected = {1: (11, "x"), 3: (30, None), 4: (40, "d")}
    assert rows_of(table) == expected
    again = merge(table, merge_of(1), [(3, 999, "never", 99)])
    assert (again.action, again.holding) == (Action.NOTHING, second.holding)
    assert rows_of(table) == expected
    assert [each.interval for each in sorted(table.holdings(), key=lambda each: each.interval)] == [
        "range 0",
        "range 1",
    ]
    assert table.rows() is None


def test_events_that_debezium_doubles_do_not_take_a_row_back(table):
    merge(table, merge_of(0), [(1, 10, "a", 1), (2, 20, "b", 5)])
    doubled = merge(table, merge_of(1), [(1, 5, "old", 0), (2, 20, "b", 5), (3, 1, "c", 6)])
    assert (doubled.counts.older, doubled.counts.inserted) == (2, 1)
    assert rows_of(table) == {1: (10, "a"), 2: (20, "b"), 3: (1, "c")}


def test_a_later_range_wins_at_one_place_of_the_log_and_repeats_do_not(table):
    merge(table, merge_of(0), [(1, 10, "a", 1), (2, 20, "b", 2), (3, 30, None, 3), (4, 40, "d", 4)])
    level = merge(table, merge_of(1), [(1, None, None, 1), (2, 21, "b", 2), (3, 30, None, 3), (4, 40, ..., 4)])
    counts = level.counts
    assert (counts.deleted, counts.updated, counts.older) == (1, 1, 2)
    expected = {2: (21, "b"), 3: (30, None), 4: (40, "d")}
    assert rows_of(table) == expected
    again = merge(table, merge_of(2), [(1, None, None, 1), (2, 21, "b", 2)])
    assert (again.counts.absent, again.counts.older) == (1, 1)
    assert rows_of(table) == expected


def test_an_unsent_value_stays_and_one_that_is_not_stored_is_refused(table):
    merge(table, merge_of(0), [(1, 10, "large", 1)])
    merge(table, merge_of(1), [(1, 11, ..., 11)])
    assert rows_of(table) == {1: (11, "large")}
    with pytest.raises(LandingError, match="1 updates do not have the value of big"):
        merge(table, merge_of(2), [(1, 12, ..., 21), (7, 70, ..., 22)])
    assert rows_of(table) == {1: (11, "large")}
    merge(table, merge_of(2, unsent=Unsent.NULL), [(1, 12, ..., 21), (7, 70, ..., 22)])
    assert rows_of(table) == {1: (12, "large"), 7: (70, None)}


def test_with_hard_deletes_a_late_range_is_refused_and_a_gap_is_not(table):
    merge(table, merge_of(3), [(1, 10, "a", 31)])
    with pytest.raises(LandingError, match="does not lie after 'range 3'"):
        merge(table, merge_of(2), [(1, 9, "z", 21)])
    with pytest.raises(LandingError, match="holds this interval with another range"):
        merge(table, merge_of(3, end=39), [(1, 9, "z", 21)])
    merge(table, merge_of(7), [(1, None, None, 71)])
    assert rows_of(table) == {}
    assert len(table.holdings()) == 2


def test_with_soft_deletes_ranges_come_in_any_order_and_values_are_kept(table):
    later = [(1, None, None, 31), (2, 25, "new", 32), (3, None, None, 33)]
    merge(table, merge_of(3, "soft"), later, in_order=False)
    late = merge(table, merge_of(1, "soft"), [(1, 10, "a", 11), (2, 20, "b", 12), (5, 50, "e", 13)], in_order=False)
    assert (late.counts.older, late.counts.inserted) == (2, 1)
    names = ("n", "big", "_deleted")
    expected = {1: (None, None, True), 2: (25, "new", False), 3: (None, None, True), 5: (50, "e", False)}
    assert rows_of(table, *names) == expected
    last = merge(table, merge_of(9, "soft"), [(5, None, None, 91), (1, 11, "back", 92)], in_order=False)
    assert (last.counts.deleted, last.counts.inserted) == (1, 1)
    assert rows_of(table, *names) == {**expected, 5: (50, "e", True), 1: (11, "back", False)}
    with pytest.raises(LandingError, match="is merged with key id, soft deletes"):
        merge(table, merge_of(10), [])


@pytest.mark.parametrize("deletes", ["hard", "soft"])
def test_random_ranges_give_the_table_of_a_model(table, deletes):
    model, in_order = Model(), deletes == "hard"
    numbers = list(range(8))
    if not in_order:
        random.Random(3).shuffle(numbers)
    for number in numbers:
        merge(table, merge_of(number, deletes), random_range(number, 2), in_order=in_order)
        merge(table, merge_of(number, deletes), [], in_order=in_order)
    for number in sorted(numbers):
        model.take(random_range(number, 2))
    names = ("n", "big", "_deleted") if deletes == "soft" else ("n", "big", "id")
    found = {id_: row[:2] for id_, row in rows_of(table, *names).items() if row[2] is not True}
    assert found == model.shown()


def test_columns_are_added_ignored_or_refused(table):
    merge(table, merge_of(0), [(1, 10, "a", 1)])
    wider = columns_of([(1, 11, "b", 11), (2, 20, "c", 12)]).append_column("extra", pa.array([7, 8], pa.int32()))
    with pytest.raises(LandingError, match="the table lacks extra int32"):
        merge(table, merge_of(1), wider)
    assert merge(table, merge_of(1, new_columns=Evolution.IGNORE), wider).counts.new_columns == []
    later = columns_of([(1, 12, "b", 21), (3, 30, "d", 22)]).append_column("extra", pa.array([9, None], pa.int32()))
    assert merge(table, merge_of(2, new_columns=Evolution.ADD), later).counts.new_columns == ["extra"]
    narrow = columns_of([(1, 13, "e", 31)]).drop_columns(["big"])
    merge(table, merge_of(3), narrow)
    assert rows_of(table, "n", "big", "extra") == {1: (13, "b", 9), 2: (20, "c", None), 3: (30, "d", None)}
    other = columns_of([]).set_column(1, "n", pa.array([], pa.string()))
    with pytest.raises(LandingError, match="n .int64 in the table, string in the changes"):
        merge(table, merge_of(4), other)


def test_what_does_not_fit_is_refused_and_changes_nothing(table, tmp_path):
    merge(table, merge_of(0), [(1, 10, "a", 1)])
    nameless = columns_of([(1, 11, "b", 11)]).set_column(0, "id", pa.array([None], pa.int32()))
    with pytest.raises(LandingError, match="1 changes have no id"):
        merge(table, merge_of(1), nameless)
    mariadb = columns_of([(1, 11, "b", 11)]).set_column(4, "_sequence", pa.array([b"x" * 24]))
    with pytest.raises(LandingError, match="of two kinds"):
        merge(table, merge_of(1), mariadb)
    assert rows_of(table) == {1: (10, "a")}
    kind = "delta" if isinstance(table, DeltaFolder) else "iceberg"
    landed = new_table(kind, tmp_path / "landed")
    land(landed, landing(), 1)
    with pytest.raises(LandingError, match="rows are landed in it"):
        merge(landed, merge_of(10**13), [])  # behind what was landed
    with pytest.raises(LandingError, match="has the columns"):
        land(table, landing("another"), 1)


def test_of_two_runs_of_one_range_at_once_one_merges(table):
    merge(table, merge_of(0), [(1, 10, "a", 1), (2, 20, "b", 2)])
    results, start = [], threading.Barrier(3)

    def run(number):
        start.wait()
        results.append(merge(table, merge_of(1), [(1, 10 + number, "x", 11), (3, number, "y", 12)]))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(each.action for each in results) == [Action.MERGE, Action.NOTHING, Action.NOTHING]
    assert len(rows_of(table)) == 3


def test_merges_find_rows_in_files_of_others_after_a_delta_compaction(tmp_path):
    table = DeltaFolder(f"{tmp_path}/table")
    rows = pa.table({"id": pa.array([1, 2], "int32"), "n": pa.array([1, 2], "int64"), "big": ["a", "b"]})
    write_deltalake(table.path, rows)
    with pytest.raises(LandingError, match="lacks _sequence binary"):
        merge(table, merge_of(0), [(1, 10, "x", 1)])
    marked = rows.append_column("_sequence", pa.nulls(2, pa.binary()))
    write_deltalake(table.path, marked, mode="overwrite", schema_mode="overwrite")
    merge(table, merge_of(0), [(1, 10, "x", 1)])
    merge(table, merge_of(1), [(3, 30, "z", 11)])
    written = DeltaTable(table.path)
    written.optimize.compact()
    written.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    written.create_checkpoint()
    merge(table, merge_of(2), [(2, 22, "y", 21), (3, None, None, 22)])
    assert rows_of(table) == {1: (10, "x"), 2: (22, "y")}
    write_deltalake(table.path, marked.slice(0, 1), mode="append")
    with pytest.raises(LandingError, match="two rows of the key {'id': 1}"):
        merge(table, merge_of(3), [(1, 11, "w", 31)])


def test_only_files_with_rows_to_change_are_written_again(tmp_path):
    table = DeltaFolder(f"{tmp_path}/table")
    for number in range(3):
        merge(table, merge_of(number), [(number * 10 + each, 1, "a", number * 10 + each) for each in range(5)])
    before = set(DeltaTable(table.path).file_uris())
    merge(table, merge_of(3), [(11, 2, "b", 31), (0, 1, "a", 0)])
    after = set(DeltaTable(table.path).file_uris())
    assert len(before & after) == len(before) - 1


def test_changes_are_merged_in_chunks_that_give_the_same_table(tmp_path):
    from pyarrow import parquet

    from pravega_jobs.landing.staged_files import StagedFiles

    staged = tmp_path / "staged"
    staged.mkdir()
    for number in range(4):
        rows = columns_of([(number * 5 + each, each, "a", each + 1) for each in range(5)])
        parquet.write_table(rows, staged / f"part-{number}.parquet")
    schema = pa.schema([SCHEMA.field(name) for name in ("id", "n", "big", "_sequence")])
    one = merge_of(0)
    merging = Merging(one, schema, tmp_path / "new", [])
    merging.apply_all(chunks(StagedFiles.found_in(staged), schema, one, size=1))
    assert (len(merging.added), merging.counts.inserted) == (4, 20)
    again = Merging(one, schema, tmp_path / "newer", merging.added)
    again.apply_all(chunks(StagedFiles.found_in(staged), schema, one, size=1))
    assert (again.added, again.removed, again.counts.older) == ([], [], 20)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["delta", "delta-parts", "iceberg", "iceberg-parts"])
def test_a_program_that_is_killed_again_and_again_merges_each_range_once(kind, tmp_path):
    folder, ranges, kills = tmp_path / "0", 8, 0
    table, choose = new_table(kind, folder), random.Random(kind)
    command = [sys.executable, "-m", "tests.integration.pravega_jobs.merging_job", kind, str(folder), str(ranges)]
    while True:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout is not None
            program.stdout.readline()  # it has merged a range, or found that it was
            if kills < 4:
                time.sleep(choose.random() * 0.3)
                program.kill()
                kills += 1
            elif program.wait() == 0:
                break
    model = Model()
    for number in range(ranges):
        model.take(random_range(number, 1))
    assert rows_of(table) == model.shown()
    assert len(table.holdings()) == ranges


def test_tables_of_this_process_are_merged_without_spark(table):
    def merged(number, changes, convert=lambda changes: changes):
        asked = merge_of(number)
        return merge_changes(convert(columns_of(changes)), table, asked.landing, asked.rules)

    first = merged(0, [(1, 10, "a", 1), (2, 20, "b", 2), (1, 11, ..., 3), (3, 30, "c", 4)])
    assert (first.counts.inserted, rows_of(table)) == (3, {1: (11, "a"), 2: (20, "b"), 3: (30, "c")})
    second = merged(1, [(3, None, None, 12), (2, 21, ..., 11), (4, 40, None, 13)], pl.from_arrow)
    assert (second.counts.inserted, second.counts.updated, second.counts.deleted) == (1, 1, 1)
    assert rows_of(table) == {1: (11, "a"), 2: (21, "b"), 4: (40, None)}
    again = merged(1, [(9, 9, "never", 99)], lambda changes: changes.to_reader())
    assert (again.action, again.holding) == (Action.NOTHING, second.holding)
    merge(table, merge_of(2), [(4, 41, "d", 21)])  # as Spark stages it
    assert rows_of(table)[4] == (41, "d")
