"""Change events that a real Debezium wrote, from a real Pravega through a real Spark: rows, states, refusals."""

import json
from decimal import Decimal

import pytest
from pyspark.errors import PySparkException
from tests.integration.pyspark_pravega.debezium_events import made, texts

from pyspark_pravega.cdc import current, last_changes

COLUMNS = "order_id int, line int, sku string, qty bigint, price decimal(10,2)"


def state_of(events):
    """The rows of order_items as the events say, computed one by one: last per key by lsn."""
    last: dict[tuple[int, int], tuple[int, str, int]] = {}
    for text, _ in events:
        if not text:
            continue
        event = json.loads(text)
        event = event.get("payload", event)
        if event["op"] in "crud":
            row = event["after"] or event["before"]
            key = row["order_id"], row["line"]
            last[key] = max(last.get(key, (0, "", 0)), (event["source"]["lsn"], event["op"], row["qty"]))
    return {key: qty for key, (_, op, qty) in last.items() if op != "d"}


LAST = """
select order_id, line, qty, price from (
  select *, row_number() over (partition by order_id, line order by _sequence desc) as age from changes
) where age = 1 and not _deleted
"""


@pytest.mark.parametrize("settings", ["plain", "schema", "types-string"])
def test_the_last_change_of_each_key_is_the_table(spark, changes, write, make_stream, settings):
    stream = make_stream(3)
    events = texts(settings, "order_items")
    write(stream, events)

    frame = changes(stream, f"{COLUMNS}, _deleted boolean, _sequence binary", key="order_id,line")
    frame.createOrReplaceTempView("changes")
    rows = spark.sql(LAST).collect()

    assert {(row.order_id, row.line): row.qty for row in rows} == state_of(events)
    assert (1, 1, 3, Decimal("9.99")) in [tuple(row) for row in rows]


def test_columns_and_types_come_from_the_newest_schema_in_the_range(changes, write, make_stream):
    stream = make_stream(2)
    write(stream, texts("schema", "kinds") + texts("schema", "kinds"))

    frame = changes(stream, key="id", on_error="null", metadata_columns="cdc,offset")

    kinds = dict(frame.dtypes)
    assert (kinds["nu"], kinds["nf"], kinds["dt"]) == ("decimal(12,4)", "string", "date")
    assert (kinds["ts"], kinds["tsz"], kinds["na"]) == ("timestamp_ntz", "timestamp", "array<decimal(8,2)>")
    assert (kinds["pt"], kinds["_unchanged"]) == (
        "struct<x:double,y:double,wkb:binary,srid:int>",
        "array<string>",
    )
    rows = frame.where("_op = 'u'").select("nu", "nf", "tm", "ts", "na", "by").distinct().collect()
    assert [(row.nu, row.nf, row.tm, row.na) for row in rows] == [
        (Decimal("12345678.9012"), "0.00000000015", "23:59:59.123456", [Decimal("1.50"), None])
    ]
    assert frame.where("_corrupt_event is not null").count() == 0


def test_an_update_is_two_rows_with_one_offset(changes, write, make_stream):
    stream = make_stream(1)
    write(stream, texts("schema", "full_ident"))

    frame = changes(stream, changes="rows", before_image="full", key="id", metadata_columns="_change_type,offset")
    pairs = [tuple(row) for row in frame.where("_change_type like 'update%'").orderBy("offset").collect()]

    assert [pair[:4] for pair in pairs[:2]] == [
        (1, "one", 1, "update_preimage"),
        (1, "uno", 1, "update_postimage"),
    ]
    assert pairs[0][4] == pairs[1][4]


def test_an_envelope_has_both_images(changes, write, make_stream):
    stream = make_stream(1)
    write(stream, texts("plain", "full_ident"))
    image = "struct<id: int, v: string, n: int>"

    frame = changes(
        stream, f"before {image}, after {image}, op string", changes="envelope", before_image="full", truncates="drop"
    )

    first = frame.where("op = 'u'").first()
    assert (first.before.v, first.after.v) == ("one", "uno")
    assert frame.where("op = 'd'").where("after is null").count() == frame.where("op = 'd'").count() > 0


