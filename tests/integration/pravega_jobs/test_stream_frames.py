"""Frames on a real server: the same rows in each library, and writes that are done once."""

import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow.compute import field
from tests.integration.conftest import client, scope

from aiopravega import ScalingPolicy, StreamName
from aiopravega.blocking.intervals import take
from aiopravega.errors import (
    ConfigurationError,
    MalformedEventError,
    StreamNotFoundError,
    StreamTruncatedError,
    WriteIdReusedError,
)
from pravega_jobs.frames import (
    StreamRange,
    range_of,
    read_arrow,
    read_pandas,
    read_polars,
    read_table,
    scan_duckdb,
    scan_polars,
    write_arrow,
)

__all__ = ["client", "scope"]
RIDES: list[dict[str, Any]] = [{"id": number, "city": "Rome" if number % 3 else "Oslo"} for number in range(300)]
COLUMNS = "id long, city string"
TYPED: dict[str, Any] = {"decode": "json", "columns": COLUMNS}


@pytest.fixture
def rides(client, scope):
    """A stream of two segments with 300 rides; the range of the last 200."""
    stream = StreamName(scope, "rides")
    assert client.create_stream(stream, ScalingPolicy.fixed(2))
    cuts = []
    for some in (RIDES[:100], RIDES[100:]):
        with client.writer(stream) as writer:
            writer.write_many([json.dumps(ride).encode() for ride in some], [str(ride["id"]) for ride in some])
        cuts.append(client.tail(stream))
    return range_of(client, stream, cuts[0], cuts[1])


def ids(rows):
    return sorted(row["id"] for row in rows)


def test_every_library_has_the_rows_of_the_range(rides):
    frames = [
        read_arrow(rides, **TYPED).read_all().to_pylist(),
        read_polars(rides, **TYPED).to_dicts(),
        read_pandas(rides, **TYPED).to_dict("records"),
        scan_polars(rides, **TYPED).collect().to_dicts(),
    ]
    for rows in frames:
        assert ids(rows) == list(range(100, 300))
        assert {row["city"] for row in rows} == {"Rome", "Oslo"}


def test_raw_events_have_their_places(rides, client):
    found = {(row["event"], row["segment_id"], row["offset"]) for row in read_arrow(rides).read_all().to_pylist()}
    assert found == {(event.data, event.segment.to_int(), event.offset) for event in client.read(rides.range)}
    texts = range_of(client, str(rides.stream), rides.range.start.to_text(), "latest")
    assert texts.range == rides.range
    assert read_arrow(texts, select=["offset", "event"]).schema.names == ["offset", "event"]


def test_a_scan_filters_selects_limits_and_can_be_collected_again(rides):
    scan = scan_polars(rides, **TYPED)
    oslo = scan.filter(pl.col("city") == "Oslo").select("id")

    for _ in range(2):
        assert ids(oslo.collect().to_dicts()) == [ride["id"] for ride in RIDES[100:] if ride["city"] == "Oslo"]
    assert scan.select(pl.len()).collect().item() == 200
    assert scan.head(7).collect().shape == (7, 2)
    assert scan.filter(pl.col("id") >= 290).head(5).collect().height == 5
    counted = scan.group_by("city").len().sort("city").collect()
    assert counted["len"].to_list() == [66, 134]


def test_a_scan_of_raw_events_leaves_out_segments_by_conditions(rides, caplog):
    first, second = rides.client.plan(rides.range)
    caplog.set_level(logging.INFO, "pravega_jobs.frames.limits")
    in_first = pl.col("segment_id") == first.segment.to_int()

    of_first = scan_polars(rides).filter(in_first).collect()
    later = scan_polars(rides).filter(~in_first & (pl.col("offset") > second.start)).collect()
    typed = scan_polars(rides, decode="json", columns="id long, segment_id long")

    assert of_first.to_dicts() == [row for row in read_arrow(rides).read_all().to_pylist() if row["segment_id"] == 0]
    assert of_first.height + later.height + 1 == 200
    assert f"1 of 2 segments to read, {first.size:,} of {first.size + second.size:,} bytes" in caplog.messages[0]
    assert f"1 of 2 segments to read, {second.size:,} of " in caplog.messages[1]
    # A column of the events that is named like one of the source is another column.
    assert typed.filter(pl.col("segment_id").is_null()).collect().height == 200


