"""Streams followed by a real Spark in micro-batches: every event once, whatever happens to the streams meanwhile."""

import json
import time
from collections import Counter
from typing import Any

import pytest

from aiopravega import StreamCut, StreamName

LARGEST = 8 * 1024 * 1024
SECONDS = 600


def wait_for(files, spark, query, events) -> None:
    """Until the query has written these events, or more."""
    deadline = time.monotonic() + SECONDS
    while query.isActive and time.monotonic() < deadline:
        query.processAllAvailable()
        if files.contents(spark).total() >= len(events):
            return
        time.sleep(0.1)
    assert files.contents(spark) == Counter(events), query.exception()


def batches(query) -> list[dict[str, Any]]:
    """The progress of the batches that had events."""
    return [json.loads(each.json) for each in query.recentProgress if each.numInputRows]


def cut_at(offset, stream: StreamName) -> StreamCut:
    return StreamCut.from_text((json.loads(offset) if isinstance(offset, str) else offset)[str(stream)])


@pytest.fixture
def running():
    """Stops the queries of a test at its end."""
    queries = []

    def keep(query):
        queries.append(query)
        return query

    yield keep
    for query in queries:
        query.stop()


def test_a_query_follows_a_stream_from_its_tail_on(spark, follow, fill, files, make_stream, running):
    stream = make_stream(2)
    fill(stream, 100, "before")
    query = running(files.start(follow(stream)))
    query.processAllAvailable()

    events = []
    for number in range(3):
        events += fill(stream, 100, f"part{number}")
        query.processAllAvailable()

    assert files.contents(spark) == Counter(events)


def test_a_query_reads_a_stream_from_its_head(spark, follow, fill, files, make_stream, running):
    stream = make_stream(3)
    events = fill(stream, 300)
    query = running(files.start(follow(stream, start_stream_cut="earliest")))
    query.processAllAvailable()
    events += fill(stream, 300, "more")
    query.processAllAvailable()

    assert files.contents(spark) == Counter(events)


def test_a_query_reads_what_there_is_and_the_next_one_continues(spark, follow, fill, files, make_stream):
    stream = make_stream(2)
    events = []
    for number in range(2):
        events += fill(stream, 200, f"run{number}")
        query = files.run(follow(stream, start_stream_cut="earliest", max_bytes_per_trigger=2000))
        assert files.contents(spark) == Counter(events)
        assert len(batches(query)) > 1

    query = files.run(follow(stream, start_stream_cut="earliest"))
    assert batches(query) == []


def test_events_written_during_a_bounded_query_are_for_the_next_query(follow, fill, files, make_stream):
    stream = make_stream(2)
    events = fill(stream, 100)
    later: list[bytes] = []

    def write(frame, _batch) -> None:
        later.extend(fill(stream, 10, f"later-{len(later)}"))
        read.update(bytes(row.event) for row in frame.collect())

    read: Counter[bytes] = Counter()
    frame = follow(stream, start_stream_cut="earliest", max_bytes_per_trigger=500)
    query = frame.writeStream.foreachBatch(write).trigger(availableNow=True)
    assert query.option("checkpointLocation", str(files.folder / "other")).start().awaitTermination(SECONDS)

    assert later
    assert read == Counter(events)


def test_a_bounded_query_that_starts_at_the_tail_ends(spark, follow, fill, files, make_stream):
    stream = make_stream(1)
    fill(stream, 10, "before")
    files.run(follow(stream))
    events = fill(stream, 10, "after")
    files.run(follow(stream))

    assert files.contents(spark) == Counter(events)


@pytest.mark.parametrize("option", ["max_bytes_per_trigger", "approx_bytes_per_trigger"])
def test_batches_have_about_so_many_bytes(spark, follow, fill, files, client, make_stream, option):
    stream = make_stream(2)
    events = fill(stream, 1000)

    query = files.run(follow(stream, start_stream_cut="earliest", **{option: 5000}))

    assert files.contents(spark) == Counter(events)
    sizes = []
    for batch in batches(query):
        source = batch["sources"][0]
        # Spark knows no start of the first batch.
        start = cut_at(source["startOffset"], stream) if source["startOffset"] else client.head(stream)
        sizes.append(client.distance(start, cut_at(source["endOffset"], stream)))
    assert sum(sizes) == client.distance(client.head(stream), client.tail(stream))
    assert max(sizes) <= 5000
    assert min(sizes[:-2]) > 4000


def test_an_event_that_is_longer_than_the_limit_is_read(spark, follow, client, files, make_stream):
    stream = make_stream(1)
    events = [b"a" * LARGEST, b"", b"b" * LARGEST]
    with client.writer(stream) as writer:
        writer.write_many(events, ["key"] * len(events))

    files.run(follow(stream, start_stream_cut="earliest", max_bytes_per_trigger=10))

    assert files.contents(spark) == Counter(events)


