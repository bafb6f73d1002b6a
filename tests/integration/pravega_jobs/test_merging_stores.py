"""Merges into tables of Delta and Iceberg in object stores: no lock, kills at any step."""

import threading
from typing import Any

import pyarrow as pa
import pytest
from tests.faults.call_races import right_before
from tests.integration.pravega_jobs.landing_job import OTHER_STORES, read_by_polars
from tests.integration.pravega_jobs.merging_job import (
    Model,
    columns_of,
    merge,
    merge_here,
    merge_of,
    random_range,
    rows_of,
)

from aiopravega.errors import LandingError
from pravega_jobs.landing import Action, DeltaFolder
from pravega_jobs.merging import Evolution

KINDS = ["delta-s3", "iceberg-s3", *OTHER_STORES]


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    return str(request.param)


@pytest.fixture
def table(lake) -> Any:
    return lake.table()


def judged(table) -> dict[int, tuple[Any, ...]]:
    """The rows as Polars finds them; a row that is there twice fails."""
    rows = read_by_polars(table).select("id", "n", "big").collect().rows()
    assert len(rows) == len({row[0] for row in rows})
    return {row[0]: row[1:] for row in rows}


def test_merges_in_a_store_give_the_table_of_a_model(table):
    model = Model()
    for number in range(3):
        changes = random_range(number, 2)
        here = merge_here if number % 2 else merge
        assert here(table, merge_of(number), columns_of(changes)).action is Action.MERGE
        assert merge(table, merge_of(number), []).action is Action.NOTHING
        model.take(changes)
        assert judged(table) == rows_of(table) == model.shown()
    assert len(table.holdings()) == 3
    assert table.rows() is None


def test_a_merge_that_fails_leaves_no_file_and_says_why(lake, table):
    merge(table, merge_of(0), [(1, 10, "a", 1)])
    before = lake.leftovers(table)
    nameless = columns_of([(1, 11, "b", 11)]).set_column(0, "id", pa.array([None], pa.int32()))
    with pytest.raises(LandingError, match="1 changes have no id"):
        merge(table, merge_of(1), nameless)
    assert lake.leftovers(table) == before
    assert judged(table) == {1: (10, "a")}


def test_of_two_merges_of_a_range_at_once_one_is_there(table):
    merge(table, merge_of(0), [(1, 10, "a", 1), (2, 20, "b", 2)])
    results, start = list[Any](), threading.Barrier(3)

    def run(number: int) -> None:
        start.wait()
        results.append(merge(table, merge_of(1), [(1, 10 + number, "x", 11), (3, number, "y", 12)]))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(each.action for each in results) == [Action.MERGE, Action.NOTHING, Action.NOTHING]
    assert len(judged(table)) == 3


@pytest.mark.parametrize("grows", [False, True])
def test_a_merge_between_two_commits_of_another_is_found(table, grows):
    merge(table, merge_of(0), [(1, 10, "a", 1)])
    of_delta = "add_columns" if grows else "create_write_transaction"
    call = of_delta if isinstance(table, DeltaFolder) else "commit_table"
    changes = columns_of([(1, 11, "b", 11), (2, 20, "c", 12)])
    if grows:
        changes = changes.append_column("more", pa.array([1, 2]))

    def others() -> None:
        merge(table, merge_of(1), [(1, 11, "b", 11), (2, 20, "c", 12)])
        merge(table, merge_of(2), [(2, None, None, 21)])

    with right_before(call, others):
        late = merge(table, merge_of(1, new_columns=Evolution.ADD), changes)
    assert late.action is Action.NOTHING
    # The later range has deleted this row: a merge that came again would bring it back.
    assert judged(table) == {1: (11, "b")}
    assert len(table.holdings()) == 3