def test_a_filter_gives_the_rows_for_which_it_is_true(rides, caplog):
    caplog.set_level(logging.INFO, "pravega_jobs.frames.limits")
    first, second = rides.client.plan(rides.range)
    middle = sorted(row["offset"] for row in read_arrow(rides).read_all().to_pylist())[100]
    placed: dict[str, Any] = TYPED | {"metadata_columns": "segment_id,offset", "metadata_prefix": "_"}
    conditions = [
        field("_segment_id") == first.segment.to_int(),
        (field("_segment_id") == second.segment.to_int()) & (field("_offset") <= middle) & (field("city") == "Oslo"),
        (field("_offset") < 0) | (field("id") > 250),
        pc.is_in(field("_offset"), pa.array([first.start, middle])),
    ]
    whole = read_table(rides, **placed)
    for condition in conditions:
        expected = ids(whole.filter(condition).to_pylist())
        assert expected
        assert ids(read_arrow(rides, select=["id"], filter=condition, **placed).read_all().to_pylist()) == expected
    assert ids(read_pandas(rides, filter=condition, **placed).to_dict("records")) == expected
    assert ids(read_polars(rides, filter=condition, **placed).to_dicts()) == expected
    assert sorted(scan_duckdb(rides, filter=condition, **placed).project("id").fetchall()) == [
        (one,) for one in expected
    ]
    assert ids(scan_polars(rides, **placed).filter(pl.col("_offset") == first.start).collect().to_dicts())
    assert f"1 of 2 segments to read, {first.size:,} of {first.size + second.size:,} bytes" in caplog.messages[0]
    with pytest.raises(ConfigurationError, match="cannot be used on the columns id, city, _segment_id, _offset"):
        read_arrow(rides, filter=field("town") == "Oslo", **placed)


def test_a_condition_on_event_times_ends_the_read_at_a_watermark(client, scope):
    stream, noon = StreamName(scope, "marked"), datetime(2026, 1, 5, 12, tzinfo=UTC)
    assert client.create_stream(stream, timestamp_aggregation_timeout=timedelta(minutes=5))
    times = [noon + timedelta(minutes=minute) for minute in range(5)]
    with client.writer(stream) as writer:
        writer.write_many([json.dumps({"at": time.isoformat()}).encode() for time in times], ["a"] * 5)
    client.note_time(stream, "writer", noon + timedelta(minutes=5))
    next(iter(client.watermarks(stream, follow=True)))
    with client.writer(stream) as writer:
        writer.write_many([b"no json", json.dumps({"at": (noon + timedelta(hours=1)).isoformat()}).encode()], ["a"] * 2)
    options: dict[str, Any] = {"decode": "json", "columns": "at timestamp", "event_time": "at"}
    whole = range_of(client, stream)

    for minutes in (2, 5):  # what follows is not read: it cannot be decoded
        until = noon + timedelta(minutes=minutes)
        assert read_table(whole, filter=field("at") < until, **options)["at"].to_pylist() == times[:minutes]
        assert scan_polars(whole, **options).filter(pl.col("at") < until).collect()["at"].to_list() == times[:minutes]
    for condition in (field("at") > noon, field("at") <= noon + timedelta(minutes=5), field("at").is_null()):
        with pytest.raises(MalformedEventError):
            read_table(whole, filter=condition, **options)


def test_duckdb_reads_batches_by_their_name(rides):
    lines = read_arrow(rides, **TYPED)
    with duckdb.connect() as database:
        found = database.sql("SELECT city, count(*), min(id) FROM lines GROUP BY city ORDER BY city").fetchall()
    assert found == [("Oslo", 66, 102), ("Rome", 134, 100)]
    assert lines.read_all().num_rows == 0


def test_a_taken_range_is_read_and_done(rides, client):
    with take(client, rides.stream, consumer="frames", interval="first") as taken:
        assert ids(read_polars(taken, **TYPED).to_dicts()) == list(range(300))
    with client.writer(rides.stream) as writer:
        writer.write(json.dumps({"id": 300, "city": "Bern"}).encode())
    with take(client, rides.stream, consumer="frames", interval="second") as taken:
        assert read_polars(taken, **TYPED).to_dicts() == [{"id": 300, "city": "Bern"}]


