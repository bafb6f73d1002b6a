"""Writes by Spark finish what other jobs of the same stream have decided and left."""

import pytest

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.ledger import CommitState


@pytest.fixture
def contents(client):
    """The events of a stream."""
    return lambda sink: sorted(event.data for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), sink))


@pytest.fixture
def append(pravega_config):
    """Writes a DataFrame to a stream, without a write id."""

    def append(frame, sink):
        writer = frame.write.format("pravega").mode("append").options(scope=sink.scope, stream=sink.stream)
        writer.option("controller", pravega_config.controller_uri).save()

    return append


def states(client, sink):
    return {stored.record.state for stored in client.commit_ledger(sink.scope).records()}


def test_a_batch_write_finishes_what_another_job_left(spark, append, leave_decided, make_stream, client, contents):
    sink = make_stream(2)
    leave_decided(sink, b"a", b"b", committed=[1])
    assert contents(sink) == [b"b"]

    append(spark.range(1).selectExpr("'c' as event"), sink)

    assert contents(sink) == [b"a", b"b", b"c"]
    assert states(client, sink) == {CommitState.DONE}


def test_a_batch_write_is_done_though_another_one_cannot_be_finished(
    spark, append, leave_decided, make_stream, contents
):
    sink = make_stream(2)
    leave_decided(sink, b"a", b"b", committed=[1], lost=0)

    append(spark.range(1).selectExpr("'c' as event"), sink)

    assert contents(sink) == [b"b", b"c"]


def test_a_streaming_query_finishes_what_another_job_left(
    spark, leave_decided, make_stream, client, contents, pravega_config, tmp_path
):
    sink = make_stream(2)
    leave_decided(sink, b"a", b"b")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.txt").write_text("c")

    rows = spark.readStream.text(str(tmp_path / "in")).withColumnRenamed("value", "event")
    writer = rows.writeStream.format("pravega").trigger(availableNow=True)
    writer = writer.options(controller=pravega_config.controller_uri, scope=sink.scope, stream=sink.stream)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    assert query.awaitTermination(120)

    assert contents(sink) == [b"a", b"b", b"c"]
    assert states(client, sink) == {CommitState.DONE}


def test_foreach_batch_finishes_what_another_job_left(
    spark, append, leave_decided, make_stream, client, contents, tmp_path
):
    sink = make_stream(2)
    leave_decided(sink, b"a", b"b")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.txt").write_text("c")

    rows = spark.readStream.text(str(tmp_path / "in")).withColumnRenamed("value", "event")
    writer = rows.writeStream.foreachBatch(lambda frame, _: append(frame, sink)).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    assert query.awaitTermination(120)

    assert contents(sink) == [b"a", b"b", b"c"]
    assert states(client, sink) == {CommitState.DONE}
