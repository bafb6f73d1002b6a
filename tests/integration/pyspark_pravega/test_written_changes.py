"""Rows written as change events by a real Spark to a real Pravega: read back equal, once, in the order of a key."""

import json
from collections import defaultdict
from decimal import Decimal

import pytest

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.routing import SegmentMap, key_position
from pyspark_pravega.cdc import current, to_debezium

TABLE = """
  cast({id} as int) as id, cast({id} as tinyint) as tiny, cast({id} as smallint) as small, {id} * 3000000000 as big,
  cast({id} / 8 as float) as f, double('NaN') as d, {id} % 2 = 0 as flag, concat('caf\u00e9 "', {id}, '"') as text,
  cast(cast({id} as string) as binary) as data, cast({id} / 100 as decimal(10,2)) as price,
  cast({id} as decimal(4,0)) as whole,
  date_add(date '1899-12-31', cast({id} as int)) as day, timestamp_ntz '1971-02-03 04:05:06.000007' as local,
  timestamp_micros({id} * 1000003) as at, array(cast({id} as decimal(8,2)), null) as prices,
  struct({id} as x, cast(null as string) as y) as point
"""
NULLS = "cast(null as string) as note, cast(null as decimal(5,1)) as nothing"


@pytest.fixture
def write_changes(pravega_config):
    """Writes a DataFrame as change events with the key `id`, with options."""

    def write_changes(frame, sink, **options):
        named = {"controller": pravega_config.controller_uri, "scope": sink.scope, "stream": sink.stream}
        writer = frame.write.format("pravega").mode("append")
        writer.options(**named | {"encode": "debezium-json", "key": "id"} | options).save()

    return write_changes


@pytest.fixture
def documents(client):
    """The events of a stream as (segment, document)."""

    def documents(sink):
        return [(one.segment, json.loads(one.data)) for one in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), sink)]

    return documents


@pytest.mark.parametrize(
    "options", [{"with_schemas": "true"}, {"time_precision": "us", "decimals": "digits"}], ids=["schemas", "plain"]
)
def test_what_is_written_is_read_back_equal_whatever_the_type(spark, write_changes, changes, make_stream, options):
    sink = make_stream(2)
    rows = spark.sql(
        f"select {TABLE.format(id='n')}, {NULLS}, "
        "case n % 3 when 0 then 'insert' when 1 then 'update_postimage' else 'delete' end as _change_type, n as _lsn "
        "from (select id as n from range(1, 101, 1, 2))"
    )

    write_changes(rows, sink, **options)

    read = {} if "with_schemas" in options else options
    columns = ", ".join(f"{name} {kind}" for name, kind in rows.dtypes)
    found = changes(sink, columns, changes="rows", key="id", **read)
    assert sorted(map(str, found.collect())) == sorted(map(str, rows.collect()))
    if "with_schemas" in options:  # the events say the columns
        assert (
            changes(sink, key="id").drop("_change_type", "_unchanged").dtypes
            == rows.drop("_change_type", "_lsn").dtypes
        )


def images(spark):
    """A change feed: the words of Delta and Spark, a version for each commit."""
    return spark.createDataFrame(
        [
            *[(key, "new", Decimal("1.50"), "insert", 1) for key in range(20)],
            *[(key, "new", Decimal("1.50"), "update_preimage", 2) for key in range(0, 20, 2)],
            *[(key, "changed", Decimal("2.50"), "update_postimage", 2) for key in range(0, 20, 2)],
            *[(key, "changed", Decimal("2.50"), "delete", 3) for key in range(0, 20, 4)],
            (100, "rewritten", None, "delete", 4),
            (100, "replaced", None, "insert", 4),
            (101, "image after", None, "update_postimage", 4),
        ],
        "id int, text string, price decimal(10,2), _change_type string, _commit_version bigint",
    ).repartition(5)