def test_a_range_of_event_times_has_events_of_these_times_only(client, scope):
    stream, noon = StreamName(scope, "timed"), datetime(2026, 1, 5, 12, tzinfo=UTC)
    assert client.create_stream(stream)
    with client.writer(stream) as writer:
        for minute in range(10):
            writer.write(json.dumps({"at": (noon + timedelta(minutes=minute)).isoformat()}).encode(), "a")
    whole = range_of(client, stream)
    timed = StreamRange(client, stream, whole.range, (noon + timedelta(minutes=2), noon + timedelta(minutes=5)))
    options: dict[str, Any] = {"decode": "json", "columns": "at timestamp"}

    found = read_arrow(timed, event_time="at", **options).read_all()
    assert [row["at"].minute for row in found.to_pylist()] == [2, 3, 4]
    with pytest.raises(ConfigurationError, match="name the column of the times by the option event_time"):
        read_arrow(timed, **options).read_all()


def test_reads_refuse_what_they_do_not_understand(rides, client):
    refused: list[tuple[dict[str, Any], str]] = [
        ({"decode": "json"}, "decode=json needs the columns"),
        ({"encode": "auto"}, "the option 'encode' is of writes"),
        ({"event_time_from": "2026-01-05"}, "a table or record batch has no option 'event_time_from'"),
        ({**TYPED, "select": ["town"]}, "select names 'town', but the events of .* have the columns id, city"),
    ]
    for options, said in refused:
        with pytest.raises(ConfigurationError, match=said):
            read_arrow(rides, **options)
    with pytest.raises(ConfigurationError, match="which largest=100 forbids: read it by read_arrow or scan_polars"):
        read_pandas(rides, largest=100)
    with pytest.raises(MalformedEventError, match="cannot be decoded"):
        read_arrow(rides, decode="json", columns="id boolean").read_all()
    client.truncate_stream(rides.range.end)
    with pytest.raises(StreamTruncatedError):
        scan_polars(rides)


@pytest.mark.parametrize(
    "as_frame",
    [lambda table: table, lambda table: table.to_pandas(), pl.from_arrow, lambda table: pl.DataFrame(table).lazy()],
    ids=["arrow", "pandas", "polars", "lazy"],
)
def test_rows_are_written_once_whatever_holds_them(client, scope, as_frame):
    stream = StreamName(scope, "sums")
    assert client.create_stream(stream)
    table = pa.table({"city": ["Oslo", "Rome"], "rides": [67, 133], "routing_key": ["a", "b"]})

    first = write_arrow(client, as_frame(table), str(stream), "sums of 2026-01-05")
    again = write_arrow(client, as_frame(table), str(stream), "sums of 2026-01-05")

    assert (first.by_this_try, again.by_this_try) == (True, False)
    back = read_polars(range_of(client, stream), decode="json", columns="city string, rides long")
    assert back.sort("city").to_dicts() == [{"city": "Oslo", "rides": 67}, {"city": "Rome", "rides": 133}]
    other = pa.table({"city": ["Oslo"], "rides": [68]})
    with pytest.raises(WriteIdReusedError):
        write_arrow(client, other, stream, "sums of 2026-01-05")
    assert write_arrow(client, other, stream, "sums of 2026-01-05", generation=2).by_this_try


def test_a_write_to_a_missing_stream_is_refused_and_makes_no_ledger(client, scope):
    rows = pa.table({"id": pa.array([1])})
    with pytest.raises(StreamNotFoundError, match=f"{scope}/missing"):
        write_arrow(client, rows, f"{scope}/missing", "w")
    assert client.list_tables(scope) == []
    client.create_stream(f"{scope}/there")
    assert write_arrow(client, rows, f"{scope}/there", "w").by_this_try
    assert client.list_tables(scope) == ["commit-ledger"]
    with pytest.raises(StreamNotFoundError, match=f"{scope}/missing"):
        write_arrow(client, rows, f"{scope}/missing", "w")


def test_writes_refuse_what_they_do_not_understand(client, scope):
    stream = StreamName(scope, "sums")
    assert client.create_stream(stream)
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (pa.table({"event": ["a"]}), {"decode": "json"}, "the option 'decode' is of reads"),
        (pd.DataFrame({"id": [1]}, index=["a"]), {}, "reset_index"),
        ([{"id": 1}], {}, "the rows are <class 'list'>"),
        (pa.table({"id": [1]}), {"encode": "auto"}, "the option encode=auto needs a schema: give schema_registry"),
    ]
    for rows, options, said in refused:
        with pytest.raises(ConfigurationError, match=said):
            write_arrow(client, rows, stream, "refused", **options)
    assert client.head(stream) == client.tail(stream)
