"""Queries that are subscribers: retention may remove what is committed, never more."""

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.datasource import ReadAllAvailable

from aiopravega import StreamCut, StreamName
from aiopravega.errors import InvalidStreamCutError
from pyspark_pravega.read.columns import Columns
from pyspark_pravega.read.read_options import ReadOptions
from pyspark_pravega.read.stream import PravegaStreamReader


def has_passed(client, stream: StreamName, cut: StreamCut) -> bool:
    """Whether subscriber `etl` is beyond a cut: it cannot go back. Moves it there otherwise."""
    try:
        client.report(stream, "etl", cut)
    except InvalidStreamCutError:
        return True
    return False


def test_a_query_that_reads_what_there_is_has_reported_all_of_it(follow, fill, files, client, make_stream):
    stream = make_stream(2)
    fill(stream, 300)
    almost = client.tail(stream)
    fill(stream, 10, "last")
    assert client.subscribers(stream) == []

    files.run(follow(stream, start_stream_cut="earliest", max_bytes_per_trigger=2000, subscriber="etl"))

    assert client.subscribers(stream) == ["etl"]
    assert has_passed(client, stream, almost)
    client.report(stream, "etl", client.tail(stream))


def test_a_query_subscribes_when_it_begins(follow, fill, files, client, make_stream):
    first, second = make_stream(1, "first"), make_stream(1, "second")
    fill(first, 10)
    before = client.head(first)
    query = files.start(follow(first, stream=None, streams="first,second", subscriber="etl"))
    query.processAllAvailable()

    assert client.subscribers(first) == ["etl"]
    assert client.subscribers(second) == ["etl"]
    # It began at the tail, so that it does not need what was there before.
    assert has_passed(client, first, before)
    query.stop()


def test_a_batch_that_has_not_been_committed_is_still_protected(follow, fill, files, client, make_stream):
    stream = make_stream(1)
    fill(stream, 10)
    start = client.tail(stream)
    files.run(follow(stream, start_stream_cut="earliest", subscriber="etl"))
    fill(stream, 10, "more")
    passed: list[bool] = []

    def fail(frame, _batch) -> None:
        frame.collect()
        passed.append(has_passed(client, stream, start))
        raise ValueError("the sink fails")

    frame = follow(stream, start_stream_cut="earliest", subscriber="etl")
    query = frame.writeStream.foreachBatch(fail).option("checkpointLocation", str(files.folder / "checkpoint")).start()
    with pytest.raises(StreamingQueryException, match="the sink fails"):
        query.awaitTermination(60)

    assert passed == [False]
    assert not has_passed(client, stream, start)


def test_a_committed_batch_is_reported_though_nothing_follows(fill, client, make_stream, pravega_config):
    stream = make_stream(1)
    fill(stream, 10)
    reader = stream_reader(stream, pravega_config, start_stream_cut="earliest")
    first = reader.initialOffset()
    end = reader.latestOffset(first, ReadAllAvailable())
    reader.partitions(first, end)
    assert not has_passed(client, stream, client.head(stream))

    # What Spark does when it has written the batch into its log of commits: it asks what follows.
    assert reader.latestOffset(end, ReadAllAvailable()) == end

    assert has_passed(client, stream, client.head(stream))


def test_two_queries_cannot_share_a_name(follow, fill, files, client, make_stream):
    stream = make_stream(1)
    fill(stream, 10)
    files.run(follow(stream, start_stream_cut="earliest", subscriber="etl"))
    other = type(files)(files.folder / "other").start(follow(stream, start_stream_cut="earliest", subscriber="etl"))

    with pytest.raises(StreamingQueryException, match="Do two readers use the name"):
        other.awaitTermination(60)

    client.unsubscribe(stream, "etl")
    type(files)(files.folder / "again").run(follow(stream, start_stream_cut="earliest", subscriber="etl"))


def test_a_query_publishes_its_position_as_a_reader_group(follow, fill, files, client, make_stream):
    first, second = make_stream(2, "first"), make_stream(1, "second")
    for stream in (first, second):
        fill(stream, 100)
    frame = follow(
        first, stream=None, streams="first,second", start_stream_cut="earliest", max_bytes_per_trigger=1000,
        reader_group="spark",
    )  # fmt: skip

    files.run(frame)

    described = client.describe_reader_group(first.scope, "spark")
    assert described.is_published
    assert {each.position for each in described.streams} == {client.tail(each) for each in (first, second)}
    assert (described.lag_bytes, described.readers) == (0, {})
    assert client.subscribers(first) == [f"{first.scope}/spark"]


def stream_reader(stream: StreamName, config, **options: str) -> PravegaStreamReader:
    given = {"controller": config.controller_uri, "scope": stream.scope, "stream": stream.stream, "subscriber": "etl"}
    return PravegaStreamReader(ReadOptions.parse(given | options), Columns.of())
