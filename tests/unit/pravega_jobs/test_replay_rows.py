"""Rows of two sides that a replay compares: which texts are equal, which rows are pairs, what a result says."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiopravega.errors import ConfigurationError
from pravega_jobs.sandbox.differences import Side, row_pairs
from pravega_jobs.sandbox.result import ColumnChanges, KindsOfValues, ReplayedInterval, ReplayResult
from pravega_jobs.sandbox.rows import RowTexts, kinds_that_differ, objects_of, plain
from pravega_jobs.sandbox.tally import Tally

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
MEMORY = 100_000_000
KEYED = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), max_size=12)


@pytest.mark.parametrize(
    ("one", "other", "are_equal"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 2.0}, {"a": 2}, True),
        ({"a": 2**53 + 1}, {"a": float(2**53)}, False),
        ({"a": None}, {}, True),
        ({"a": True}, {"a": 1}, False),
        ({"a": "1"}, {"a": 1}, False),
        ({"a": float("nan")}, {"a": float("nan")}, True),
        ({"a": NOON}, {"a": NOON.astimezone(timezone(timedelta(hours=2)))}, True),
        ({"a": Decimal("1.50")}, {"a": Decimal("1.5")}, True),
        ({"a": [2.0, None]}, {"a": [2, None]}, True),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}}, True),
        ({"a": b"\xff"}, {"a": b"\xfe"}, False),
        ({"a": ""}, {}, False),
    ],
)
def test_equal_rows_have_one_text(one, other, are_equal):
    first, second = RowTexts([]).texts([one, other])
    assert (first == second) is are_equal


def test_a_key_is_made_of_its_columns_and_null_is_a_value_of_it():
    rows: Any = [{"id": 1, "day": "x", "v": 3}, {"id": 1.0, "day": "x", "v": 4}, {"id": 1, "v": 5}]
    keys = [key for key, _ in RowTexts(["id", "day"]).texts(rows)]
    assert keys == ['[1, "x"]', '[1, "x"]', "[1, null]"]


def test_columns_differ_by_the_kinds_of_their_values_and_not_by_values():
    before, now = RowTexts([]), RowTexts([])
    list(before.texts([{"a": 1, "b": "x", "c": None}, {"a": 2.5}]))
    list(now.texts([{"a": 3, "b": [1], "d": Decimal(1)}]))
    assert kinds_that_differ(before, now) == [KindsOfValues("b", "text", "list"), KindsOfValues("d", None, "decimal")]
    assert kinds_that_differ(before, RowTexts([])) == []


def test_kinds_of_values_inside_others_differ():
    before, now = RowTexts([]), RowTexts([])
    list(before.texts([{"price": {"net": Decimal("1.5")}, "tags": [], "more": [{"n": 1}]}]))
    list(now.texts([{"price": {"net": "1.5"}, "tags": ["a"], "more": [{"n": "1"}]}]))
    assert kinds_that_differ(before, now) == [
        KindsOfValues("more[].*", "number", "text"),
        KindsOfValues("price.*", "decimal", "text"),
    ]


def test_events_that_are_no_objects_are_refused_with_their_bytes():
    assert list(objects_of([b'{"a": 1}'], "the events")) == [{"a": 1}]
    for event in (b"\xff", b"[1]", b"no", b"", b"[" * 100_000):
        with pytest.raises(ConfigurationError, match="the events have b'.*which is not a JSON object"):
            list(objects_of([event], "the events"))


def test_values_of_other_types_are_texts():
    assert plain(timedelta(minutes=1)) == "0:01:00"
    assert plain(NOON.time()) == "12:00:00"
    assert plain(Decimal("NaN")) == "NaN"


@pytest.fixture(scope="module", params=[True, False], ids=["by key", "by row"])
def sides(request):
    """Whether rows have keys, and the database that compares them."""
    with row_pairs(has_key=request.param, memory=MEMORY) as pairs:
        yield request.param, pairs


@given(before=KEYED, now=KEYED)
@settings(max_examples=50, deadline=None)
def test_rows_that_differ_are_those_of_two_multisets(sides, before, now):
    has_key, pairs = sides
    left, right = Counter(before) - Counter(now), Counter(now) - Counter(before)
    pairs.clear()
    for side, rows in ((Side.BEFORE, before), (Side.NOW, now)):
        assert pairs.add(side, [(key if has_key else None, f"{key}{row}") for key, row in rows]) == len(rows)
    found = list(pairs.differences())
    assert Counter(each.before for each in found if each.before) == Counter(f"{k}{r}" for k, r in left.elements())
    assert Counter(each.now for each in found if each.now) == Counter(f"{k}{r}" for k, r in right.elements())
    # Of each key as many rows are changed as both sides have left.
    keys = Counter(k for k, _ in left.elements()) & Counter(k for k, _ in right.elements())
    assert Counter(each.key for each in found if each.before and each.now) == (keys if has_key else Counter())
    twice = {k for rows in (before, now) for k, count in Counter(k for k, _ in rows).items() if count > 1}
    assert pairs.repeated_keys() == (len(twice) if has_key else 0)


def test_a_result_has_few_rows_and_short_values_which_its_page_escapes():
    tally = Tally(["id"], 2)
    before, now = RowTexts(["id"]), RowTexts(["id"])
    with row_pairs(has_key=True, memory=MEMORY) as pairs:
        pairs.clear()
        pairs.add(Side.BEFORE, before.texts({"id": n, "v": "<b>" * 1000} for n in range(50)))
        pairs.add(Side.NOW, now.texts({"id": n, "v": n if n < 10 else "<b>" * 1000} for n in range(60)))
        assert tally.add(pairs.differences()) == (10, 0, 10)
        assert pairs.repeated_keys() == 0
    [column] = tally.columns
    assert (column.column, column.changed, len(column.samples), len(tally.added)) == ("v", 10, 2, 2)
    assert len(json.dumps(column.samples)) < 2500
    interval = ReplayedInterval("<i>", "id & 1", 1, 50, 60, 10, 0, 10, scratch={"stream": "a/b", "write_id": "<w>"})
    result = ReplayResult(
        "shop/orders", "<script>", "jobs:f", "shop/out", ["id"], [interval], tally.columns, [], tally.added
    )
    page = result.to_html()
    assert not [text for text in ("<script>", "<b>", "<i>", "<w>", "id & 1") if text in page]
    assert "the rows of now are in a/b" in result.text
    assert max(map(len, result.text.splitlines())) < 600


def result_of(changed: int = 0, *schema: KindsOfValues) -> ReplayResult:
    interval = ReplayedInterval("day", "write", 1, 2, 2, 0, 0, changed)
    return ReplayResult("a/b", "c", "m:f", "a/out", [], [interval], [ColumnChanges("v", changed, [])], schema)


def test_a_result_is_the_same_only_without_any_difference():
    result_of().assert_same()
    with pytest.raises(AssertionError, match="v: none then, text now"):
        result_of(0, KindsOfValues("v", None, "text")).assert_same()
    changed = result_of(1)
    assert (changed.is_same, changed.to_json()["same"], changed.total("changed")) == (False, False, 1)


def test_bytes_that_are_no_text_differ_from_the_text_that_shows_them() -> None:
    assert plain(b"\xff") != plain(b"\\xff")
    assert plain("Köln".encode()) == "Köln"
