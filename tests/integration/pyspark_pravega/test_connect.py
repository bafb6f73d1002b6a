"""Spark Connect: the source finds itself on the server; reads, writes, streams and tables work from a thin client."""

from collections import Counter

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession as ConnectSession

from pyspark_pravega import PravegaDataSource, register_scope

pytestmark = [pytest.mark.timeout(1500), pytest.mark.xdist_group("spark_connect")]


@pytest.fixture(scope="module")
def remote(spark_connect_url):
    """A session on the server. Made so, and not by `SparkSession.builder`, it leaves other tests' Spark alone."""
    session = ConnectSession.builder.remote(spark_connect_url).create()
    yield session
    session.stop()


@pytest.fixture
def named(pravega_config):
    return lambda stream: {"controller": pravega_config.controller_uri, "scope": stream.scope, "stream": stream.stream}


def contents(frame) -> Counter[bytes]:
    return Counter(bytes(row.event) for row in frame.select("event").collect())


def test_a_stream_is_read(remote, named, fill, make_stream):
    stream = make_stream(3)
    events = fill(stream, 500)

    frame = remote.read.format("pravega").options(**named(stream), metadata_columns="event_pointer").load()

    assert frame.columns == ["event", "scope", "stream", "segment_id", "offset", "event_pointer"]
    assert contents(frame) == Counter(events)


def test_the_source_can_be_registered_by_hand(spark_connect_url, named, fill, make_stream):
    stream = make_stream(1)
    events = fill(stream, 10)
    session = ConnectSession.builder.remote(spark_connect_url).create()

    session.dataSource.register(PravegaDataSource)

    assert contents(session.read.format("pravega").options(**named(stream)).load()) == Counter(events)
    session.stop()


def test_rows_are_written_once(remote, named, make_stream):
    stream = make_stream(2)
    frame = remote.range(300).selectExpr("concat('event-', id) AS event", "cast(id AS string) AS routing_key")

    for _ in range(2):
        frame.write.format("pravega").mode("append").options(**named(stream), write_id="daily").save()

    written = remote.read.format("pravega").options(**named(stream)).load()
    assert contents(written) == Counter(b"event-%d" % number for number in range(300))


def test_a_streaming_query_reads_what_there_is_and_continues_later(remote, named, fill, make_stream, tmp_path):
    stream = make_stream(2)
    events = fill(stream, 100)

    def run() -> None:
        frame = remote.readStream.format("pravega").options(**named(stream), start_stream_cut="earliest").load()
        writer = frame.select("event").writeStream.format("parquet").option("path", str(tmp_path / "out"))
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        assert query.awaitTermination(120)

    run()
    events += fill(stream, 50, "later")
    run()

    assert contents(remote.read.parquet(str(tmp_path / "out"))) == Counter(events)


def test_a_scope_is_registered(remote, pravega_config, fill, make_stream, scope):
    fill(make_stream(1, "late-orders"), 7)

    (made,) = register_scope(remote, scope, controller=pravega_config.controller_uri)

    assert made.table == f"`{scope.replace('-', '_')}`.`late_orders`"
    assert remote.sql(f"SELECT count(*) AS events FROM {made.table}").first().events == 7
    fill(made.stream, 3)
    assert remote.table(made.table).count() == 10
    assert register_scope(remote, scope, controller=pravega_config.controller_uri) == [made]
    (view,) = register_scope(remote, scope, controller=pravega_config.controller_uri, views=True)
    assert remote.table(view.table).count() == 10


def test_an_error_says_what_was_wrong(remote, named, make_stream):
    stream = make_stream(1)

    with pytest.raises(PySparkException, match="no option 'strem': did you mean stream"):
        remote.read.format("pravega").options(**named(stream), strem="x").load().collect()
    with pytest.raises(PySparkException, match=r"aiopravega.errors.StreamNotFoundError"):
        remote.read.format("pravega").options(**named(stream) | {"stream": "missing"}).load().collect()
