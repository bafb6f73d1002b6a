"""Reads that cannot work are refused when the job is planned, with an error that names the thing and the remedy."""

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from aiopravega import SegmentId, StreamCut, StreamName


def tail(client, stream: StreamName) -> StreamCut:
    found: StreamCut = client.tail(stream)
    return found


def refused(frame: DataFrame) -> str:
    """What Spark says about a job that it does not start."""
    with pytest.raises(AnalysisException) as raised:
        frame.collect()
    return str(raised.value)


def test_a_cut_that_a_truncation_removed_is_refused(read, fill, client, make_stream):
    stream = make_stream(2)
    start = client.head(stream)
    fill(stream, 100)
    client.truncate_stream(tail(client, stream))

    said = refused(read(stream, start_stream_cut=start.to_text()))

    assert "aiopravega.errors.StreamTruncatedError" in said
    assert str(stream) in said
    assert "Start from the head" in said


def test_a_cut_whose_segments_are_gone_is_refused(read, fill, client, make_stream):
    stream = make_stream(1)
    start = client.head(stream)
    fill(stream, 10)
    client.scale_stream(stream, 2)
    client.truncate_stream(tail(client, stream))

    said = refused(read(stream, start_stream_cut=start.to_text()))

    assert "aiopravega.errors.StreamTruncatedError" in said


def test_an_end_before_the_start_is_refused(read, fill, client, make_stream):
    stream = make_stream(1)
    first = tail(client, stream).to_text()
    fill(stream, 10)
    second = tail(client, stream).to_text()

    assert "InvalidRangeError: the range ends before it starts" in refused(
        read(stream, start_stream_cut=second, end_stream_cut=first)
    )
    assert "InvalidRangeError" in refused(read(stream, start_stream_cut="latest", end_stream_cut=first))


def test_an_end_before_the_start_across_a_scaling_is_refused(read, fill, client, make_stream):
    stream = make_stream(1)
    first = tail(client, stream).to_text()
    fill(stream, 10)
    client.scale_stream(stream, 2)
    fill(stream, 10)

    said = refused(read(stream, start_stream_cut="latest", end_stream_cut=first))

    assert "InvalidRangeError" in said


def test_an_end_after_the_tail_is_refused(read, fill, make_stream):
    stream = make_stream(1)
    fill(stream, 10)
    beyond = StreamCut(stream, {SegmentId(stream, 0, 0): 10_000_000})

    assert "InvalidRangeError" in refused(read(stream, end_stream_cut=beyond.to_text()))


def test_a_cut_inside_an_event_fails_with_its_place(read, fill, make_stream):
    stream = make_stream(1)
    fill(stream, 10)
    inside = StreamCut(stream, {SegmentId(stream, 0, 0): 12})

    with pytest.raises(Exception, match=r"MalformedEventError: .*0\.#epoch\.0.*offset 12.*lie between events"):
        read(stream, start_stream_cut=inside.to_text()).collect()


def test_an_unknown_stream_is_refused(read, scope):
    said = refused(read(StreamName(scope, "no-such-stream")))

    assert "aiopravega.errors.StreamNotFoundError" in said
    assert f"{scope}/no-such-stream" in said


def test_an_unknown_scope_is_refused(read):
    said = refused(read(StreamName("no-such-scope", "stream")))

    assert "NotFoundError" in said
    assert "no-such-scope/stream" in said


def test_a_cut_of_another_stream_is_refused(read, client, make_stream):
    stream, other = make_stream(1), make_stream(1, "other")

    with pytest.raises(
        AnalysisException, match=r"InvalidStreamCutError: option 'start_stream_cut': the StreamCut is of"
    ):
        read(stream, start_stream_cut=tail(client, other).to_text())


def test_an_unknown_option_is_refused(read, make_stream):
    with pytest.raises(
        AnalysisException, match=r"ConfigurationError: a read .* 'start_cut': did you mean start_stream"
    ):
        read(make_stream(1), start_cut="earliest")


@pytest.mark.parametrize("uri", ["http://127.0.0.1:9090", "127.0.0.1:9090", "tcp://127.0.0.1"])
def test_a_wrong_uri_is_refused(spark, uri):
    source = spark.read.format("pravega").options(controller=uri, scope="scope", stream="stream")

    with pytest.raises(AnalysisException, match=r"ConfigurationError: .*write tcp://host:port"):
        source.load()


def test_a_server_that_is_not_there_is_named(spark):
    source = spark.read.format("pravega").options(controller="tcp://127.0.0.1:1", scope="scope", stream="stream")

    said = refused(source.load())

    assert "aiopravega.errors.PravegaConnectionError" in said
    assert "127.0.0.1:1" in said
