"""Merged tables of Delta and Iceberg that were restored, rolled back, or had rows deleted by others."""

import re

import pytest
from deltalake import DeltaTable
from tests.integration.pravega_jobs.landing_job import STREAM, new_table
from tests.integration.pravega_jobs.merging_job import Model, merge, merge_of, random_range, rows_of

from aiopravega.errors import LandingError
from aiopravega.intervals.reports.verify import FindingKind
from aiopravega.ledger import CutRecord, IntervalState
from pravega_jobs.landing import Action, DeltaFolder, compared_table


@pytest.fixture(params=["delta", "iceberg"])
def table(request, tmp_path):
    return new_table(request.param, tmp_path / "0")


def take_back(table, state):
    """Take a table back to a version or a snapshot."""
    if isinstance(table, DeltaFolder):
        DeltaTable(table.path).restore(state)
    else:
        with table.load().manage_snapshots() as snapshots:
            snapshots.rollback_to_snapshot(state)


def state_now(table):
    if isinstance(table, DeltaFolder):
        return DeltaTable(table.path).version()
    return table.load().current_snapshot().snapshot_id


@pytest.mark.parametrize("deletes", ["hard", "soft"])
def test_a_table_that_was_taken_back_merges_what_it_lacks_before_others(table, deletes):
    in_order, model = deletes == "hard", Model()
    changes = [[], random_range(0, 4), random_range(1, 4), [], random_range(3, 4), random_range(4, 4)]

    def run(number):
        return merge(table, merge_of(number, deletes), changes[number], in_order=in_order)

    for number in range(2):
        run(number)
    state = state_now(table)
    for number in range(2, 5):
        run(number)
    take_back(table, state)
    assert {each.interval for each in table.holdings()} == {"range 0", "range 1"}
    for number in (5, 4, 3):
        with pytest.raises(LandingError, match=r"lacks the changes of 'range 2'.*pravega cuts reopen"):
            run(number)
    assert run(1).action is Action.NOTHING
    assert [run(number).action for number in range(2, 6)] == [Action.MERGE] * 4
    for each in changes:
        model.take(each)
    names = ("n", "big", "_deleted") if deletes == "soft" else ("n", "big", "id")
    found = {id_: row[:2] for id_, row in rows_of(table, *names).items() if row[2] is not True}
    assert found == model.shown()
    assert len(table.holdings()) == 6


def test_a_merge_is_refused_where_others_took_rows_out_unless_accepted(table):
    merge(table, merge_of(0), [(1, 10, "a", 1), (2, 20, "b", 2)])
    (DeltaTable(table.path) if isinstance(table, DeltaFolder) else table.load()).delete("id = 1")
    for number in (0, 1):
        with pytest.raises(LandingError, match=r"others have taken rows out.*pravega.merge.accepted") as refused:
            merge(table, merge_of(number), [(3, 30, "c", 11)])
    [property_, value] = re.findall("'([^']*)'", str(refused.value).partition("the table's property")[2])[:2]
    if isinstance(table, DeltaFolder):
        DeltaTable(table.path).alter.set_table_properties({property_: value}, raise_if_not_exists=False)
    else:
        with table.load().transaction() as transaction:
            transaction.set_properties({property_: value})
    assert merge(table, merge_of(1), [(3, 30, "c", 11)]).action is Action.MERGE
    assert rows_of(table) == {2: (20, "b"), 3: (30, "c")}
    (DeltaTable(table.path) if isinstance(table, DeltaFolder) else table.load()).delete("id = 3")
    with pytest.raises(LandingError, match="others have taken rows out"):
        merge(table, merge_of(1), [])


def test_a_merged_table_is_compared_with_the_ledger(tmp_path):
    table = DeltaFolder(f"{tmp_path}/table")
    for number in range(2):
        merge(table, merge_of(number), [(number, 1, "a", number)])
    state = state_now(table)
    merge(table, merge_of(2), [(2, 1, "a", 21)])
    take_back(table, state)

    def done(number, end=None):
        one = merge_of(number, end=end).landing
        made = CutRecord.new(one.interval, one.cuts, by="test", number=number)
        return made.changed(IntervalState.DONE, "test", "a reason")

    def found():
        records = [done(0), done(1, end=25), done(2), done(3)]
        findings = compared_table(f"delta:{table.path}", STREAM, {"merger": records})["merger"]
        return [(each.kind, *each.intervals, each.text) for each in findings]

    moved, undone, missing = found()
    assert moved[:2] == (FindingKind.OTHER_RANGE, "range 1")
    assert undone[:2] == (FindingKind.NOT_HELD, "range 2")
    assert "any more: it was restored" in undone[2]
    assert missing[:2] == (FindingKind.NOT_HELD, "range 3")
    assert "any more" not in missing[2]
    DeltaTable(table.path).delete("id = 0")
    assert found()[3][:2] == (FindingKind.ROWS, "range 1")
