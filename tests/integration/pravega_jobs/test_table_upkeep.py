"""Upkeep of tables of Delta and Iceberg: rows and holdings stay, and no run that is under way loses a file."""

import json
import os
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable
from tests.integration.pravega_jobs.landing_job import landing, new_lake, rows
from tests.integration.pravega_jobs.merging_job import Model, merge, merge_of, random_range, rows_of
from tests.integration.pravega_jobs.upkeep_job import files_of, judged, kept_up, stored

from aiopravega.errors import LandingError
from pravega_jobs.landing import Action, DeltaFolder
from pravega_jobs.landing.staged_files import new_folder

DAYS = [f"day {number}" for number in range(6)]


@pytest.fixture(params=["delta", "iceberg"])
def lake(request, tmp_path):
    return new_lake(request.param, str(tmp_path / "0"))


@pytest.fixture
def table(lake):
    return lake.table()


def land_all(lake, table):
    for number, name in enumerate(DAYS):
        lake.land(table, landing(name), number + 1)


def state_now(table):
    if isinstance(table, DeltaFolder):
        return DeltaTable(table.path).version()
    return table.load().current_snapshot().snapshot_id


def read_at(table, state):
    if isinstance(table, DeltaFolder):
        return DeltaTable(table.path, version=state).to_pyarrow_table().num_rows
    return table.load().scan(snapshot_id=state).to_arrow().num_rows


def take_back(table, state):
    if isinstance(table, DeltaFolder):
        DeltaTable(table.path).restore(state)
    else:
        with table.load().manage_snapshots() as snapshots:
            snapshots.rollback_to_snapshot(state)


def test_landings_are_put_together_and_every_holding_still_counts(lake, table):
    land_all(lake, table)
    before, held, counts = judged(table), table.holdings(), table.rows()
    planned = kept_up(table, dry_run=True)
    assert len(files_of(table)) == 2 * len(DAYS)
    done = kept_up(table)
    assert (planned.compacted_files, planned.new_files) == (done.compacted_files, done.new_files) == (2 * len(DAYS), 1)
    assert (judged(table), table.holdings(), table.rows()) == (before, held, counts)
    assert len(files_of(table)) == 1
    assert stored(table) == files_of(table)
    again = kept_up(table)
    assert (again.compacted_files, again.expired_snapshots, again.removed_files) == (0, 0, 0)
    assert [lake.land(table, landing(name), 9) for name in DAYS] == [Action.NOTHING] * len(DAYS)
    assert lake.land(table, landing(DAYS[0], generation=2), 7) is Action.REPLACE
    assert lake.land(table, landing("sunday"), 8) is Action.APPEND
    expected = [*rows(DAYS[0], 7), *(row for number, name in enumerate(DAYS[1:]) for row in rows(name, number + 2))]
    assert lake.contents(table) == sorted([*expected, *rows("sunday", 8)])
    kept_up(table)
    assert lake.contents(table) == sorted([*expected, *rows("sunday", 8)])
    assert stored(table) == files_of(table)


def test_merges_go_on_after_an_upkeep_as_if_there_was_none(table):
    model = Model()
    for number in range(9):
        changes = random_range(number, 5)
        assert merge(table, merge_of(number), changes).action is Action.MERGE
        model.take(changes)
        if number % 3 == 2:
            held = table.holdings()
            kept_up(table)
            assert (table.holdings(), rows_of(table)) == (held, model.shown())
            assert merge(table, merge_of(number), changes).action is Action.NOTHING
            assert len(files_of(table)) == 1
    with table.standing() as found:
        assert found.taken_rows() is None
    assert len(judged(table)) == len(model.shown())


def test_rows_that_others_took_out_are_missed_after_an_upkeep(table):
    merge(table, merge_of(0), [(1, 10, "a", 1), (2, 20, "b", 2)])
    (DeltaTable(table.path) if isinstance(table, DeltaFolder) else table.load()).delete("id = 1")
    for _ in range(2):
        kept_up(table)
        with pytest.raises(LandingError, match="others have taken rows out"):
            merge(table, merge_of(1), [(3, 30, "c", 11)])


def test_a_table_that_was_taken_back_still_says_so_after_an_upkeep(lake, table):
    lake.land(table, landing("sunday"), 1)
    state = state_now(table)
    lake.land(table, landing("monday"), 2)
    lake.land(table, landing("tuesday"), 2)
    take_back(table, state)
    lake.land(table, landing("tuesday"), 3)
    held = table.holdings()
    assert {each.interval for each in held} == {"sunday", "tuesday"}
    for _ in range(2):
        kept_up(table)
        assert table.holdings() == held
    assert lake.land(table, landing("monday"), 4) is not Action.NOTHING
    kept_up(table)
    assert lake.contents(table) == sorted(rows("sunday", 1) + rows("monday", 4) + rows("tuesday", 3))
    assert stored(table) == files_of(table)


