"""Rows that a snapshot begun again leaves behind, in real tables of Delta and Iceberg: none stay, and none is lost."""

import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.integration.pravega_jobs.ghost_model import KEYS, World, last_changes, table_of
from tests.integration.pravega_jobs.landing_job import new_table
from tests.integration.pravega_jobs.merging_job import merge, merge_here, merge_of, rows_of

from aiopravega.errors import LandingError

STEPS = st.one_of(
    st.tuples(st.sampled_from(["put", "delete"]), st.sampled_from(KEYS)),
    st.tuples(st.just("lose"), st.integers(0, 9)),
    st.tuples(st.sampled_from(["stream", "stream", "begin", "commit", "store", "restart"]), st.just(0)),
)


def snapshot(position):
    return position.to_bytes(8, "big")


@pytest.fixture(params=["delta", "iceberg"])
def table(request, tmp_path):
    return new_table(request.param, tmp_path / "0")


@pytest.mark.parametrize("deletes", ["hard", "soft"])
def test_rows_that_are_older_than_a_snapshot_and_not_in_it_are_removed(table, deletes):
    first = merge(table, merge_of(0, deletes), [(each, each, "a", each) for each in (1, 2, 3)])
    assert first.counts.ghosts == 0
    # 1 is in the snapshot, 2 is not, and 3 was changed later.
    found = merge(table, merge_of(1, deletes, snapshot=snapshot(20)), [(1, 10, "b", 20), (3, 30, "c", 21)])
    assert (found.counts.updated, found.counts.ghosts, found.counts.deleted) == (2, 1, 0)
    names = ("n", "_deleted") if deletes == "soft" else ("n",)
    assert {id_: row[0] for id_, row in rows_of(table, *names).items() if row[-1] is not True} == {1: 10, 3: 30}
    if deletes == "soft":
        assert rows_of(table, "n", "_deleted")[2] == (2, True)
    # The cut went through the snapshot: one of its rows comes later, and is there again.
    assert merge(table, merge_of(2, deletes), [(2, 20, "b", 20)]).counts.inserted == 1
    assert rows_of(table)[2] == (20, "b")
    again = merge(table, merge_of(3, deletes, snapshot=snapshot(40)), [(1, 10, "b", 40), (3, 30, "c", 40)])
    assert again.counts.ghosts == 1


def test_files_without_ghosts_stay_and_mixed_positions_are_refused(tmp_path):
    table = new_table("delta", tmp_path)
    for number in range(3):
        merge(table, merge_of(number), [(number * 10 + each, 1, "a", number * 10 + each) for each in range(5)])
    before = set(DeltaTable(table.path).file_uris())
    assert merge(table, merge_of(3, snapshot=snapshot(12)), [(0, 1, "a", 12)]).counts.ghosts == 6
    assert set(rows_of(table)) == {0, 12, 13, 14, *range(20, 25)}
    assert len(before & set(DeltaTable(table.path).file_uris())) == 1
    with pytest.raises(LandingError, match="of two kinds"):
        merge(table, merge_of(4, snapshot=b"x" * 24), [])


def merge_as_spark(table, number, deletes, events):
    """Merge what Spark leaves of a range."""
    changes, position = last_changes(events)
    whole = None if position is None else snapshot(position)
    rows = [(each.id, each.n, "a", each.position) for each in changes]
    merge(table, merge_of(number, deletes, snapshot=whole), rows)


def merge_events(table, number, deletes, events):
    """Merge all events of a range without Spark."""
    merge_here(table, merge_of(number, deletes, ghosts="remove"), table_of(events))


@pytest.mark.parametrize(
    ("kind", "take", "examples"),
    [("delta", merge_as_spark, 60), ("iceberg", merge_as_spark, 10), ("delta", merge_events, 10)],
)
@pytest.mark.parametrize("deletes", ["hard", "soft"])
def test_repeated_snapshots_and_arbitrary_cuts_give_the_database_table(kind, take, examples, deletes):
    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(STEPS, min_size=15, max_size=60), st.lists(st.floats(0, 1), max_size=4))
    def run(steps, parts):
        world = World()
        for step in steps:
            world.do(step)
        world.finish()
        count = len(world.events)
        cuts = [0, *sorted(round(each * count) for each in parts), count]
        with tempfile.TemporaryDirectory() as folder:
            table = new_table(kind, Path(folder) / "0")
            for number, (start, end) in enumerate(pairwise(cuts)):
                take(table, number, deletes, world.events[start:end])
            names = ("n", "_deleted") if deletes == "soft" else ("n",)
            found = {id_: row[0] for id_, row in rows_of(table, *names).items() if row[-1] is not True}
        assert found == world.rows

    run()
