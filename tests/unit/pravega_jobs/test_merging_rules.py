"""Whether a range may be merged into a table, by what the table holds."""

import itertools
from typing import Any

import pytest
from tests.unit.pravega_jobs.noted import Noted

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError, LandingError, LedgerError
from aiopravega.ledger import Interval
from pravega_jobs.landing import Holding, Landing, ParquetFolder
from pravega_jobs.landing.cut_order import at_or_after
from pravega_jobs.merging import Deletes, Merge, MergeRules, TableRules, merge_changes
from pravega_jobs.merging.merges import decide

STREAM = StreamName("shop", "inv.public.orders")


def cut(*positions, stream=STREAM):
    """Of (number, epoch, offset)."""
    return StreamCut(stream, {SegmentId(stream, number, epoch): offset for number, epoch, offset in positions})


def merge(name, start, end, key=("id",), stream=STREAM):
    cuts = StreamCutRange(*(cut((0, 0, each), stream=stream) for each in (start, end)))
    return Merge(Landing(Interval("merger", stream, name), cuts), MergeRules(key))


def held(name, start, end):
    return Holding.of(merge(name, start, end).landing, 1)


def test_a_range_is_merged_once_and_in_its_order():
    table = [held("monday", 0, 10), held("wednesday", 20, 30)]
    ours = merge("wednesday", 20, 30).rules.of_table
    assert decide(Noted(table), merge("thursday", 30, 40), ours, in_order=True) is None
    assert decide(Noted(table), merge("monday", 0, 10), ours, in_order=True) == table[0]
    assert decide(Noted([]), merge("monday", 0, 10), None, in_order=True) is None
    with pytest.raises(LandingError, match="does not lie after 'wednesday'"):
        decide(Noted(table), merge("tuesday", 10, 20), ours, in_order=True)
    assert decide(Noted(table), merge("tuesday", 10, 20), ours, in_order=False) is None


@pytest.mark.parametrize("in_order", [True, False])
def test_ranges_that_a_restored_table_lacks_are_merged_before_others(in_order):
    table = [held("monday", 0, 10), held("tuesday", 10, 20), held("wednesday", 20, 30)]
    restored, ours = Noted(table, undone=table[1:]), merge("monday", 0, 10).rules.of_table
    for late in (merge("wednesday", 20, 30), merge("thursday", 30, 40)):
        with pytest.raises(LandingError, match=r"lacks the changes of 'tuesday'.*pravega cuts reopen"):
            decide(restored, late, ours, in_order=in_order)
    assert decide(restored, merge("monday", 0, 10), ours, in_order=in_order) == table[0]
    assert decide(restored, merge("tuesday", 10, 20), ours, in_order=in_order) is None
    again = Noted(table, undone=table[2:])
    assert decide(again, merge("wednesday", 20, 30), ours, in_order=in_order) is None


def test_a_merge_is_refused_where_others_have_taken_rows_out():
    table = Noted([held("monday", 0, 10)], taken="DELETE in version 7 (accept)")
    ours = merge("monday", 0, 10).rules.of_table
    for given in (merge("monday", 0, 10), merge("tuesday", 10, 20)):
        with pytest.raises(LandingError, match=r"DELETE in version 7 \(accept\)"):
            decide(table, given, ours, in_order=True)
    assert decide(Noted([], taken="DELETE"), merge("monday", 0, 10), None, in_order=True) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (merge("monday", 0, 12), "holds this interval with another range"),
        (merge("tuesday", 10, 20, key=("id", "line")), "is merged with key id, hard deletes"),
        (merge("tuesday", 10, 20, stream=StreamName("shop", "other")), "holds changes of shop/inv.public.orders"),
    ],
)
def test_what_a_table_cannot_take_is_refused(given, message):
    with pytest.raises(LandingError, match=message):
        decide(Noted([held("monday", 0, 10)]), given, merge("monday", 0, 10).rules.of_table, in_order=True)


END = -1


@pytest.mark.parametrize(
    ("start", "end", "after"),
    [
        (cut((0, 0, 5), (1, 0, 5)), cut((0, 0, 5), (1, 0, 5)), True),
        (cut((0, 0, 6), (1, 0, 5)), cut((0, 0, 5), (1, 0, 5)), True),
        (cut((0, 0, 6), (1, 0, 4)), cut((0, 0, 5), (1, 0, 5)), False),
        (cut((0, 0, END)), cut((0, 0, 5)), True),
        (cut((0, 0, 5)), cut((0, 0, END)), False),
        (cut((1, 1, 0), (2, 1, 0)), cut((0, 0, 9)), True),
        (cut((0, 0, 9)), cut((1, 1, 0), (2, 1, 0)), False),
        (cut((1, 1, 0), (2, 1, 0), (3, 0, 4)), cut((0, 0, 9), (3, 0, 5)), False),
    ],
)
def test_cuts_are_compared_without_asking_a_server(start, end, after):
    assert at_or_after(start, end) is after


def test_ranges_that_follow_each_other_are_in_order_over_all_segments():
    # Cuts of a reader that is late in one half of the keys, while the other half was scaled twice.
    cuts = [cut((0, 0, 0), (1, 0, 0)), cut((5, 3, 0), (6, 3, 0), (1, 0, 7)), cut((5, 3, 4), (6, 3, 4), (3, 2, 1))]
    ends = [*cuts, cut((7, 5, 0), (6, 3, 5), (3, 2, 2)), cut((7, 5, 1), (6, 3, 6), (9, 4, 0))]
    rules = MergeRules(("id",))
    table: list[Holding] = []
    for number, (start, end) in enumerate(itertools.pairwise(ends)):
        one = Merge(Landing(Interval("merger", STREAM, str(number)), StreamCutRange(start, end)), rules)
        assert decide(Noted(table), one, rules.of_table, in_order=True) is None
        table.append(Holding.of(one.landing, 0))


def test_rules_of_a_table_are_read_back_and_wrong_rules_are_refused():
    rules = MergeRules.of(("order_id", "line"), deletes="soft", new_columns="add")
    assert rules.deletes is Deletes.SOFT
    assert TableRules.from_text(rules.of_table.to_text()) == rules.of_table
    with pytest.raises(LedgerError, match="pravega.merge"):
        TableRules.from_text('{"key": ["id"]}')
    for key in ((), ("id", "id"), ""):
        with pytest.raises(ConfigurationError, match="must name the columns that identify a row"):
            MergeRules.of(key)
    with pytest.raises(ConfigurationError, match="new_columns is fail, ignore, add, not 'rest'"):
        MergeRules.of("id", new_columns="rest")


def test_tables_that_cannot_replace_rows_are_refused_by_name(tmp_path):
    monday = merge("monday", 0, 10)
    no_frame: Any = None  # the table is checked first
    with pytest.raises(ConfigurationError, match="use delta:/folder, iceberg:"):
        merge_changes(no_frame, ParquetFolder(str(tmp_path)), monday.landing, monday.rules)
