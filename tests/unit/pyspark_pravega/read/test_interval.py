"""Reads of an interval of event times: what is refused before any server is asked, and which rows are in it."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import (
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from aiopravega import SegmentId, StreamCut, StreamName
from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.positions import NamedCut
from aiopravega.schema.arrow.arrays import values_of
from aiopravega.schema.open.blocks.targets import JsonTarget
from aiopravega.times import TimeUnit
from pravega_jobs.decoding.event_times import within
from pravega_jobs.decoding.options import OnError
from pravega_jobs.decoding.typed import TypedPlan
from pyspark_pravega.arrow_types import arrow_schema
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.read.interval import TimeInterval
from pyspark_pravega.read.read_options import ReadOptions
from pyspark_pravega.read.sources import Source
from pyspark_pravega.read.stream import PravegaStreamReader

STREAM = StreamName("examples", "orders")
SEGMENT = SegmentId(STREAM, 0, 0)
CUT = StreamCut(STREAM, {SEGMENT: 100}).to_text()
OPTIONS = {"stream": "examples/orders", "decode": "json", "event_time": "at"}
JANUARY = {"event_time_from": "2013-01-01T00:00:00Z", "event_time_to": "2013-02-01T01:00:00+01:00"}
NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)
COLUMNS = StructType(
    [
        StructField("id", LongType()),
        StructField("at", TimestampType()),
        StructField("address", StructType([StructField("Since", LongType()), StructField("zip", IntegerType())])),
        StructField("local", TimestampNTZType()),
        StructField("text", StringType()),
    ]
)


def parse(**more):
    return ReadOptions.parse(OPTIONS | more)


def plan_of(column: str, since, until, unit=TimeUnit.MS, on_error=OnError.FAIL):
    target = JsonTarget(arrow_schema(COLUMNS))
    interval = TimeInterval(column, since, until, unit)
    return within(TypedPlan(target, on_error), column, interval.numbers, unit, on_error)


def decode(plan, *events):
    payloads = values_of(
        [json.dumps(event).encode() if isinstance(event, dict) else event for event in events], pa.binary()
    )
    return plan.decoder().decode(payloads, np.arange(len(events), dtype=np.int64) * 10, SEGMENT)


def ids(decoded):
    found = decoded.columns[0].to_pylist()
    if decoded.taken is not None:
        assert len(decoded.taken) == len(found)
    return found


def test_a_read_of_times_takes_its_range_from_the_watermarks():
    options = parse(**JANUARY, event_time_ahead_ms="1500", event_time_clip="true")

    assert options.sources == (Source(STREAM),)
    assert options.interval is not None
    assert options.interval.numbers(TimeUnit.MS) == (1_356_998_400_000, 1_359_676_800_000)
    assert (options.interval.ahead, options.interval.clip) == (timedelta(seconds=1.5), True)
    assert parse().interval is None
    assert parse(event_time_from="-5", event_time_to="7").interval == TimeInterval("at", -5, 7)


def test_given_cuts_bound_a_read_of_times():
    both = parse(**JANUARY, start_stream_cut="earliest", end_stream_cut=CUT).sources[0]

    assert (both.start, both.end) == (NamedCut.HEAD, StreamCut.from_text(CUT))
    for one in ("start_stream_cut", "end_stream_cut"):
        with pytest.raises(ConfigurationError, match="examples/orders: one cut and event times are given"):
            parse(**JANUARY, **{one: CUT})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"event_time_to": ""}, "belong together"),
        ({"event_time": ""}, "need option 'event_time'"),
        ({"event_time_from": "2013-01-01T00:00:00"}, "'event_time_from': the time 2013-01-01T00:00:00 has no zone"),
        ({"event_time_to": "2013-01-01"}, "'event_time_to': the time 2013-01-01T00:00:00 has no zone"),
        ({"event_time_to": "tomorrow"}, "'event_time_to' is 'tomorrow', but must be a time with its zone"),
        ({"event_time_to": "2012-01-01T00:00:00Z"}, "nothing is between them"),
        ({"event_time_to": str(2**63)}, "more than 64 bits"),
        ({"event_time_ahead_ms": "-1"}, "'event_time_ahead_ms' is -1"),
        ({"event_time_form": "1"}, "did you mean event_time_from"),
    ],
)
def test_what_cannot_work_is_refused(wrong, message):
    with pytest.raises(ConfigurationError, match=message):
        parse(**JANUARY | wrong)


def test_a_streaming_query_has_no_interval():
    with pytest.raises(ConfigurationError, match="an interval of event times is for spark.read"):
        PravegaStreamReader(parse(**JANUARY), Columns.of())


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("when", "names column 'when', but the events have the columns id, at"),
        ("at.hour", "names column 'at.hour', but"),
        ("local", r"'local' of option 'event_time' is a timestamp\[us\]: it has no zone"),
        ("text", "is a string: it has no zone"),
        ("address", "is a struct<.*: it must be a timestamp, or a whole number"),
    ],
)
def test_a_column_that_is_no_point_in_time_is_refused(column, message):
    with pytest.raises(ConfigurationError, match=message):
        plan_of(column, 0, 1)


def test_an_interval_needs_decoded_events_without_nulls():
    with pytest.raises(ConfigurationError, match="read raw: give option 'decode'"):
        within(None, "at", TimeInterval("at", 0, 1).numbers, TimeUnit.MS, OnError.FAIL)
    with pytest.raises(ConfigurationError, match="every interval would have them"):
        plan_of("at", 0, 1, on_error=OnError.NULL)
    with pytest.raises(ConfigurationError, match="on_error=dead keeps events"):
        plan_of("at", 0, 1, on_error=OnError.DEAD)


def test_rows_of_other_times_are_left_out():
    plan = plan_of("AT", NEW_YEAR, NEW_YEAR + timedelta(days=1))
    times = ["2012-12-31T23:59:59.999999Z", "2013-01-01T00:00:00Z", "2013-01-02T00:59:59+01:00", "2013-01-02T00:00:00Z"]

    decoded = decode(plan, *({"id": number, "at": time} for number, time in enumerate(times)))

    assert ids(decoded) == [1, 2]
    assert decoded.taken.tolist() == [1, 2]
    assert [len(column) for column in decoded.columns] == [2] * len(COLUMNS)
    assert decode(plan, {"id": 7, "at": times[1]}).taken is None  # nothing was left out
    assert ids(decode(plan, {"id": 7, "at": times[0]})) == []
    assert ids(decode(plan)) == []


@given(
    st.lists(st.integers(-5000, 5000), max_size=30),
    st.lists(st.integers(-5_000_000, 5_000_000), min_size=2, max_size=5),
)
def test_neighbours_share_no_row_and_miss_none(times, borders):
    """The column counts seconds, while the borders of the intervals have microseconds."""
    borders = sorted({-10_000_000, *borders, 10_000_000})
    moments = [NEW_YEAR + timedelta(microseconds=border) for border in borders]
    first = TimeUnit.S.number(NEW_YEAR)
    events = [{"id": number, "address": {"Since": first + time}} for number, time in enumerate(times)]

    found = []
    for since, until in pairwise(moments):
        if TimeUnit.S.first_number(since) < TimeUnit.S.first_number(until):
            found += ids(decode(plan_of("address.since", since, until, TimeUnit.S), *events))

    inside = [number for number, time in enumerate(times) if -10 <= time < 10]
    assert sorted(found) == inside


def test_an_event_without_a_time_fails_the_read_or_is_dropped(caplog):
    events = {"id": 1, "at": "2013-01-01T00:00:00Z"}, {"id": 2}, {"id": 3, "address": {}}
    year = NEW_YEAR, NEW_YEAR + timedelta(days=365)

    with pytest.raises(MalformedEventError, match="0.#epoch.0: the event at offset 10 has no time in column 'at'"):
        decode(plan_of("at", *year), *events)
    with pytest.raises(MalformedEventError, match="offset 0 has no time"):
        decode(plan_of("address.since", *year), *events)
    decoder = plan_of("at", *year, on_error=OnError.DROP).decoder()
    payloads = values_of([b"nonsense", *(json.dumps(event).encode() for event in events)], pa.binary())
    decoded = decoder.decode(payloads, np.arange(4, dtype=np.int64), SEGMENT)
    decoder.finish(SEGMENT)

    assert ids(decoded) == [1]
    assert decoded.taken.tolist() == [1]
    assert "dropped the event at offset 2, which has no time" in caplog.text
    assert "dropped 2 events without a time" in caplog.text


def test_a_worker_needs_no_pandas_to_filter():
    program = """
import sys
from tests.unit.pyspark_pravega.read.test_interval import NEW_YEAR, OnError, decode, plan_of
before = "pandas" in sys.modules
plan = plan_of("at", NEW_YEAR, NEW_YEAR.replace(day=2), on_error=OnError.DROP)
decode(plan, b"nonsense", {"id": 1, "at": "2013-01-01T00:00:00Z"}, {"id": 2}, {"id": 3, "at": "2014-01-01T00:00:00Z"})
print(before, "pandas" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert found.stdout == "False False\n"
