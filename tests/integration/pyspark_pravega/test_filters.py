"""Filters of queries: the same rows whether Spark hands them to the source or not, and never an error."""

import pytest

CONDITIONS = [
    "segment_id = 1",
    "segment_id <> 1",
    "segment_id in (1, 2)",
    "segment_id not in (1, 2)",
    "segment_id >= 1 and offset >= 3000 and offset < 9000",
    "segment_id > 0.5",
    "segment_id is null",
    "segment_id <=> null",
    "offset = 0",
    "offset between 1000 and 2000",
    "not offset > 5000",
    "offset % 1000 = 0",
    "offset is not null and scope is not null",
    "offset in (0, 18, 36)",
    "stream = 'one'",
    "stream like 'o%'",
    "stream like '%o%' and stream <> 'one'",
    "lower(stream) = 'two'",
    "stream > 'one'",
    "stream = 'one' or segment_id = 1",
    "stream = 'one' or (segment_id = 1 and offset = 0)",
    "scope = 'none'",
    "stream = string(event)",
    "event = 'event-7'",
    "length(event) > 7 and stream is not null",
    "true",
    "false",
    "cast(null as boolean)",
]


@pytest.fixture
def two_streams(spark, fill, make_stream, pravega_config):
    """A DataFrame of two streams of two segments, several pieces each."""
    streams = [make_stream(2, name) for name in ("one", "Two")]
    for stream in streams:
        fill(stream, 2000)
    options = {"controller": pravega_config.controller_uri, "scope": streams[0].scope, "split_bytes": 10_000}
    return lambda: spark.read.format("pravega").options(streams="one,Two", **options).load()


@pytest.fixture
def pushing(spark):
    """Switches the pushing of filters on."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    yield
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def rows(frame, condition):
    return sorted((row.stream, row.segment_id, row.offset) for row in frame.where(condition).collect())


def rows_of_each(frame):
    """The same for all conditions in one job, in which there is nothing to push."""
    columns = [f"coalesce({condition}, false)" for condition in CONDITIONS]
    found = frame.selectExpr("stream", "segment_id", "offset", f"array({', '.join(columns)}) as holds").collect()
    return {
        condition: sorted((row.stream, row.segment_id, row.offset) for row in found if row.holds[number])
        for number, condition in enumerate(CONDITIONS)
    }


@pytest.mark.usefixtures("pushing")
def test_filters_give_the_same_rows_pushed_or_not(two_streams):
    kept = two_streams().persist()
    assert kept.count() == 4000

    pushed = {condition: rows(two_streams(), condition) for condition in CONDITIONS}

    assert pushed == rows_of_each(kept)
    kept.unpersist()


@pytest.mark.parametrize("condition", ["stream = 'one' and segment_id = 1", "offset < 100 and event is not null"])
def test_filters_work_where_nothing_is_pushed(two_streams, condition):
    assert 0 < len(rows(two_streams(), condition)) < two_streams().count() == 4000


@pytest.mark.usefixtures("pushing")
def test_pushed_filters_leave_segments_unread(two_streams):
    whole = two_streams().rdd.getNumPartitions()
    assert whole >= 8

    assert two_streams().where("stream = 'one'").rdd.getNumPartitions() == whole // 2
    assert two_streams().where("segment_id = 1").rdd.getNumPartitions() <= whole // 2
    assert two_streams().where("stream = 'one' and segment_id = 1 and offset < 10").rdd.getNumPartitions() == 1
    assert two_streams().where("stream = 'three'").count() == 0


@pytest.mark.usefixtures("pushing")
def test_a_table_of_metadata_may_be_filtered(spark, make_stream, pravega_config):
    stream = make_stream(1, "one")
    make_stream(1, "two")
    options = {"controller": pravega_config.controller_uri, "scope": stream.scope, "metadata": "Streams"}

    frame = spark.read.format("pravega").options(**options).load()

    assert frame.where("stream_name = 'two'").count() == 1
