"""Real tables of Delta and Iceberg that keep every version of a row: repeated, doubled or killed, none is lost."""

import random
import subprocess
import sys
import time
from datetime import date, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from tests.integration.pravega_jobs.history_job import (
    EPOCH,
    found_in,
    history_of,
    random_changes,
    replayed,
    staged,
    versions_of,
)
from tests.integration.pravega_jobs.landing_job import new_table
from tests.integration.pravega_jobs.merging_job import Change, columns_of, merge, merge_here, merge_of

from aiopravega.errors import LandingError
from pravega_jobs.landing import Action
from pravega_jobs.merging import Evolution
from pravega_jobs.merging.state import state_of


@pytest.fixture(params=["delta", "iceberg"])
def table(request, tmp_path):
    return new_table(request.param, tmp_path / "0")


@pytest.fixture(params=[merge, merge_here], ids=["spark", "here"])
def way(request):
    """Merges changes that Spark has staged, or changes of this process."""
    return request.param


@pytest.fixture
def keep(way):
    """Merges changes into a table with a history."""
    return lambda table, number, changes: way(table, history_of(number), staged(changes))


def test_versions_open_and_close_and_a_repeated_range_does_nothing(table, keep):
    first = keep(table, 0, [(1, 10, "a", 1), (1, 11, ..., 2), (2, 20, "b", 3)])
    assert (first.counts.inserted, first.counts.updated, first.holding.rows) == (2, 1, 3)
    second = keep(table, 1, [(1, 12, ..., 11), (2, None, None, 12), (2, 21, "c", 13), (9, None, None, 14)])
    counts = second.counts
    assert (counts.inserted, counts.updated, counts.deleted, counts.absent, counts.older) == (1, 1, 1, 1, 0)
    expected = {
        1: [(10, "a", 1, 2), (11, "a", 2, 11), (12, "a", 11, None)],
        2: [(20, "b", 3, 12), (21, "c", 13, None)],
    }
    assert versions_of(table) == expected
    again = keep(table, 1, [(1, 999, "never", 99)])
    assert (again.action, again.holding) == (Action.NOTHING, second.holding)
    assert versions_of(table) == expected
    state = state_of(table)
    assert state is not None
    assert state.rows is None  # the rows of the database are fewer than those of the table


def test_a_deleted_row_stays_deleted_when_debezium_repeats_its_events(table, keep):
    keep(table, 0, [(1, 10, "a", 1), (1, None, None, 2)])
    assert keep(table, 1, [(1, 10, "a", 1)]).counts.older == 1
    assert keep(table, 2, [(1, None, None, 2), (2, 20, "b", 3)]).counts.older == 1
    assert versions_of(table) == {1: [(10, "a", 1, 2)], 2: [(20, "b", 3, None)]}


def test_random_ranges_with_doubles_give_the_versions_of_a_replay(table, keep):
    log: list[Change] = []
    before: list[Change] = []
    for number in range(6):
        changes = random_changes(number, 2)
        log += changes
        keep(table, number, [*before[-20:], *changes])
        assert versions_of(table) == replayed(log)
        before = changes


def test_a_table_keeps_its_history_and_its_order(table, keep):
    keep(table, 3, [(1, 10, "a", 31)])
    with pytest.raises(LandingError, match="does not lie after 'range 3'"):
        keep(table, 2, [(1, 9, "z", 21)])
    with pytest.raises(LandingError, match="is merged with key id, hard deletes, history scd2, and this merge has"):
        merge(table, merge_of(4), [(1, 11, "b", 41)])


def test_a_table_without_a_history_does_not_get_one(table, keep):
    merge(table, merge_of(0), [(1, 10, "a", 1)])
    with pytest.raises(LandingError, match="hard deletes, history none, and this merge has .* history scd2"):
        keep(table, 1, [(1, 11, "b", 11)])


