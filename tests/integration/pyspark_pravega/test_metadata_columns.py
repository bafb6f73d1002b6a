"""Columns that say where an event is and when, made by a real Spark, and read again by their pointers."""

import asyncio
import time
from datetime import UTC, datetime

import pytest
from pyspark.errors import AnalysisException

from aiopravega import EventPointer, StreamCutRange, StreamName
from aiopravega.cuts import UNBOUNDED

NOTED = 1_700_000_000_000


def test_a_pointer_of_every_row_fetches_its_event(read, fill, client, make_stream):
    stream = make_stream(3)
    fill(stream, 60)
    events = {
        str(EventPointer.of(event)): (event.data, str(event.segment))
        for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)
    }

    rows = read(stream, metadata_columns="event_pointer, segment").collect()

    assert {row.event_pointer: (bytes(row.event), row.segment) for row in rows} == events
    for row in rows[::7]:
        assert client.fetch(row.event_pointer).data == bytes(row.event)


def test_all_columns_can_be_read_and_bounds_are_null_without_watermarks(read, fill, make_stream):
    stream = make_stream(1)
    fill(stream, 5)

    frame = read(stream, metadata_columns="all", metadata_prefix="p_")

    assert frame.columns[5:] == ["p_event_pointer", "p_segment", "p_event_time_lower", "p_event_time_upper"]
    assert frame.where("p_event_time_lower is null and p_event_time_upper is null").count() == 5


def test_the_bounds_of_the_batch_come_from_the_watermarks(spark, pravega_config, fill, client, make_stream, scope):
    streams = [make_stream(2, "marked"), make_stream(1, "plain")]
    fill(streams[0], 10)
    fill(streams[1], 10)
    cut = client.tail(f"{scope}/marked")
    note_until_marked(client, streams[0], cut)
    fill(streams[0], 10)

    def bounds(**options: str):
        both = {"controller": pravega_config.controller_uri, "scope": scope, "streams": "marked,plain"}
        reader = spark.read.format("pravega").options(**both, **options)
        frame = reader.option("metadata_columns", "event_time_lower,event_time_upper").load()
        found = frame.groupBy("stream", "event_time_lower", "event_time_upper").count().collect()
        return {row.stream: (in_utc(row.event_time_lower), in_utc(row.event_time_upper), row["count"]) for row in found}

    noted = datetime.fromtimestamp(NOTED / 1000, UTC)
    assert bounds(**{"start_stream_cut.marked": cut.to_text()}) == {
        "marked": (noted, None, 10),
        "plain": (None, None, 10),
    }
    assert bounds(**{"end_stream_cut.marked": cut.to_text()}) == {
        "marked": (None, noted, 10),
        "plain": (None, None, 10),
    }


def in_utc(moment):
    return moment and moment.astimezone(UTC)


def note_until_marked(client, stream: StreamName, cut) -> None:
    """Note a time for a writer, again and again as writers do, until the controller has made it a watermark."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        client.run(client.controller.note_time(stream, "writer", NOTED, cut.positions))
        if client.time_bounds(StreamCutRange(cut, client.tail(stream))).lower == NOTED:
            return
        client.run(asyncio.sleep(0.1))
    raise AssertionError("no watermark within a minute")


def test_an_unknown_column_is_refused_when_the_frame_is_made(read, make_stream):
    with pytest.raises(AnalysisException, match="'metadata_columns' has latency"):
        read(make_stream(1), metadata_columns="latency")


def test_a_given_schema_selects_columns(spark, pravega_config, fill, make_stream):
    stream = make_stream(1)
    events = fill(stream, 20)
    reader = spark.read.format("pravega").schema("offset BIGINT, EVENT BINARY")

    frame = reader.options(controller=pravega_config.controller_uri, stream=str(stream)).load()

    assert frame.columns == ["offset", "EVENT"]
    assert [bytes(row.EVENT) for row in frame.orderBy("offset").collect()] == events


def test_a_streaming_query_has_the_columns_too(spark, follow, fill, client, make_stream, tmp_path):
    stream = make_stream(2)
    events = fill(stream, 30)
    frame = follow(stream, start_stream_cut="earliest", metadata_columns="event_pointer,event_time_lower")

    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    assert writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination(120)

    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    assert sorted(bytes(row.event) for row in rows) == sorted(events)
    assert all(client.fetch(row.event_pointer).data == bytes(row.event) for row in rows)
    assert {row.event_time_lower for row in rows} == {None}