def test_images_are_paired_into_updates_in_the_order_of_their_key(spark, write_changes, documents, client, make_stream):
    sink = make_stream(3)
    frame = to_debezium(images(spark), ["id"], table="public.orders")

    write_changes(frame, sink, write_id="feed/1-4")
    write_changes(frame, sink, write_id="feed/1-4")

    segments = SegmentMap(client.run(client.controller.current_segments(sink)))
    ops = defaultdict(list)
    for segment, event in documents(sink):
        key = (event["after"] or event["before"])["id"]
        ops[key].append(event["op"])
        assert segment == segments.segment_for(key_position(f'{{"id":{key}}}'))
        assert event["source"] == {"connector": "pravega", "schema": "public", "table": "orders"}
        if event["op"] == "u" and key < 100:
            assert event["before"] == {"id": key, "text": "new", "price": "1.50"}
            assert event["after"] == {"id": key, "text": "changed", "price": "2.50"}
        if key == 101:
            assert event["before"] is None
    assert ops == {
        **{key: ["c", "u", "d"] if key % 4 == 0 else ["c", "u"] if key % 2 == 0 else ["c"] for key in range(20)},
        100: ["u"],
        101: ["u"],
    }


def test_changes_read_from_one_stream_keep_their_positions_in_another(write_changes, changes, write, make_stream):
    source, sink = make_stream(2), make_stream(2, "copy")
    events: list[dict[str, object]] = [
        {"op": "c", "before": None, "after": {"id": 1, "v": "a"}},
        {"op": "u", "before": {"id": 1, "v": "a"}, "after": {"id": 1, "v": "b"}},
        {"op": "d", "before": {"id": 1, "v": "b"}, "after": None},
        {"op": "c", "before": None, "after": {"id": 2, "v": "x"}},
    ]
    positions: list[dict[str, object]] = [
        {"source": {"connector": "mariadb", "table": "t", "lsn": lsn}, "ts_ms": 5} for lsn in range(4)
    ]
    texts = [json.dumps(event | position) for event, position in zip(events, positions, strict=True)]
    write(source, [(text.encode(), "key") for text in texts])
    columns = "id int, v string, _change_type string, _lsn bigint, _source_table string, _ingested_at timestamp"
    rows = changes(source, columns, changes="rows", key="id")

    write_changes(to_debezium(rows, ["id"]), sink)

    copied = changes(sink, columns, changes="rows", key="id")
    assert sorted(map(str, copied.collect())) == sorted(map(str, rows.collect()))
    state = changes(sink, "id int, v string, _change_type string, _sequence binary", key="id")
    assert [tuple(row) for row in current(state, ["id"]).collect()] == [(2, "x")]


def test_a_streaming_query_writes_change_events_once(
    spark, write_changes, changes, make_stream, pravega_config, tmp_path
):
    source, sink = make_stream(2), make_stream(2, "copy")
    rows = spark.range(30).selectExpr("cast(id as int) as id", "'insert' as _change_type")
    write_changes(rows, source)
    columns = "id int, _change_type string"

    named = {"controller": pravega_config.controller_uri, "scope": sink.scope, "stream": sink.stream}
    frame = changes(source, columns, reader=spark.readStream, key="id", start_stream_cut="earliest")
    writer = frame.writeStream.format("pravega").options(encode="debezium-json", key="id", **named)
    writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination()

    assert sorted(row.id for row in changes(sink, columns, key="id").collect()) == list(range(30))


@pytest.mark.parametrize(
    ("columns", "options", "complaint"),
    [
        ("map('a', 1) as m", {}, "column 'm' cannot be map"),
        ("interval 1 day as i", {}, "column 'i' cannot be duration"),
        ("array(null) as a", {}, r"column 'a\[\]' cannot be null"),
        ("1 as n", {"key": ""}, "needs option 'key'"),
        ("1 as n", {"codec": "gzip"}, "option 'codec' has no use with encode=debezium-json"),
        ("1 as n", {"schema_text": "{}"}, "neither one event with its schema"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name_before_a_task_starts(
    spark, write_changes, documents, make_stream, columns, options, complaint
):
    sink = make_stream(1)
    rows = spark.range(3).selectExpr("id", "raise_error('a task ran') as _op", columns)

    with pytest.raises(Exception, match=complaint):
        write_changes(rows.selectExpr("*").withColumn("_op", rows._op.cast("string")), sink, **options)

    assert documents(sink) == []


def test_two_new_images_of_a_key_at_one_position_are_refused(spark):
    rows = images(spark).where("id = 1")

    with pytest.raises(Exception, match="several changes at one position in the order: 1"):
        to_debezium(rows.union(rows), ["id"]).collect()
    with pytest.raises(Exception, match="nothing says in which order"):
        to_debezium(rows.drop("_commit_version"), ["id"])
    with pytest.raises(Exception, match="not a change that is known"):
        to_debezium(rows, ["id"], change="text").collect()
