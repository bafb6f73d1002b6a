"""The contract of merged tables on disks, in S3 and PostgreSQL: whatever happens to a table, a range is there once."""

from typing import Any

import pytest
from tests.integration.pravega_jobs.landing_job import new_lake, where_of
from tests.integration.pravega_jobs.merging_job import merge, merge_of, rows_of
from tests.integration.pravega_jobs.test_merging_lakehouse import (
    test_a_merge_applies_all_changes_and_a_repeated_range_does_nothing,
    test_columns_are_added_ignored_or_refused,
    test_with_hard_deletes_a_late_range_is_refused_and_a_gap_is_not,
)
from tests.integration.pravega_jobs.test_merging_taken_back import (
    test_a_merge_is_refused_where_others_took_rows_out_unless_accepted,
    test_a_table_that_was_taken_back_merges_what_it_lacks_before_others,
)

from aiopravega.errors import LandingError
from pravega_jobs.landing import Action

# Their own files run them on disks; here they run in stores.
__all__ = [
    "test_a_merge_applies_all_changes_and_a_repeated_range_does_nothing",
    "test_a_merge_is_refused_where_others_took_rows_out_unless_accepted",
    "test_a_table_that_was_taken_back_merges_what_it_lacks_before_others",
    "test_columns_are_added_ignored_or_refused",
    "test_with_hard_deletes_a_late_range_is_refused_and_a_gap_is_not",
]
STORES = ["delta-s3", "iceberg-s3"]
KINDS = pytest.mark.parametrize("kind", ["delta", "iceberg", "postgres", *STORES], indirect=True)


@pytest.fixture(params=STORES)
def kind(request) -> str:
    return str(request.param)


@pytest.fixture
def lake(kind, request) -> Any:
    return new_lake(kind, where_of(kind, request.getfixturevalue).replace("*", "lake"))


@pytest.fixture
def table(lake) -> Any:
    return lake.table()


@KINDS
def test_a_table_restored_from_a_copy_merges_what_it_lacks_once(lake, table):
    merge(table, merge_of(0), [(1, 10, "a", 1), (2, 20, "b", 2)])
    lake.back_up(table)
    merge(table, merge_of(1), [(1, 11, "x", 11), (2, None, None, 12)])
    lake.restore(table)
    assert {each.interval for each in table.holdings()} == {"range 0"}
    assert rows_of(table) == {1: (10, "a"), 2: (20, "b")}
    assert merge(table, merge_of(0), []).action is Action.NOTHING
    for action in (Action.MERGE, Action.NOTHING):
        assert merge(table, merge_of(1), [(1, 11, "x", 11), (2, None, None, 12)]).action is action
        assert rows_of(table) == {1: (11, "x")}


@KINDS
def test_a_dropped_table_that_is_made_again_has_merged_nothing(lake, table):
    merge(table, merge_of(3), [(1, 10, "a", 31)])
    with pytest.raises(LandingError, match="does not lie after 'range 3'"):
        merge(table, merge_of(1), [])
    first = table.identity()
    lake.drop(table)
    assert table.holdings() == []
    for action in (Action.MERGE, Action.NOTHING):
        assert merge(table, merge_of(1), [(2, 20, "b", 11)]).action is action
        assert rows_of(table) == {2: (20, "b")}
    assert [each.interval for each in table.holdings()] == ["range 1"]
    assert (table.is_target(first), table.is_target(table.identity())) == (False, True)
