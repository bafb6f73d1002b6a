"""Conditions of Polars and PyArrow: the segments and pieces that they leave to read."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pyarrow as pa
import pytest
from polars import col
from polars.io.plugins import register_io_source
from pyarrow import compute as pc
from pyarrow.compute import field

from aiopravega import SegmentId, StreamName, TimeUnit
from aiopravega.cuts import SegmentRange
from aiopravega.errors import ConfigurationError
from aiopravega.event_time.marks import Watermark
from pravega_jobs.frames.conditions import polars_may_hold
from pravega_jobs.frames.expressions import check_filter, expression_may_hold
from pravega_jobs.frames.limits import KnownColumns, Rows, TimeColumn, limit_at, limits_by_positions

ORDERS, RETURNS = StreamName("examples", "orders"), StreamName("examples", "returns")
PARTS = [SegmentRange(SegmentId(stream, number, 0), 100, 200) for stream in (ORDERS, RETURNS) for number in (0, 1)]
COLUMNS = {"scope": pl.String, "stream": pl.String, "segment_id": pl.Int64, "offset": pl.Int64, "event": pl.Binary}
KNOWN = KnownColumns({name: name for name in COLUMNS if name != "event"})
SCHEMA = pa.schema(
    [
        pa.field("event", pa.binary()),
        *(pa.field(name, pa.string()) for name in ("scope", "stream")),
        *(pa.field(name, pa.int64()) for name in ("segment_id", "offset")),
    ]
)
ALL, NONE = "orders0 orders1 returns0 returns1", ""


def left(condition):
    """The segments that are left when a scan of Polars gets the condition as Polars has changed it."""
    found: list[str] = []

    def read(_columns, predicate, _rows, _size):
        found.append(names(lambda rows: [True] * len(rows) if predicate is None else asked(predicate)(rows)))
        yield pl.DataFrame(schema=COLUMNS)

    register_io_source(read, schema=COLUMNS).filter(condition).collect()
    return " ".join(found)


def asked(predicate, known=KNOWN):
    return polars_may_hold(predicate, known)


def names(may_hold):
    """The segments that may have rows."""
    answers = may_hold([Rows(part) for part in PARTS])
    parts = [part for part, may in zip(PARTS, answers, strict=True) if may]
    return " ".join(f"{part.segment.stream.stream}{part.segment.number}" for part in parts)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (col("stream") == "orders", "orders0 orders1"),
        (col("stream") != "orders", "returns0 returns1"),
        (col("stream").str.starts_with("ret"), "returns0 returns1"),
        (col("stream").is_in(["orders"]) & (col("segment_id") > 0), "orders1"),
        (~((col("stream") == "orders") | (col("segment_id") == 0)), "returns1"),
        (pl.concat_str("stream", "segment_id") == "orders1", "orders1"),
        (col("segment_id").is_null(), NONE),
        (col("segment_id").is_not_null(), ALL),
        ((col("stream") == "orders") & (col("event") == b"a"), "orders0 orders1"),
        ((col("stream") == "orders") | (col("event") == b"a"), ALL),
        ((col("stream") == "orders") | (col("offset") > 192), "orders0 orders1"),
        ((col("segment_id") == 1) & (col("offset") < 101), "orders1 returns1"),
    ],
    ids=str,
)
def test_conditions_on_what_a_segment_has_in_common_leave_it_out(condition, expected):
    assert left(condition) == expected


@pytest.mark.parametrize(
    ("condition", "may_fit"),
    [
        (col("offset") == 192, True),
        (col("offset") == 193, False),  # a header would not fit in
        (col("offset") == 99, False),
        (col("offset") > 191, True),
        (col("offset") > 192, False),
        (pl.lit(192) < col("offset"), False),
        (col("offset") >= 192, True),
        (col("offset") < 100, False),
        (col("offset") <= pl.lit(100, pl.Int32), True),
        (~(col("offset") > 99), False),
        (col("offset").is_between(193, 300) & (col("event") == b"a"), True),  # not a form that is known
        (pl.sql_expr('"offset" BETWEEN 193 AND 300'), False),
        ((col("offset") < 100) | (col("offset") > 150), True),
        ((col("offset") < 100) | (col("offset") > 192), False),
        (col("offset") != 150, True),
        (col("offset") + 1 > 300, True),
        (col("offset") > 300.5, True),
        (col("offset") > col("offset").max(), True),
        (col("event") == b"a", True),
        (col("offset").xor(col("segment_id")) > 1, True),
        (pl.lit(True), True),
    ],
    ids=str,
)
def test_comparisons_of_offsets_leave_out_segments_and_others_do_not(condition, may_fit):
    assert left(condition) == (ALL if may_fit else NONE)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (field("stream") == "orders", "orders0 orders1"),
        (field("stream").isin(["returns", "others"]) & (field("segment_id") > 0), "returns1"),
        (~((field("stream") == "orders") | (field("segment_id") == 0)), "returns1"),
        (pc.starts_with(field("stream"), "ret"), "returns0 returns1"),
        (field("segment_id").is_null(), NONE),
        ((field("stream") == "orders") & (field("event") == b"a"), "orders0 orders1"),
        ((field("stream") == "orders") | (field("event") == b"a"), ALL),
        (field("offset") == 192, ALL),
        (field("offset") == 193, NONE),  # a header would not fit in
        (field("offset").isin([99, 193]), NONE),
        ((field("offset") < 100) | (field("offset") > 192), NONE),
        (field("offset") + 1 > 300, ALL),
        (pc.scalar(True), ALL),
    ],
    ids=str,
)
def test_expressions_of_arrow_leave_out_what_arrow_rules_out(condition, expected):
    assert names(expression_may_hold(check_filter(condition, SCHEMA), SCHEMA, KNOWN)) == expected


def test_a_filter_that_cannot_be_used_is_refused():
    refused = [
        ("offset > 5", "must be an expression of pyarrow.compute, such as field"),
        (field("town") == "Oslo", r"\(town == \"Oslo\"\), which cannot be used on the columns event, scope, stream"),
        (field("offset"), "must evaluate to bool"),
        (field("offset") > "a", "no kernel matching"),
    ]
    for condition, said in refused:
        with pytest.raises(ConfigurationError, match=said):
            check_filter(condition, SCHEMA)


NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
TIMED = KnownColumns(KNOWN.kinds, TimeColumn("at", pa.timestamp("us", tz="UTC"), TimeUnit.US, TimeUnit.MS))
TIMED_SCHEMA = SCHEMA.append(pa.field("at", pa.timestamp("us", tz="UTC")))
BOTH = [
    pytest.param(lambda of: polars_may_hold(of(col), TIMED), id="polars"),
    pytest.param(lambda of: expression_may_hold(of(field), TIMED_SCHEMA, TIMED), id="arrow"),
]


@pytest.mark.parametrize("may_hold", BOTH)
@pytest.mark.parametrize(
    ("condition", "limits"),
    [
        (lambda column: column("offset") < 1_000_000, [1_000_000, 200]),
        (lambda column: column("offset") == 1_000_000, [1_000_000, 0]),
        (lambda column: (column("segment_id") == 1) & (column("offset") >= 100), [0, 200]),
        (lambda column: (column("segment_id") == 1) | (column("offset") <= 1_000_000), [1_000_000, 200]),
        (lambda column: column("offset") > 1_000_000, [8_000_000, 0]),
        (lambda column: column("event") == b"a", [8_000_000, 200]),
    ],
    ids=["before", "at", "other segment", "or", "after", "unknown"],
)
def test_a_segment_is_read_up_to_the_last_offset_that_may_fit(may_hold, condition, limits):
    parts = [SegmentRange(SegmentId(ORDERS, number, 0), 0, end) for number, end in enumerate((8_000_000, 200))]

    found = limits_by_positions(parts, may_hold(condition))

    for part, expected in zip(parts, limits, strict=True):
        assert expected <= found[part] <= min(expected + 64 * 1024 + 1, part.end) if expected else found[part] == 0


@pytest.mark.parametrize("may_hold", BOTH)
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (lambda column: column("at") < NOON, False),
        (lambda column: column("at") <= NOON, True),
        (lambda column: column("at") == NOON, True),
        (lambda column: column("at") == NOON - timedelta(microseconds=1), False),
        (lambda column: (column("at") < NOON) & (column("offset") > 5), False),
        (lambda column: (column("at") < NOON) | (column("offset") > 5), True),
        (lambda column: column("at") >= NOON - timedelta(days=1), True),
        (lambda column: (column("at") >= NOON - timedelta(days=1)) & (column("at") < NOON), False),
        # An event without a time may follow.
        (lambda column: column("at").is_null(), True),
    ],
    ids=["<", "<=", "==", "earlier", "and", "or", ">=", "between", "null"],
)
def test_no_row_is_older_than_the_watermark_before_it(may_hold, condition, expected):
    since = TimeUnit.MS.number(NOON)

    assert may_hold(condition)([Rows(since=since), Rows()]) == [expected, True]


def test_after_a_mark_lie_the_rest_of_its_segments_and_their_successors():
    mark = Watermark(1, 1, {SegmentId(ORDERS, 0, 0): 150, SegmentId(ORDERS, 2, 1): 300, SegmentId(ORDERS, 3, 1): 50})
    ranges = [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2)]

    found = [limit_at(mark, SegmentRange(SegmentId(ORDERS, number, epoch), 100, 200)) for number, epoch in ranges]

    # The second may lie before the mark; the last is a successor.
    assert found == [150, 200, 200, 100, 100]
    assert limit_at(mark, PARTS[2]) == 200
