"""Delta tables in S3, as moto plays it: races without a lock, and files that runs have left before their commit."""

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from tests.faults.call_races import right_before
from tests.integration.pravega_jobs.landing_job import DeltaStoreLake, landing, rows
from tests.integration.pravega_jobs.upkeep_job import kept_up

from aiopravega.errors import LandingError
from pravega_jobs.landing import Action, Landing
from pravega_jobs.landing.delta_leftovers import leftovers
from pravega_jobs.landing.local_rows import LocalRows
from pravega_jobs.landing.rules import Evolution
from pravega_jobs.landing.store_conditions import WRITTEN_ONCE


@pytest.fixture
def lake(s3: str) -> DeltaStoreLake:
    return DeltaStoreLake(s3)


def leave(lake, table, one, value=9) -> str:
    """Stage rows as a run that is killed before its commit; returns the name of its prefix."""
    with lake.staged(table, one, value) as killed:
        killed.location.taken(killed.location)  # so it is not removed
    return str(killed.location.address.removeprefix(f"{table.path}/"))


def prefixes(files) -> set[str]:
    return {name.rpartition("/")[0] for name in files}


@pytest.mark.parametrize("call", ["create_deltalake", "add_columns"])
def test_a_landing_between_two_commits_of_a_run_is_found(lake, call):
    table = lake.table()
    if call == "add_columns":
        lake.land(table, landing("sunday"), 1)
    more = pa.table({"id": pa.array([7], "int32"), "more": [1]})
    grows = landing()
    grows = Landing(grows.interval, grows.cuts, new_columns=Evolution.ADD)
    with table.staged(LocalRows(more), grows) as staged, right_before(call, lambda: lake.land(table, landing(), 2)):
        assert table.commit(staged, grows).action is Action.NOTHING
    expected = rows("sunday", 1) if call == "add_columns" else []
    assert lake.contents(table) == sorted(expected + rows("monday", 2))
    assert lake.leftovers(table) == []


def test_the_next_run_removes_what_no_commit_can_take(lake):
    table = lake.table()
    older, newer = (leave(lake, table, landing(generation=number)) for number in (1, 2))
    other = leave(lake, table, landing("sunday"))
    assert leftovers(table.stored) == {}
    assert lake.land(table, landing(), 1) is Action.APPEND
    assert prefixes(lake.leftovers(table)) == {newer, other}
    assert older != newer
    assert lake.land(table, landing(generation=2), 2) is Action.REPLACE
    assert prefixes(lake.leftovers(table)) == {other}
    assert lake.contents(table) == rows("monday", 2)


def test_files_of_versions_that_can_be_restored_stay(lake):
    table = lake.table()
    lake.land(table, landing(), 1)
    lake.mark(table)
    before = prefixes(lake.objects(table.path))
    lake.land(table, landing(generation=2), 2)
    written = DeltaTable(table.path)
    written.optimize.compact()
    written.create_checkpoint()
    lake.land(table, landing(generation=3), 3)
    killed = leave(lake, table, landing(generation=2))
    assert prefixes(leftovers(table.stored)) == {killed}
    assert prefixes(lake.objects(table.path)) >= before
    lake.take_back(table)
    assert lake.contents(table) == rows("monday", 1)
    # The table does not hold the newer generations any more: a run may land them again.
    assert leftovers(table.stored) == {}
    assert lake.land(table, landing(generation=2), 4) is Action.REPLACE
    assert prefixes(lake.leftovers(table)) == set()
    assert lake.contents(table) == rows("monday", 4)


def test_an_upkeep_removes_what_a_killed_trial_of_the_store_left(lake):
    table = lake.table()
    lake.land(table, landing(), 1)
    tried = f"{WRITTEN_ONCE}{'0' * 32}"
    table.stored.store.put(tried, b"1")
    kept_up(table)
    assert tried not in lake.objects(table.path)
    assert lake.contents(table) == rows("monday", 1)


def test_files_of_a_commit_whose_answer_was_lost_stay(lake):
    table = lake.table()
    with lake.staged(table, landing(), 1) as staged:
        table.commit(staged, landing())
    killed = leave(lake, table, landing())
    assert lake.land(table, landing(), 3) is Action.NOTHING
    assert prefixes(leftovers(table.stored)) == {killed}
    assert lake.contents(table) == rows("monday", 1)


def test_a_run_whose_files_were_removed_as_dead_changes_nothing(lake):
    table = lake.table()
    lake.land(table, landing("sunday"), 9)
    lake.mark(table)
    with lake.staged(table, landing(), 1) as late:
        lake.land(table, landing(), 2)
        assert late.location.names() == []
        assert table.commit(late, landing()).action is Action.NOTHING
        lake.take_back(table)
        with pytest.raises(LandingError, match="(?s)no clear answer.*is not there.*Run it again"):
            table.commit(late, landing())
    assert lake.contents(table) == rows("sunday", 9)
    assert lake.land(table, landing(), 3) is Action.REPLACE
    assert lake.contents(table) == sorted(rows("sunday", 9) + rows("monday", 3))
