"""The code on the pages about Spark runs, with the one Spark of this process, and does what the pages say."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from grpc_tools import protoc  # type: ignore[import-untyped]  # it brings no types

# One Spark for all pages: that of the other tests of Spark.
pytestmark = pytest.mark.xdist_group("pyspark_pravega")

ORDERS = [b'{"id":%d,"price":0.5,"customer":"c%d"}' % (number, number % 3) for number in range(12)]
LIMIT = 600  # seconds for a query
AVRO_ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "price", "type": "double"}],
}
PROTO_ORDER = 'syntax = "proto3"; package demo; message Order { int64 id = 1; double price = 2; }'


@pytest.fixture
def orders(client, scope, fill):
    """The stream `orders` of twelve events, and the cuts around the middle six."""
    fill("orders", *ORDERS[:3])
    start = client.tail(f"{scope}/orders")
    fill("orders", *ORDERS[3:9])
    end = client.tail(f"{scope}/orders")
    fill("orders", *ORDERS[9:])
    return start, end


def test_read_with_spark(open_page, spark, orders):
    start, end = (cut.to_text() for cut in orders)

    names = open_page("read-with-spark").give(spark=spark, start=start, end=end).run().names

    assert sorted(bytes(row.event) for row in names["events"].collect()) == sorted(ORDERS[3:9])


@pytest.mark.parametrize("page", ["from-the-jvm-connector", "README of pyspark_pravega"])
@pytest.mark.usefixtures("orders")
def test_read_all(open_page, spark, page):
    names = open_page(page).give(spark=spark).run().names

    assert names["events"].count() == len(ORDERS)


@pytest.mark.usefixtures("orders")
def test_available_now(open_page, spark, fill, tmp_path):
    page = open_page("available-now").give(spark=spark)
    page.run()
    assert spark.read.parquet(f"{tmp_path}/orders").count() == len(ORDERS)

    fill("orders", b"more")
    open_page("available-now").give(spark=spark).run()

    assert spark.read.parquet(f"{tmp_path}/orders").count() == len(ORDERS) + 1


@pytest.mark.usefixtures("orders")
def test_stream_with_spark(open_page, spark, client, fill, tmp_path):
    fill("refunds", b"refund")
    page = open_page("stream-with-spark").give(spark=spark, client=client).run(1, 2)
    query = page.names["query"]
    try:
        query.processAllAvailable()
        page.run(3)
    finally:
        query.stop()

    assert spark.read.parquet(f"{tmp_path}/orders").count() == len(ORDERS) + 1
    assert page.names["lag"] == 0


@pytest.mark.usefixtures("orders")
def test_stream_into_pravega(open_page, spark, client, scope, read):
    source = spark.readStream.format("pravega").options(scope=scope, stream="orders", start_stream_cut="earliest")
    source = source.option("controller", client.config.controller_uri)
    page = open_page("stream-into-pravega").give(spark=spark, events=source.load()).run()
    query = page.names["query"]
    try:
        query.processAllAvailable()
    finally:
        query.stop()

    assert read("totals").count() == len(ORDERS)


def test_retention_that_waits(open_page, spark, client, orders, scope):
    page = open_page("retention-that-waits").give(spark=spark, cut=orders[0])
    page.connect()
    page.run()

    source = page.names["orders"].writeStream.format("noop").trigger(availableNow=True).start()
    assert source.awaitTermination(LIMIT)
    assert client.subscribers(f"{scope}/orders") == ["etl"]


@pytest.mark.usefixtures("orders")
def test_metadata_columns(open_page, spark, client):
    page = open_page("metadata-columns").give(spark=spark, client=client).run(1)
    row = page.names["events"].first()
    page.give(row=row).run()

    assert page.names["event"].data == bytes(row.event)


def test_several_streams(open_page, spark, orders, scope, fill):
    for name in ("returns", "archived"):
        fill(name, b"one", b"two")
    start, end = (cut.to_text() for cut in orders)
    page = open_page("several-streams", **{"archive/orders": f"{scope}/archived", "offset >= 1000000": "offset >= 0"})
    page.give(spark=spark, start=start, end=end)
    page.run(1, 2)
    assert {row.stream_name for row in page.names["streams"].collect()} == {"orders", "returns", "archived"}
    assert page.names["info"].count() == 1
    assert page.names["events"].count() == len(ORDERS) + 4
    page.run(3)
    assert page.names["events"].count() == 6 + 2
    try:
        page.run()
        assert page.names["some"].count() == 6
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.mark.usefixtures("orders")
def test_split_segments(open_page, spark, scope):
    options = {"scope": scope, "stream": "orders"}
    page = open_page("split-segments").give(spark=spark, options=options).run(1)
    assert page.names["events"].count() == len(ORDERS)
    page.run()

    assert page.names["events"].count() == len(ORDERS)
    assert page.names["parts"]


@pytest.mark.usefixtures("orders")
def test_sql_tables(open_page, spark, scope, capsys):
    page = open_page("sql-tables").give(spark=spark)
    try:
        page.run()
        assert f"{scope}/orders" in capsys.readouterr().out
        assert spark.sql(f"SELECT count(*) AS number FROM {scope}.orders").first().number == len(ORDERS)
    finally:
        spark.sql("DROP TABLE IF EXISTS orders")
        spark.sql("DROP VIEW IF EXISTS big_orders")
        spark.sql(f"DROP DATABASE IF EXISTS {scope} CASCADE")


def test_large_events(open_page, spark, scope, fill):
    fill("images", b"a small one")
    page = open_page("large-events").give(spark=spark, image=b"." * 100_000).run()

    images = page.names["events"].options(scope=scope, stream="images").load()
    assert sorted(len(row.event) for row in images.collect()) == [11, 100_000]


@pytest.mark.usefixtures("orders")
def test_typed_reads(open_page, spark, client, scope, tmp_path):
    (tmp_path / "order.avsc").write_text(json.dumps(AVRO_ORDER))
    (tmp_path / "order.proto").write_text(PROTO_ORDER)
    assert protoc.main(["", f"-I{tmp_path}", f"--descriptor_set_out={tmp_path}/order.desc", "order.proto"]) == 0
    page = open_page("typed-reads").give(spark=spark).run(1)
    assert [row.id for row in page.names["orders"].orderBy("id").collect()] == list(range(12))

    rows = spark.createDataFrame([(number, 0.5) for number in range(3)], "id long, price double")

    def write(stream, **options):
        writer = rows.write.format("pravega").mode("append").option("controller", client.config.controller_uri)
        writer.options(scope=scope, stream=stream, **options).save()

    for number, form, options in (
        (2, "avro", {"schema_file": f"{tmp_path}/order.avsc"}),
        (3, "protobuf", {"schema_file": f"{tmp_path}/order.desc", "schema_type": "demo.Order"}),
    ):
        # Without a registry Avro's events have no header, and their schema is the reader's.
        write(form, encode=form, **options)
        # A process of Spark reads the file, in a folder of its own.
        files = {'"order.': f'"{tmp_path}/order.', 'stream="orders"': f'stream="{form}"'}
        replaced = open_page("typed-reads", **files).give(spark=spark)
        replaced.left = {number: page.left.pop(number)}
        replaced.run()
        assert [row.id for row in replaced.names["orders"].orderBy("id").collect()] == [0, 1, 2]

    # Events with a registry's header are in a stream of their own.
    write("registered", encode="avro", schema_registry_uri=page.replace("http://registry:9092"))
    registered = open_page("typed-reads", **{'stream="orders"': 'stream="registered"'}).give(spark=spark)
    registered.left = {4: page.left.pop(4)}
    registered.run()
    assert [row.id for row in registered.names["orders"].orderBy("id").collect()] == [0, 1, 2]


def test_write_with_spark(open_page, spark):
    flights = spark.createDataFrame([("UA", 3), ("AA", 5)], "carrier string, delay int")
    page = open_page("write-with-spark").give(spark=spark, flights=flights).run(1, 2)
    again = open_page("write-with-spark").give(spark=spark, flights=flights)

    again.run()
    page.run()

    assert page.names["record"].total_events == 2


def test_encode_events(open_page, spark, read, pravega_emulator):
    day = datetime(2026, 1, 31, tzinfo=UTC)
    rows = [(number, f"c{number}", 1.5, "north", day + timedelta(hours=number)) for number in range(3)]
    frame = spark.createDataFrame(rows, "id long, customer string, amount double, region string, ordered_at timestamp")

    open_page("encode-events").give(rows=frame).run()

    found = read("orders", decode="auto", schema_registry_uri=pravega_emulator.schema_registry_uri)
    assert [(row.id, row.customer) for row in found.orderBy("id").collect()] == [(0, "c0"), (1, "c1"), (2, "c2")]


def test_write_changes(open_page, spark, scope, read):
    changes = spark.createDataFrame(
        [(1, "new", "insert"), (2, "gone", "delete")], "id int, note string, _change_type string"
    )
    feed = spark.createDataFrame(
        [(1, "new", "update_preimage", 7), (1, "newer", "update_postimage", 7)],
        "id int, note string, _change_type string, _commit_version long",
    )
    page = open_page("write-changes", **{'"shop"': f'"{scope}"'}).give(spark=spark, changes=changes, feed=feed)

    page.run()

    operations = [json.loads(row.event)["op"] for row in read("inv.public.orders").collect()]
    assert sorted(operations) == ["c", "d", "u"]


def test_dead_letters(open_page, fill, spark, capsys):
    fill("orders", b'{"id": 1, "price": 0.5}', b'{"id": 2}', b"no json", b'{"id": 3, "price": 2}')

    page = open_page("dead-letters").give(spark=spark)
    page.run(1)
    assert page.command("pravega dead list")[1] == page.command("pravega dead show")[1] == 0
    page.run()
    assert page.command("pravega dead replay")[1] == 1

    printed = capsys.readouterr().out
    assert printed.splitlines()[0] == "2 2"
    assert "2026-01-05 2 1 1 cannot be decoded" in printed
    assert [text for text in ("counted", "no json", "it has no field 'price'") if text not in printed] == [], printed
