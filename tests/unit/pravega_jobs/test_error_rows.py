"""Errors of landings: their column, what is taken out of batches, limits, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.pravega_jobs.lines_table import LinesTable

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError, LandingError, TooManyErrorsError
from aiopravega.schema.arrow.sql_columns import columns_of
from pravega_jobs.error_rows import ERROR_TYPE, Sieve, errors_of
from pravega_jobs.landing import Holding, land
from pravega_jobs.landing.error_sinks import NAME
from pravega_jobs.landing.error_streams import is_whole
from pravega_jobs.landing.errors import MostErrors
from pravega_jobs.landing.land import landing_of
from pravega_jobs.spark.options import ERROR, ERROR_SQL

STREAM = StreamName("shop", "orders")
SEGMENT = SegmentId(STREAM, 2, 0)
CUTS = StreamCutRange(StreamCut(STREAM, {SEGMENT: 0}), StreamCut(STREAM, {SEGMENT: 100}))

# Of tables of the tests, which no text names.
NAMES = ("table", "errors")


def rows(*events: bytes | None) -> pa.Table:
    """Rows with their numbers, and an error for each that has an event."""
    errors = [None if event is None else {"event": event, "pointer": str(event), "reason": "why"} for event in events]
    return pa.table({"id": range(len(events)), "_error": pa.array(errors, ERROR_TYPE), "after": [1] * len(events)})


def test_errors_have_the_type_that_sql_texts_give_them():
    assert columns_of(f"{ERROR} {ERROR_SQL}")[0].type == ERROR_TYPE


def test_errors_have_place_reason_and_the_id_of_the_header():
    events = pa.array([b"\1\0\0\1\2x", b"good", b"bad"], pa.binary())

    found = errors_of(events, np.array([0, 14, 26]), SEGMENT, {2: "no\0", 0: "odd"}, np.array([258, -1, -1]))

    assert found.to_pylist() == [
        {
            "event": b"\1\0\0\1\2x",
            "routing_key": None,
            "pointer": "shop/orders/2.#epoch.0:0-14",
            "reason": "odd",
            "schema_id": 258,
        },
        {
            "event": b"bad",
            "routing_key": None,
            "pointer": "shop/orders/2.#epoch.0:26-11",
            "reason": "no\\0",
            "schema_id": None,
        },
    ]


def test_rows_with_errors_are_taken_out_and_go_to_another_process():
    sieve, other = Sieve(), Sieve()
    good = list(sieve.sift(rows(None, b"x", None, b"y").to_batches(max_chunksize=2)))

    assert [batch.to_pydict() for batch in good] == [{"id": [0], "after": [1]}, {"id": [2], "after": [1]}]
    packed = sieve.packed()
    assert packed is not None
    other.unpack(packed[0].as_py())
    other.unpack(None)
    assert [each["event"] for each in other.errors().to_pylist()] == [b"x", b"y"]
    assert (Sieve().packed(), len(Sieve().errors())) == (None, 0)


def test_more_bytes_of_errors_than_memory_may_have_are_refused():
    with pytest.raises(LandingError, match="more than 10 bytes.*The first: why"):
        list(Sieve(largest=10).sift(rows(b"x" * 11).to_batches()))


def test_rows_are_not_read_on_when_too_many_are_errors():
    def batches():
        yield from rows(b"x", None, b"y").to_batches(max_chunksize=1)
        raise AssertionError("read on")

    sieve, limit = Sieve(), MostErrors.parse(1)
    limit.hold(sieve, "the landing")
    with pytest.raises(TooManyErrorsError, match="the landing: 2 of the rows so far are errors, and most_errors is 1"):
        list(sieve.sift(batches()))


@pytest.mark.parametrize(("given", "held"), [(None, 9), ("1", 1), ("33.4%", 1), ("33.3%", 0), ("0%", 0)])
def test_a_part_of_known_rows_is_judged_before_the_last(given, held):
    sieve = Sieve()
    MostErrors.parse(given).hold(sieve, "the landing", rows=3)
    assert (sieve.takes(held), given is None or not sieve.takes(held + 1)) == (True, True)
    MostErrors.parse(given).hold(sieve, "the landing")
    assert sieve.takes(10) == ("%" in str(given) or given is None)


@pytest.mark.parametrize("given", ["many", -1, True, "101%", "-1%", 0.5])
def test_limits_that_say_nothing_are_refused(given):
    with pytest.raises(ConfigurationError, match="most_errors is .*must be a number of errors"):
        MostErrors.parse(given)


@pytest.mark.parametrize(
    ("given", "refused"), [(None, False), (1, False), ("0", True), ("33.4%", False), ("33.3 %", True), ("0%", True)]
)
def test_one_error_of_three_rows_is_held_to_the_limit(given, refused):
    limit, landing, errors = MostErrors.parse(given), landing_of(CUTS, "lake", "monday"), pa.array([{}], ERROR_TYPE)
    if not refused:
        limit.check(errors, 2, landing)
        return
    with pytest.raises(LandingError, match="1 of 3 rows are errors"):
        limit.check(errors, 2, landing)


@pytest.mark.parametrize(
    ("frame", "options", "complaint"),
    [
        (rows(b"x"), {}, "have the column '_error'.*give errors"),
        (pa.table({"id": [1]}), {"errors": "errors"}, "'_error', which is missing: read the events with on_error=dead"),
        (pa.table({"_error": ["x"]}), {"errors": "errors"}, "'_error', which is string: read"),
        (rows(b"x"), {"errors": "table"}, "cannot go into the same table"),
        (rows(b"x"), {"errors": "stream:shop/orders"}, "cannot go into the same stream: each would be read again"),
        (rows(b"x"), {"errors": "stream:orders"}, "stream 'orders' has no scope"),
        (rows(b"x"), {"errors": "orders"}, "is not the name of a table"),
        (rows(), {"most_errors": 1}, "most_errors=1 needs errors"),
    ],
)
def test_errors_without_a_sink_and_a_sink_without_errors_are_refused(tmp_path, frame, options, complaint):
    given = options | ({"errors": LinesTable(tmp_path / options["errors"])} if options.get("errors") in NAMES else {})
    with pytest.raises(ConfigurationError, match=complaint):
        land(frame, LinesTable(tmp_path / "table"), CUTS, consumer="lake", interval="monday", **given)
    assert list(tmp_path.iterdir()) == []


def test_a_column_of_this_name_and_another_type_lands_as_any_other(tmp_path):
    landed = land(pa.table({"_error": ["x"]}), LinesTable(tmp_path), CUTS, consumer="lake", interval="monday")
    assert (landed.holding.rows, landed.holding.errors) == (1, None)


def test_a_note_has_its_errors_and_notes_without_keep_their_text():
    landing = landing_of(CUTS, "lake", "monday")
    assert b"errors" not in Holding.of(landing, 1).to_json()


def test_the_names_of_errors_intervals_are_read_again():
    found = NAME.fullmatch("a errors 1\nb errors 12-0123456789abcdef-fedcba9876543210")
    assert found is not None
    assert found.groupdict() == {"interval": "a errors 1\nb", "generation": "12", "table": "0123456789abcdef"}
    assert NAME.fullmatch("monday") is None


@pytest.mark.parametrize(
    ("start", "head", "whole"),
    [
        ({(0, 0): 5}, {(0, 0): 5}, True),
        ({(0, 0): 5}, {(0, 0): 6}, False),
        ({(0, 0): 5, (1, 0): 5}, {(0, 0): 0, (1, 0): 9}, False),
        ({(2, 1): 0, (1, 0): 5}, {(0, 0): 9, (1, 0): 5}, True),
        # Before or after a segment at the head that is as old: requests would tell.
        ({(2, 1): 0, (1, 0): 5}, {(3, 2): 0, (1, 0): 5}, False),
        ({(3, 2): 0, (1, 0): 5}, {(2, 1): 0, (1, 0): 5}, True),
        ({(0, 0): -1}, {(0, 0): 0}, False),
        ({}, {(0, 0): 0}, False),
    ],
)
def test_a_stream_certainly_has_what_begins_after_its_head(start, head, whole):
    def cut(positions: dict[tuple[int, int], int]) -> StreamCut:
        if not positions:
            return StreamCut.unbounded()
        return StreamCut(STREAM, {SegmentId(STREAM, *segment): offset for segment, offset in positions.items()})

    assert is_whole(cut(start), cut(head)) == whole
