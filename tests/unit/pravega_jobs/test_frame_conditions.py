"""Conditions of Polars: the segments that they leave to read."""

import polars as pl
import pytest
from polars import col
from polars.io.plugins import register_io_source

from aiopravega import SegmentId, StreamName
from aiopravega.cuts import SegmentRange
from pravega_jobs.frames.conditions import parts_with_rows

ORDERS, RETURNS = StreamName("examples", "orders"), StreamName("examples", "returns")
PARTS = [SegmentRange(SegmentId(stream, number, 0), 100, 200) for stream in (ORDERS, RETURNS) for number in (0, 1)]
COLUMNS = {"scope": pl.String, "stream": pl.String, "segment_id": pl.Int64, "offset": pl.Int64, "event": pl.Binary}
ALL, NONE = "orders0 orders1 returns0 returns1", ""


def left(condition):
    """The segments that are left when a scan of Polars gets the condition as Polars has changed it."""
    found: list[str] = []

    def read(_columns, predicate, _rows, _size):
        parts = PARTS if predicate is None else parts_with_rows(predicate, PARTS)
        found.extend(f"{part.segment.stream.stream}{part.segment.number}" for part in parts)
        yield pl.DataFrame(schema=COLUMNS)

    register_io_source(read, schema=COLUMNS).filter(condition).collect()
    return " ".join(found)


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