def test_a_stream_of_several_tables_and_other_events_is_followed(spark, changes, write, make_stream, tmp_path):
    stream = make_stream(2)
    events = texts("plain")
    write(stream, events)

    frame = changes(
        stream,
        f"{COLUMNS}, _change_type string, _sequence binary, _deleted boolean",
        reader=spark.readStream,
        key="order_id,line",
        table="public.order_items",
        start_stream_cut="earliest",
    )
    query = (
        frame.writeStream.format("parquet")
        .options(path=str(tmp_path / "rows"), checkpointLocation=str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.read.parquet(str(tmp_path / "rows")).createOrReplaceTempView("changes")

    rows = spark.sql(LAST).collect()
    assert {(row.order_id, row.line): row.qty for row in rows} == state_of(texts("plain", "order_items"))


def refused(make):
    with pytest.raises(PySparkException) as raised:
        make().collect()
    return str(raised.value)


def test_what_is_not_understood_is_refused_by_name(changes, write, make_stream):
    toasted, flat, cloud, two = (make_stream(1, name) for name in ("toasted", "flat", "cloud", "two"))
    write(toasted, [one for one in texts("plain", "toasted") if b'"op":"u"' in one[0]] * 2 + texts("schema", "toasted"))
    write(flat, texts("flat-rewrite", "customers"))
    write(cloud, texts("cloudevents", "customers"))
    write(two, texts("plain", "customers") + texts("plain", "toasted"))
    telling = "id int, _op string"

    assert "_unchanged" in refused(lambda: changes(toasted, "id int, big string, _op string", key="id"))
    assert "flattened" in refused(lambda: changes(flat, telling, key="id"))
    assert "CloudEvent" in refused(lambda: changes(cloud, telling, key="id"))
    assert "several tables" in refused(lambda: changes(two, telling, key="id"))
    assert "needs option 'key'" in refused(lambda: changes(flat, telling))
    assert "tells a deleted row" in refused(lambda: changes(flat, "id int", key="id"))
    assert "no change event with a schema" in refused(lambda: changes(flat, key="id"))
    assert "dropDuplicates" in refused(lambda: changes(flat, telling, key="id", dedup="true"))


@pytest.mark.parametrize(("settings", "table"), [("plain", "order_items"), ("schema", "customers")])
def test_the_current_table_is_what_the_events_imply(changes, write, make_stream, settings, table):
    stream = make_stream(3)
    events = texts(settings, table)
    write(stream, events)
    key = {"order_items": ["order_id", "line"], "customers": ["id"]}[table]
    given = {"order_items": COLUMNS, "customers": "id int, first_name string, last_name string"}[table]

    frame = changes(stream, f"{given}, _change_type string, _sequence binary", key=",".join(key))
    last: dict[tuple[int, ...], tuple[int, str]] = {}
    for text, _ in events:
        event = json.loads(text) if text else {"op": ""}
        event = event.get("payload", event)
        row = event.get("after") or event.get("before")
        if row:
            found = tuple(row[name] for name in key)
            last[found] = max(last.get(found, (0, "")), (event["source"]["lsn"], event["op"]))

    rows = current(frame, key).collect()
    assert sorted(tuple(row[name] for name in key) for row in rows) == sorted(
        found for found, (_, op) in last.items() if op != "d"
    )
    assert last_changes(frame, key).count() == len(last)


def test_the_newest_schema_is_that_of_the_table_that_was_asked_for(changes, write, make_stream):
    stream = make_stream(1)
    write(stream, texts("schema", "kinds") + texts("schema", "order_items"))

    assert dict(changes(stream, key="id", table="public.kinds").dtypes)["nu"] == "decimal(12,4)"
    with pytest.raises(PySparkException, match="no change event with a schema"):
        changes(stream, key="id", table="archive.kinds")


def test_an_unsent_value_stays_and_a_truncate_empties_the_table(changes, write, make_stream):
    unsent = "__debezium_unavailable_value"
    events = [
        made("c", 1, id=0, n=0, big="gone"),
        made("t", 2),
        made("c", 3, id=1, n=1, big="large"),
        made("u", 5, id=1, n=3, big=unsent),
        made("u", 4, id=1, n=2, big=unsent),
        made("u", 6, id=2, n=7, big=unsent),
        made("c", 7, id=3, n=8, big="x"),
        made("d", 8, id=3, n=None, big=None),
        made("u", 5, id=1, n=3, big=unsent),
    ]
    stream = make_stream(1)
    write(stream, events)
    columns = "id int, n int, big string, _change_type string, _sequence binary, _unchanged array<string>"

    frame = changes(stream, columns, key="id")

    table = {row.id: (row.n, row.big, row._unchanged) for row in current(frame, ["id"]).collect()}
    assert table == {1: (3, "large", []), 2: (7, None, ["big"])}
    with pytest.raises(PySparkException, match="the range has a truncate"):
        last_changes(frame, ["id"]).collect()
    merged = last_changes(frame.where("_change_type <> 'truncate'"), ["id"])
    assert {row.id: (row.big, row._change_type) for row in merged.collect()} == {
        0: ("gone", "insert"),
        1: ("large", "update_postimage"),
        2: (None, "update_postimage"),
        3: (None, "delete"),
    }


def test_columns_of_the_table_may_begin_with_an_underscore(changes, write, make_stream):
    stream = make_stream(1)
    write(stream, [made("c", 1, id=1, _note="large"), made("u", 2, id=1, _note="__debezium_unavailable_value")])
    columns = "id int, _note string, _change_type string, _sequence binary, _unchanged array<string>"

    frame = changes(stream, columns, key="id")

    assert [row.asDict() for row in current(frame, ["id"]).collect()] == [{"id": 1, "_note": "large", "_unchanged": []}]


def test_a_table_of_sql_keeps_the_columns_it_was_made_with(spark, pravega_config, write, make_stream):
    stream = make_stream(1)
    events = texts("schema", "order_items")
    write(stream, events)
    options = {
        "controller": pravega_config.controller_uri,
        "scope": stream.scope,
        "stream": stream.stream,
        "decode": "debezium-json",
        "key": "order_id,line",
        "metadata_columns": "_change_type,_sequence",
    }
    named = ", ".join(f"`{name}` '{text}'" for name, text in options.items())

    spark.sql(f"CREATE TABLE order_changes USING pravega OPTIONS ({named})")
    try:
        write(stream, texts("plain", "order_items"))
        table = spark.table("order_changes")
        assert dict(table.dtypes)["price"] == "decimal(10,2)"
        rows = current(table, ["order_id", "line"]).collect()
    finally:
        spark.sql("DROP TABLE order_changes")

    every = state_of(events + texts("plain", "order_items"))
    assert {(row.order_id, row.line): row.qty for row in rows} == every