def test_a_state_of_the_time_that_is_kept_stays_readable(lake, table):
    land_all(lake, table)
    state, files = state_now(table), files_of(table)
    for _ in range(2):
        done = kept_up(table, keep=timedelta(hours=1))
        assert (done.removed_files, done.expired_snapshots) == (0, 0)
    assert files < stored(table)
    assert read_at(table, state) == 3 * len(DAYS)
    assert kept_up(table).removed_files >= len(files)
    assert stored(table) == files_of(table)


def test_files_of_a_running_landing_stay_and_those_of_a_dead_one_go(lake, table):
    lake.land(table, landing("sunday"), 1)
    with lake.staged(table, landing(), 2) as staged:
        kept_up(table)
        assert table.commit(staged, landing()).action is Action.APPEND
    assert lake.contents(table) == sorted(rows("sunday", 1) + rows("monday", 2))
    location = Path(table.path if isinstance(table, DeltaFolder) else table.load().location().removeprefix("file://"))
    folder, work = (location, "_landing") if isinstance(table, DeltaFolder) else (location / "data", ".landing")
    others = folder / "of-another-program.parquet"
    others.touch()
    with new_folder(location / work) as name:
        moved = folder / f"landing-{name.name}"
        moved.mkdir()
        (moved / "part-0.parquet").touch()
        if not isinstance(table, DeltaFolder):  # in a Delta table, a run moves its files under the table's lock
            kept_up(table)
            assert moved.exists()
    assert kept_up(table, keep=timedelta(hours=1)).removed_files == 0
    planned, done = kept_up(table, dry_run=True), kept_up(table)
    assert (planned.removed_files, moved.exists(), others.exists()) == (done.removed_files, False, True)
    week = time.time() - 7 * 24 * 3600
    os.utime(others, (week, week))
    kept_up(table)
    assert not others.exists()
    assert lake.contents(table) == sorted(rows("sunday", 1) + rows("monday", 2))


def test_a_renamed_table_and_one_of_its_old_name_keep_their_rows(lake, table):
    lake.land(table, landing(), 1)
    renamed = lake.rename(table)
    lake.land(table, landing(), 3)
    done = [kept_up(each) for each in (table, renamed)]
    assert (lake.contents(renamed), lake.contents(table)) == (rows("monday", 1), rows("monday", 3))
    if not isinstance(table, DeltaFolder):  # both are in one folder
        assert all("of another table in the same folder" in each.left[0] for each in done)


def test_upkeeps_beside_landings_and_each_other_lose_nothing(lake, table):
    lake.land(table, landing("sunday"), 9)
    done, errors = threading.Event(), list[BaseException]()

    def upkeeps():
        try:
            while not done.is_set():
                kept_up(table)
        except BaseException as error:  # noqa: BLE001  a thread hands on what it met
            errors.append(error)

    threads = [threading.Thread(target=upkeeps) for _ in range(2)]
    for each in threads:
        each.start()
    try:
        land_all(lake, table)
    finally:
        done.set()
        for each in threads:
            each.join()
    assert errors == []
    kept_up(table)
    expected = [row for number, name in enumerate(DAYS) for row in rows(name, number + 1)]
    assert lake.contents(table) == sorted(expected + rows("sunday", 9))
    assert len(table.holdings()) == len(DAYS) + 1
    assert stored(table) == files_of(table)


def test_merges_beside_an_upkeep_lose_nothing(table):
    model, done, errors = Model(), threading.Event(), list[BaseException]()
    merge(table, merge_of(0), [])

    def upkeeps():
        try:
            while not done.is_set():
                kept_up(table)
        except BaseException as error:  # noqa: BLE001  a thread hands on what it met
            errors.append(error)

    thread = threading.Thread(target=upkeeps)
    thread.start()
    try:
        for number in range(1, 7):
            changes = random_range(number, 6)
            merge(table, merge_of(number), changes)
            model.take(changes)
    finally:
        done.set()
        thread.join()
    assert errors == []
    assert rows_of(table) == model.shown()
    assert len(table.holdings()) == 7


def test_an_upkeep_that_is_killed_at_any_step_is_completed_by_the_next(lake, table):
    command = [sys.executable, "-m", "tests.integration.pravega_jobs.upkeep_job", type(lake).__name__.lower()[:-4]]
    lake.land(table, landing("sunday"), 9)
    expected = rows("sunday", 9)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        # All steps would take minutes.
        for step in range(0, 1000, 7 if isinstance(table, DeltaFolder) else 17):
            lake.land(table, landing(f"step {step}"), step + 1)
            expected = sorted([*expected, *rows(f"step {step}", step + 1)])
            print(json.dumps([lake.where, step]), file=program.stdin, flush=True)
            answer = program.stdout.readline().strip()
            assert answer in {"True", "False"}
            assert lake.contents(table) == expected
            if answer == "False":
                break
        program.terminate()
    assert step > 10
    kept_up(table)
    assert lake.contents(table) == expected
    assert stored(table) == files_of(table)
    assert len(table.holdings()) == len(expected) // 3
