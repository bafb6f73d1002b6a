"""What a streaming query cannot continue with: it ends with an error that says what happened, and what to do."""

import pytest
from pyspark.errors import StreamingQueryException

from aiopravega import StreamName


def failure(query) -> str:
    """The error that the user sees when the query has ended."""
    with pytest.raises(StreamingQueryException) as caught:
        query.processAllAvailable()
    query.stop()
    return str(caught.value)


def test_events_that_retention_has_removed_are_missed(follow, fill, files, client, make_stream):
    stream = make_stream(2)
    fill(stream, 100)
    frame = follow(stream, start_stream_cut="earliest")
    files.run(frame)
    fill(stream, 100, "lost")
    client.truncate_stream(client.tail(stream))
    fill(stream, 100, "kept")

    for limit in (None, 1000):
        said = failure(files.start(follow(stream, start_stream_cut="earliest", max_bytes_per_trigger=limit)))
        assert "StreamTruncatedError" in said
        assert "new checkpointLocation" in said


def test_events_removed_before_the_position_of_a_query_are_not_missed(spark, follow, fill, files, client, make_stream):
    stream = make_stream(2)
    fill(stream, 100)
    files.run(follow(stream, start_stream_cut="earliest"))
    client.truncate_stream(client.tail(stream))
    fill(stream, 100, "more")

    files.run(follow(stream, start_stream_cut="earliest"))

    assert files.contents(spark).total() == 200


def test_a_deleted_stream_is_named(follow, fill, files, client, make_stream):
    stream = make_stream(1)
    fill(stream, 10)
    query = files.start(follow(stream, start_stream_cut="earliest"))
    query.processAllAvailable()
    client.delete_stream(stream)

    said = failure(query)

    assert "StreamNotFoundError" in said
    assert str(stream) in said


def test_a_stream_that_was_made_again_is_not_taken_for_the_old_one(follow, fill, files, client, make_stream):
    stream = make_stream(1)
    fill(stream, 10)
    files.run(follow(stream, start_stream_cut="earliest"))
    client.delete_stream(stream)
    make_stream(1)
    fill(stream, 10)

    said = failure(files.start(follow(stream, start_stream_cut="earliest")))

    assert "StreamMadeAgainError" in said
    assert "deleted and made again" in said


def test_a_checkpoint_is_for_the_same_streams(follow, fill, files, make_stream):
    first, second = make_stream(1, "first"), make_stream(1, "second")
    fill(first, 10)
    files.run(follow(first, start_stream_cut="earliest"))

    said = failure(files.start(follow(first, stream=None, streams="first,second")))

    assert f"a query of {first}, but {first}, {second} are to be read" in said


def test_an_end_before_the_checkpoint_is_refused_and_does_no_harm(spark, follow, fill, files, client, make_stream):
    stream = make_stream(1)
    fill(stream, 10)
    end = client.tail(stream).to_text()
    fill(stream, 10, "more")
    files.run(follow(stream, start_stream_cut="earliest"))

    for limit in (None, 1000):
        options = {"end_stream_cut": end, "max_bytes_per_trigger": limit}
        assert "InvalidRangeError" in failure(files.start(follow(stream, **options)))
    fill(stream, 10, "last")
    files.run(follow(stream))

    assert files.contents(spark).total() == 30


def test_a_stream_that_is_missing_is_named(follow, files, scope):
    said = failure(files.start(follow(StreamName(scope, "missing"))))

    assert "StreamNotFoundError" in said