def test_a_column_that_is_added_is_null_in_older_versions(table, way, keep):
    keep(table, 0, [(1, 10, "a", 1), (2, 20, "b", 2)])
    wider = staged([(1, 10, "a", 11), (2, 20, "b", 12)]).append_column("extra", pa.array([7, None], pa.int32()))
    done = way(table, history_of(1, new_columns=Evolution.ADD), wider)
    assert (done.counts.updated, done.counts.same, done.counts.new_columns) == (1, 1, ["extra"])
    found = sorted((row["id"], row["_current"], row["extra"]) for row in found_in(table))
    assert found == [(1, False, None), (1, True, 7), (2, True, None)]


@pytest.mark.parametrize(
    ("type_", "first", "second"),
    [
        (pa.decimal128(10, 2), Decimal("12.30"), Decimal("12.31")),
        (pa.decimal128(38, 9), Decimal("1" * 29 + ".000000001"), Decimal("1" * 29 + ".000000002")),
        (pa.timestamp("us", "UTC"), EPOCH, EPOCH + timedelta(microseconds=1)),
        (pa.timestamp("us"), EPOCH.replace(tzinfo=None), EPOCH.replace(year=9999, tzinfo=None)),
        (pa.date32(), date(1, 1, 1), date(9999, 12, 31)),
        (pa.binary(), b"", b"\0"),
        (pa.bool_(), False, True),
        (pa.list_(pa.field("element", pa.decimal128(4, 1))), [Decimal("1.5"), None], [Decimal("1.5")]),
        (pa.struct([("x", pa.float64())]), {"x": None}, {"x": 1.0}),
    ],
    ids=str,
)
def test_values_of_any_type_are_compared_and_kept(table, way, type_, first, second):
    for number, value in enumerate((first, first, None, None, second)):
        rows = staged([(1, 1, "a", number * 10 + 1)]).append_column("more", pa.array([value], type_))
        counts = way(table, history_of(number), rows).counts
        assert (counts.same, counts.inserted + counts.updated) == ((1, 0) if number in (1, 3) else (0, 1))
    found = sorted(found_in(table), key=lambda each: each["_sequence"])
    assert [row["more"] for row in found] == [first, None, second]
    assert [row["_current"] for row in found] == [False, False, True]


def test_an_empty_range_is_held_and_one_without_times_is_refused(table, way, keep):
    assert keep(table, 0, []).action is Action.MERGE
    assert (found_in(table), len(table.holdings())) == ([], 1)
    timeless = columns_of([(1, 10, "a", 11)]).append_column("_source_ts", pa.nulls(1, pa.timestamp("us", "UTC")))
    with pytest.raises(LandingError, match="1 changes have no _source_ts"):
        way(table, history_of(1), timeless)


def test_files_of_others_are_merged_after_a_delta_table_is_compacted(tmp_path, keep):
    table = new_table("delta", tmp_path / "0")
    for number in range(3):
        keep(table, number, random_changes(number, 5))
    DeltaTable(table.path).optimize.compact()
    keep(table, 3, random_changes(3, 5))
    assert versions_of(table) == replayed([each for number in range(4) for each in random_changes(number, 5)])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_program_that_is_killed_again_and_again_merges_each_range_once(kind, tmp_path):
    folder, ranges, kills = tmp_path / "0", 8, 0
    table, choose = new_table(kind, folder), random.Random(kind)
    command = [sys.executable, "-m", "tests.integration.pravega_jobs.history_job", kind, str(folder), str(ranges)]
    while True:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout is not None
            program.stdout.readline()  # it has merged a range, or found that it was
            if kills < 4:
                time.sleep(choose.random() * 0.3)
                program.kill()
                kills += 1
                program.wait()
                done = len(table.holdings())
                log = [each for number in range(done) for each in random_changes(number, 1)]
                assert versions_of(table) == replayed(log)  # of each range all or nothing
            elif program.wait() == 0:
                break
    assert versions_of(table) == replayed([each for number in range(ranges) for each in random_changes(number, 1)])
    assert len(table.holdings()) == ranges
