"""Filters: what they leave of segments and pieces, and what Spark still has to filter."""

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from aiopravega import SegmentId, StreamName
from aiopravega.cuts import SegmentRange
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.read.filters import Pushed, truth

ORDERS, RETURNS = StreamName("examples", "orders"), StreamName("examples", "returns")
PARTS = [SegmentRange(SegmentId(stream, number, 0), 100, 200) for stream in (ORDERS, RETURNS) for number in (0, 1)]
COLUMNS = Columns.of()


def left(*filters):
    pushed = Pushed()
    pushed.add(filters, COLUMNS)
    return [(part.segment.stream.stream, part.segment.number) for part in pushed.segments(PARTS)]


EVERYTHING = left()


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (EqualTo(("stream",), "orders"), [("orders", 0), ("orders", 1)]),
        (Not(EqualTo(("stream",), "orders")), [("returns", 0), ("returns", 1)]),
        (EqualTo(("STREAM",), "orders"), [("orders", 0), ("orders", 1)]),
        (In(("stream",), ("returns", "other")), [("returns", 0), ("returns", 1)]),
        (Not(In(("stream",), ("returns", None))), []),
        (StringStartsWith(("stream",), "ret"), [("returns", 0), ("returns", 1)]),
        (StringEndsWith(("stream",), "ers"), [("orders", 0), ("orders", 1)]),
        (StringContains(("stream",), "x"), []),
        (EqualTo(("scope",), "examples"), EVERYTHING),
        (EqualTo(("scope",), "Examples"), []),
        (EqualTo(("segment_id",), 1), [("orders", 1), ("returns", 1)]),
        (GreaterThan(("segment_id",), 0), [("orders", 1), ("returns", 1)]),
        (LessThanOrEqual(("segment_id",), 0), [("orders", 0), ("returns", 0)]),
        (EqualTo(("segment_id",), None), []),
        (Not(EqualTo(("segment_id",), None)), []),
        (EqualNullSafe(("segment_id",), None), []),
        (Not(EqualNullSafe(("segment_id",), None)), EVERYTHING),
        (IsNull(("segment_id",)), []),
        (IsNotNull(("segment_id",)), EVERYTHING),
    ],
)
def test_a_filter_on_what_segments_have_in_common_is_answered_completely(one, expected):
    assert left(one) == expected
    assert Pushed().add([one], COLUMNS) == []


@pytest.mark.parametrize(
    ("one", "may_fit"),
    [
        (EqualTo(("offset",), 150), True),
        (EqualTo(("offset",), 192), True),
        (EqualTo(("offset",), 193), False),  # a header would not fit in
        (EqualTo(("offset",), 99), False),
        (GreaterThan(("offset",), 191), True),
        (GreaterThan(("offset",), 192), False),
        (GreaterThanOrEqual(("offset",), 192), True),
        (LessThan(("offset",), 100), False),
        (LessThan(("offset",), 101), True),
        (LessThanOrEqual(("offset",), 100), True),
        (Not(GreaterThan(("offset",), 99)), False),
        (Not(LessThan(("offset",), 193)), False),
        (Not(EqualTo(("offset",), 150)), True),
        (In(("offset",), (10, None, 150, 300)), True),
        (In(("offset",), (10, 20)), False),
        (In(("offset",), (None,)), False),
        (EqualTo(("offset",), None), False),
        (Not(LessThan(("offset",), None)), False),
        (IsNull(("offset",)), False),
        (Not(IsNull(("offset",))), True),
        (IsNotNull(("offset",)), True),
    ],
)
def test_a_filter_on_offsets_leaves_out_pieces_and_the_rest_to_spark(one, may_fit):
    assert bool(left(one)) is may_fit
    assert Pushed().add([one], COLUMNS) == [one]


@pytest.mark.parametrize(
    "one",
    [
        EqualTo(("event",), b"x"),
        EqualTo(("stream", "part"), "orders"),
        EqualTo(("unknown",), 1),
        EqualTo(("stream",), 1),
        EqualTo(("segment_id",), "1"),
        EqualTo(("segment_id",), True),
        StringContains(("segment_id",), "1"),
        GreaterThan(("offset",), 1.5),
    ],
)
def test_other_filters_are_left_to_spark(one):
    assert left(one) == EVERYTHING
    assert Pushed().add([one], COLUMNS) == [one]


def test_all_filters_have_to_fit():
    filters = [EqualTo(("stream",), "orders"), GreaterThan(("segment_id",), 0), EqualTo(("offset",), 150)]

    assert left(*filters) == [("orders", 1)]
    assert left(*filters, LessThan(("offset",), 5)) == []


def test_unknown_is_neither_true_nor_false():
    assert truth(In(("a",), (1, None)), 2) is None
    assert truth(In(("a",), (1, None)), 1) is True
    assert truth(Not(EqualTo(("a",), None)), 1) is None