@pytest.mark.parametrize("limit", [None, 1500])
def test_a_stream_that_scales_under_way_is_read_whole(spark, follow, fill, files, client, make_stream, running, limit):
    stream = make_stream(1)
    query = running(files.start(follow(stream, start_stream_cut="earliest", max_bytes_per_trigger=limit)))
    events = []
    for number, segments in enumerate((4, 2, 3, 1)):
        events += fill(stream, 100, f"epoch{number}")
        client.scale_stream(stream, segments)
    events += fill(stream, 100, "last")
    wait_for(files, spark, query, events)

    assert files.contents(spark) == Counter(events)


def test_a_sealed_stream_comes_to_its_end(spark, follow, fill, files, client, make_stream, running):
    stream = make_stream(2)
    events = fill(stream, 100)
    query = running(files.start(follow(stream, start_stream_cut="earliest")))
    query.processAllAvailable()
    events += fill(stream, 100, "last")
    client.seal_stream(stream)
    wait_for(files, spark, query, events)
    query.processAllAvailable()

    assert query.isActive
    assert files.contents(spark) == Counter(events)
    files_of_another = type(files)(files.folder / "again")
    files_of_another.run(follow(stream, start_stream_cut="earliest", max_bytes_per_trigger=1000))
    assert files_of_another.contents(spark) == Counter(events)


def test_several_streams_are_one_query(spark, follow, fill, files, client, make_stream):
    first, second, empty = make_stream(1, "first"), make_stream(2, "second"), make_stream(1, "empty")
    skipped = fill(second, 50, "skipped")
    start = client.tail(second).to_text()
    events = fill(first, 300, "first") + fill(second, 100, "second")
    client.scale_stream(second, 3)
    events += fill(second, 100, "scaled")
    options = {"stream": None, "streams": "first,second,empty", "start_stream_cut": "earliest"}
    options["start_stream_cut.second"] = start

    query = files.run(follow(first, max_bytes_per_trigger=1500, **options))

    assert files.contents(spark) == Counter(events)
    assert skipped
    assert len(batches(query)) > 4
    end = batches(query)[-1]["sources"][0]["endOffset"]
    assert set(end if isinstance(end, dict) else json.loads(end)) == {
        "version",
        str(first),
        str(second),
        str(empty),
    }


def test_a_query_stops_at_the_end_that_is_asked_for(spark, follow, fill, files, client, make_stream, running):
    stream = make_stream(2)
    wanted = fill(stream, 200, "wanted")
    end = client.tail(stream).to_text()
    client.scale_stream(stream, 3)
    fill(stream, 200, "after")
    options = {"start_stream_cut": "earliest", "end_stream_cut": end, "max_bytes_per_trigger": 1000}

    query = running(files.start(follow(stream, **options)))
    query.processAllAvailable()
    fill(stream, 200, "later")
    query.processAllAvailable()

    assert files.contents(spark) == Counter(wanted)
    other = type(files)(files.folder / "now")
    other.run(follow(stream, **options))
    assert other.contents(spark) == Counter(wanted)


def test_the_progress_shows_the_lag(follow, fill, files, client, make_stream):
    stream = make_stream(2)
    fill(stream, 500)

    query = files.run(follow(stream, start_stream_cut="earliest", max_bytes_per_trigger=4000))

    lags = []
    for batch in batches(query):
        source = batch["sources"][0]
        end, latest = (cut_at(source[name], stream) for name in ("endOffset", "latestOffset"))
        lags.append(client.distance(end, latest))
    assert lags == sorted(lags, reverse=True)
    assert lags[0] > 0
    assert lags[-1] == 0


def test_rows_have_the_columns_of_a_batch(spark, follow, read, fill, make_stream, tmp_path):
    stream = make_stream(2)
    fill(stream, 100)
    frame = follow(stream, start_stream_cut="earliest", metadata_columns="event_pointer")
    query = frame.writeStream.format("memory").queryName("columns").trigger(availableNow=True)
    assert query.option("checkpointLocation", str(tmp_path)).start().awaitTermination(SECONDS)

    expected = read(stream, metadata_columns="event_pointer")

    assert frame.columns == expected.columns
    assert sorted(spark.table("columns").collect()) == sorted(expected.collect())


@pytest.mark.parametrize("columns", ["event binary", "offset long, event binary"])
def test_a_query_makes_only_the_columns_of_its_schema(
    spark, pravega_config, read, fill, make_stream, tmp_path, columns
):
    stream = make_stream(2)
    fill(stream, 100)
    source = spark.readStream.format("pravega").schema(columns).option("controller", pravega_config.controller_uri)
    frame = source.options(scope=stream.scope, stream=stream.stream, start_stream_cut="earliest").load()
    query = frame.writeStream.format("memory").queryName(f"columns_{len(columns)}").trigger(availableNow=True)
    assert query.option("checkpointLocation", str(tmp_path)).start().awaitTermination(SECONDS)

    expected = read(stream).select(*frame.columns)

    assert frame.schema.simpleString() == expected.schema.simpleString()
    assert sorted(spark.table(f"columns_{len(columns)}").collect()) == sorted(expected.collect())
