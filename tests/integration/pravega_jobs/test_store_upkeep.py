"""Upkeep and kills of tables in object stores: tables and names of files say what is dead."""

from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from tests.integration.pravega_jobs.killed_runs import killed_runs
from tests.integration.pravega_jobs.landing_job import OTHER_STORES, landing, read_by_polars, rows
from tests.integration.pravega_jobs.merging_job import columns_of, merge, merge_of
from tests.integration.pravega_jobs.store_job import CHANGES
from tests.integration.pravega_jobs.upkeep_job import kept_up

from aiopravega.errors import LandingError
from pravega_jobs.landing import Action, DeltaFolder
from pravega_jobs.landing.iceberg_files import location_of

DAYS = [f"day {number}" for number in range(3)]


@pytest.fixture(params=["delta-s3", "iceberg-s3", *OTHER_STORES])
def kind(request) -> str:
    return str(request.param)


@pytest.fixture
def table(lake) -> Any:
    return lake.table()


def root_of(table):
    return table.stored.store if isinstance(table, DeltaFolder) else location_of(table.load())


def stored(table) -> set[str]:
    """The names of the files of rows."""
    return {name for name in root_of(table).names() if name.endswith(".parquet") and not name.startswith("_")}


def judged(table) -> pl.DataFrame:
    """All rows, as Polars finds them."""
    whole = read_by_polars(table).collect()
    return whole.sort(whole.columns)


def leave(lake, table, one) -> None:
    """Stage rows as a run that is killed before its commit."""
    with lake.staged(table, one, 9) as killed:
        killed.location.taken(killed.location)


def test_small_files_are_put_together_and_holdings_count(lake, table):
    for number, name in enumerate(DAYS):
        lake.land(table, landing(name), number)
    before, held = judged(table), table.holdings()
    planned, kept = kept_up(table, dry_run=True), kept_up(table, keep=timedelta(hours=1))
    assert (planned.compacted_files, planned.new_files) == (kept.compacted_files, kept.new_files) == (3, 1)
    assert len(stored(table)) == 4
    assert kept_up(table).removed_files >= 3
    assert len(stored(table)) == 1
    assert judged(table).equals(before)
    assert table.holdings() == held
    assert lake.land(table, landing(DAYS[0]), 9) is Action.NOTHING
    assert kept_up(table).removed_files == 0


def test_only_files_that_no_commit_can_take_are_removed(lake, table):
    for generation in (1, 2):
        leave(lake, table, landing(generation=generation))
    leave(lake, table, landing("sunday"))
    with lake.staged(table, landing("tuesday"), 3) as running:
        lake.land(table, landing("other"), 1)
        root_of(table).child("data").put("of-another-program.parquet", b"")
        everything = stored(table)
        done = kept_up(table)
        assert stored(table) == everything
        assert "1 files of" in done.left[0]
        lake.land(table, landing(), 2)
        leave(lake, table, landing())  # a run that was late, and killed
        assert len(stored(table)) == len(everything) + 1
        kept_up(table)
        assert len([name for name in lake.leftovers(table) if "landing-" in name]) == 3
        assert table.commit(running, landing("tuesday")).action is Action.APPEND
    expected = sorted(rows("monday", 2) + rows("tuesday", 3) + rows("other", 1))
    assert lake.contents(table) == expected


@pytest.fixture
def killed(kind):
    """Runs a merge or an upkeep in a process that is killed at a step; False if it came to its end."""
    with killed_runs("tests.integration.pravega_jobs.store_job", kind) as run:
        yield run


def test_two_tables_in_one_prefix_keep_their_rows(lake, table):
    lake.land(table, landing(), 1)
    renamed = lake.rename(table)
    with lake.staged(renamed, landing("tuesday"), 4) as late:
        lake.land(table, landing(), 3)
        for each in (table, renamed):
            kept_up(each)
        if not isinstance(table, DeltaFolder):  # a path is a table, but a name may be another one later
            with pytest.raises(LandingError, match="another table by now"):
                table.commit(late, landing("tuesday"))
    assert (lake.contents(renamed), lake.contents(table)) == (rows("monday", 1), rows("monday", 3))


# All steps take minutes.
@pytest.mark.parametrize("stride", [pytest.param(1, marks=pytest.mark.slow), 29])
def test_a_merge_killed_at_any_step_is_there_or_not_and_is_completed(make_lake, killed, stride):
    before, after = {1: 10, 2: 20, 3: 30}, {1: 11, 3: 30, 4: 40}
    for step in range(0, 1000, stride):
        lake = make_lake()
        table = lake.table()
        merge(table, merge_of(0), [(1, 10, "a", 1), (2, 20, "b", 2), (3, 30, None, 3)])
        is_killed = killed(lake, "merge", step)
        assert dict(judged(table).select("id", "n").rows()) in (before, after)
        merge(table, merge_of(1), columns_of(CHANGES))
        assert dict(judged(table).select("id", "n").rows()) == after
        kept_up(table)
        assert dict(judged(table).select("id", "n").rows()) == after
        assert lake.leftovers(table) == []
        if not is_killed:
            break
    assert step > stride
    assert len(table.holdings()) == 2


@pytest.mark.parametrize("stride", [pytest.param(1, marks=pytest.mark.slow), 11])
def test_an_upkeep_killed_at_any_step_is_completed_by_the_next(lake, table, killed, stride):
    expected = rows("sunday", 9)
    lake.land(table, landing("sunday"), 9)
    for step in range(0, 1000, stride):
        lake.land(table, landing(f"step {step}"), step + 1)
        expected = sorted([*expected, *rows(f"step {step}", step + 1)])
        is_killed = killed(lake, "upkeep", step)
        assert lake.contents(table) == expected
        if not is_killed:
            break
    assert step >= stride
    lake.land(table, landing("last"), 1)
    kept_up(table)
    kept_up(table)
    assert lake.contents(table) == sorted([*expected, *rows("last", 1)])
    assert lake.leftovers(table) == []
