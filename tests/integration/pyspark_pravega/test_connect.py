"""Spark Connect: the source finds itself on the server; reads, writes, streams and tables work from a thin client."""

from collections import Counter

import pytest
from deltalake import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession as ConnectSession
from tests.integration.pyspark_pravega.debezium_events import made

from pyspark_pravega import PravegaDataSource, register_scope
from pyspark_pravega.cdc import merge_into

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


def test_changes_are_merged(remote, named, make_stream, client, tmp_path):
    stream = make_stream(1)
    start = client.head(stream)
    events = [made("c", number + 1, id=number, note="a") for number in range(3)]
    with client.writer(stream) as writer:
        writer.write_many([event for event, _ in events], [key for _, key in events])
    cuts = {"start": start.to_text(), "end": client.tail(stream).to_text()}
    reading = named(stream) | {"start_stream_cut": cuts["start"], "end_stream_cut": cuts["end"]}
    reader = remote.read.format("pravega").options(**reading, decode="debezium-json", key="id")
    changes = reader.schema("id int, note string, _change_type string, _sequence binary").load()

    for _ in range(2):
        merge_into(changes, f"delta:{tmp_path}/table", cuts, key=["id"], consumer="merger", interval="monday")

    rows = DeltaTable(f"{tmp_path}/table").to_pyarrow_table().to_pylist()
    assert sorted(row["id"] for row in rows) == [0, 1, 2]


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
