"""What Spark's SQL does with streams: inserts that are done once; all else changes no stream, or is refused."""

import pytest
from pyspark.errors import PySparkException

from aiopravega import StreamCutRange, StreamName


@pytest.fixture
def database(spark, scope):
    """A database of the test's own, in use; temporary views are gone after it."""
    name = scope.replace("-", "_")
    spark.sql(f"CREATE DATABASE {name}")
    spark.sql(f"USE {name}")
    yield name
    for each in spark.catalog.listTables():
        if each.isTemporary:
            spark.catalog.dropTempView(each.name)
    spark.sql("USE default")
    spark.sql(f"DROP DATABASE {name} CASCADE")


@pytest.fixture
def given(pravega_config, scope):
    """The options of a stream as SQL has them, in OPTIONS or, with `equals`, in WITH."""

    def given(stream: str, *more: str, equals: str = "") -> str:
        options = {"controller": pravega_config.controller_uri, "scope": scope, "stream": stream}
        return ", ".join([*(f"{name} {equals} '{text}'" for name, text in options.items()), *more])

    return given


@pytest.fixture
def view(spark, given):
    """Makes a temporary view of the events of a stream, for inserts; its name is the stream's."""

    def view(stream: str, *more: str) -> str:
        spark.sql(
            f"CREATE OR REPLACE TEMPORARY VIEW {stream} (event STRING) USING pravega OPTIONS ({given(stream, *more)})"
        )
        return stream

    return view


@pytest.fixture
def events(client, scope):
    """The events of a stream."""

    def events(name: str) -> list[str]:
        stream = StreamName(scope, name)
        return sorted(
            event.data.decode() for event in client.read(StreamCutRange(client.head(stream), client.tail(stream)))
        )

    return events


@pytest.mark.usefixtures("database")
def test_a_view_that_names_a_write_makes_a_stream_and_takes_rows_once(spark, client, scope, view, events):
    sums = view("sums", "write_id 'monday'", "default_num_segments 2")
    for _ in range(2):
        spark.sql(f"INSERT INTO {sums} SELECT to_json(struct(id)) FROM range(2)")
    assert (events(sums), len(client.tail(StreamName(scope, sums)).positions)) == (['{"id":0}', '{"id":1}'], 2)
    with pytest.raises(Exception, match="WriteIdReusedError"):
        spark.sql(f"INSERT INTO {sums} VALUES ('other')")
    view(sums, "write_id 'tuesday'")
    spark.sql(f"INSERT INTO {sums} VALUES ('other')")
    assert events(sums) == ["other", '{"id":0}', '{"id":1}']


def test_options_of_an_insert_reach_a_table_and_not_a_view(spark, database, given, view, events):
    spark.sql("CREATE TABLE sums (event STRING) USING pravega")
    options = given("sums", "write_id = 'monday'", equals="=")
    for _ in range(2):
        spark.sql(f"INSERT INTO {database}.sums WITH ({options}) VALUES ('a')")
    assert events("sums") == ["a"]
    others = view("others")
    for _ in range(2):
        spark.sql(f"INSERT INTO {others} WITH (write_id = 'monday') VALUES ('a')")
    assert events("others") == ["a", "a"]  # as the page warns


REFUSED = {
    "INSERT INTO orders (event) VALUES (X'41')": "'stream' is missing.*insert into a temporary view",
    "INSERT INTO orders VALUES (X'41')": "NOT_ENOUGH_DATA_COLUMNS",
    "INSERT INTO lines VALUES ('a')": "'stream' is missing.*insert into a temporary view",
    "INSERT OVERWRITE written VALUES ('a')": "a stream cannot be overwritten",
    "INSERT INTO written REPLACE WHERE event = 'a' VALUES ('a')": "overwrite by filter",
    "CREATE TABLE made USING pravega OPTIONS ({0}) AS SELECT 'a' AS event": "'stream' is missing",
    "DELETE FROM orders": "does not support deletes",
    "UPDATE orders SET event = X'41'": "does not support UPDATE",
    "MERGE INTO orders USING orders AS o ON o.offset = orders.offset WHEN MATCHED THEN DELETE": "not support MERGE",
    "TRUNCATE TABLE orders": "does not support truncates",
    "SELECT * FROM pravega.`examples/orders`": "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY",
    "SELECT * FROM pravega('examples/orders')": "UNRESOLVABLE_TABLE_VALUED_FUNCTION",
}


def test_other_statements_change_no_stream_and_say_why(
    spark, client, pravega_config, scope, database, given, events, make_stream
):
    stream = make_stream(1, "orders")
    spark.sql(f"CREATE TABLE orders USING pravega OPTIONS ({given('orders')})")
    spark.sql(f"CREATE TABLE lines (event STRING) USING pravega OPTIONS ({given('orders')})")
    spark.sql(f"CREATE TABLE missing USING pravega OPTIONS ({given('nothing')})")
    listed = f"controller '{pravega_config.controller_uri}', scope '{scope}', metadata 'Streams'"
    spark.sql(f"CREATE TEMPORARY VIEW streams USING pravega OPTIONS ({listed})")
    with client.writer(stream) as writer:
        writer.write(b"first")
    spark.sql(f"CREATE TEMPORARY VIEW written (event STRING) USING pravega OPTIONS ({given('orders')})")

    for statement, said in REFUSED.items():
        with pytest.raises(PySparkException, match=rf"(?s){said}"):
            spark.sql(statement.format(given("made"))).collect()

    assert events("orders") == ["first"]
    assert [row.stream_name for row in spark.sql("SELECT * FROM streams").collect()] == ["orders"]
    tables = {row.tableName for row in spark.sql(f"SHOW TABLES IN {database}").collect() if not row.isTemporary}
    assert tables == {"orders", "lines", "missing"}
    for table in tables:
        spark.sql(f"DROP TABLE {table}")
    assert list(client.list_streams(scope)) == [stream]
    assert events("orders") == ["first"]
