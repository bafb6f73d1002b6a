# long because: one test per promise of the sink, on the one Spark and the helpers that all share
"""DataFrames written to streams by a real Spark: each row once, in its key's segment and order, or a clear error."""

import json
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from aiopravega import StreamCut, StreamCutRange, StreamName, wire
from aiopravega.blocking import CommitLedger
from aiopravega.control import TransactionState
from aiopravega.ledger import CommitRecord, CommitState, PartitionCommit
from aiopravega.read import Event
from aiopravega.routing import SegmentMap, key_position
from pyspark_pravega.write.row_hashes import RowTally

Write = Callable[..., None]


@pytest.fixture
def write(pravega_config) -> Write:
    """Writes a DataFrame to a stream, with options."""

    def write(frame: DataFrame, sink: StreamName, **options: object) -> None:
        named = {"controller": pravega_config.controller_uri, "scope": sink.scope, "stream": sink.stream}
        texts = {name: str(value) for name, value in options.items()}
        frame.write.format("pravega").mode("append").options(**named | texts).save()

    return write


@pytest.fixture
def events_in(client) -> Callable[[StreamName], list[Event]]:
    def events(sink: StreamName) -> list[Event]:
        return list(client.read(StreamCutRange(StreamCut.unbounded(), StreamCut.unbounded()), sink))

    return events


@pytest.fixture
def contents(events_in) -> Callable[[StreamName], Counter[bytes]]:
    """What is in a stream, as a multiset."""
    return lambda sink: Counter(event.data for event in events_in(sink))


@pytest.fixture
def numbers(spark) -> Callable[..., DataFrame]:
    """Rows `0 … count - 1` as events `key:number`, with ten keys."""

    def numbers(count: int, partitions: int = 4) -> DataFrame:
        rows: DataFrame = spark.range(0, count, numPartitions=partitions)
        return rows.selectExpr("concat('key-', id % 10, ':', id) as event", "concat('key-', id % 10) as routing_key")

    return numbers


def expected(count: int) -> Counter[bytes]:
    return Counter(f"key-{number % 10}:{number}".encode() for number in range(count))


def test_every_row_is_written_once_into_its_keys_segment_and_in_order(numbers, write, events_in, make_stream, client):
    sink = make_stream(4)

    write(numbers(5000, partitions=1), sink)

    found = events_in(sink)
    by_key = defaultdict(list)
    segments = SegmentMap(client.run(client.controller.current_segments(sink)))
    for event in found:
        key, number = event.data.decode().split(":")
        assert event.segment == segments.segment_for(key_position(key))
        by_key[key].append(int(number))
    assert by_key == {f"key-{key}": list(range(key, 5000, 10)) for key in range(10)}


def test_rows_of_many_partitions_are_written_once(numbers, write, contents, make_stream):
    sink = make_stream(4)

    write(numbers(3000, partitions=5), sink)

    assert contents(sink) == expected(3000)


def test_a_stream_of_64_segments_takes_a_few_rows(numbers, write, contents, make_stream):
    sink = make_stream(64)

    write(numbers(100, partitions=2), sink)

    assert contents(sink) == expected(100)


def test_binary_events_of_any_bytes_are_written_as_they_are(spark, write, contents, make_stream):
    sink = make_stream(2)
    events = [b"", b"\x00" * 9, bytes(range(256)), b"x" * wire.MAX_EVENT]

    write(spark.createDataFrame([(event,) for event in events], "event binary").repartition(1), sink)

    assert contents(sink) == Counter(events)


def test_rows_without_a_key_are_spread_over_the_segments(spark, write, events_in, make_stream):
    sink = make_stream(2)
    frame = spark.range(0, 4000, numPartitions=1).selectExpr("repeat('x', 1000) as event", "null as routing_key")

    write(frame.selectExpr("event", "cast(routing_key as string) as routing_key"), sink)

    found = Counter(str(event.segment) for event in events_in(sink))
    assert sum(found.values()) == 4000
    assert len(found) == 2


def test_small_partitions_without_keys_do_not_meet_in_one_segment(spark, write, events_in, make_stream):
    sink = make_stream(4)

    write(spark.range(0, 400, numPartitions=4).selectExpr("cast(id as string) as event"), sink)

    assert Counter(Counter(str(event.segment) for event in events_in(sink)).values()) == Counter([100] * 4)


def test_rows_with_and_without_a_key_go_together(spark, write, contents, make_stream):
    sink = make_stream(3)
    frame = spark.range(0, 100).selectExpr(
        "cast(id as string) as event", "if(id % 3 = 0, null, concat('key-', id)) as routing_key"
    )

    write(frame, sink)

    assert contents(sink) == Counter(str(number).encode() for number in range(100))


def test_a_write_with_the_same_id_is_not_done_again(numbers, write, contents, make_stream, client):
    sink = make_stream(2)

    write(numbers(1000), sink, write_id="daily/2013-01-01")
    write(numbers(1000), sink, write_id="daily/2013-01-01")

    assert contents(sink) == expected(1000)
    record = client.commit_ledger(sink.scope).lookup(sink, "daily/2013-01-01").record
    assert record.state is CommitState.DONE
    assert record.total_events == 1000
    assert record.total_bytes == sum(len(event) + wire.EVENT_HEADER for event in expected(1000))
    write(numbers(1000), sink, write_id="daily/2013-01-02")
    assert sum(contents(sink).values()) == 2000


def test_a_write_without_an_id_is_done_again(numbers, write, contents, make_stream):
    sink = make_stream(1)

    write(numbers(10), sink)
    write(numbers(10), sink)

    assert sum(contents(sink).values()) == 20


def test_the_checksum_of_a_partition_depends_on_its_rows_only(spark, numbers, write, make_stream, client):
    one, four = make_stream(1, "one"), make_stream(4, "four")
    write(numbers(3000, partitions=2), one, write_id="w")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "17")
    try:
        write(numbers(3000, partitions=2), four, write_id="w")
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")

    checksums = [
        [part.checksum for part in client.commit_ledger(sink.scope).lookup(sink, "w").record.partitions]
        for sink in (one, four)
    ]

    assert checksums[0] == checksums[1]
    assert len(set(checksums[0])) == 2


def decide(ledger: CommitLedger, client, sink: StreamName, write_id: str, *events: bytes) -> list[PartitionCommit]:
    """What a driver leaves that is killed between the decision and the first commit."""
    job = ledger.protocol().begin(sink, write_id, uuid.uuid4())
    parts = []
    for partition, event in enumerate(events):
        transaction = client.open_transaction(sink)
        transaction.write(event)
        transaction.flush()
        transaction.detach()
        tally = RowTally()
        tally.add(pa.array([event], pa.binary()), None)
        parts.append(
            PartitionCommit(
                partition=partition,
                txn_id=transaction.txn_id,
                events=1,
                bytes=len(event) + wire.EVENT_HEADER,
                hashes=tally.fingerprint.hashes,
                checksum=tally.checksum,
            )
        )
    ledger.prepare(
        CommitRecord(
            state=CommitState.PREPARED,
            sink=sink,
            incarnation=job.incarnation,
            write_id=write_id,
            attempt=job.attempt,
            partitions=tuple(parts),
            prepared_at=datetime.now(UTC),
        )
    )
    return parts


def test_a_job_killed_after_its_decision_is_finished_and_not_repeated(
    spark, numbers, write, contents, make_stream, client
):
    sink = make_stream(2)
    ledger = client.commit_ledger(sink.scope)
    ledger.create()
    decide(ledger, client, sink, "daily", b"0", b"1")
    assert not contents(sink)

    with pytest.raises(Exception, match=r"WriteIdReusedError.*2 events in 18 bytes.*this run has 100 events"):
        write(numbers(100), sink, write_id="daily")
    write(spark.range(2).selectExpr("cast(id as string) as event"), sink, write_id="daily")

    assert contents(sink) == Counter([b"0", b"1"])
    assert ledger.lookup(sink, "daily").record.state is CommitState.DONE


def test_a_job_that_lost_its_leases_after_its_decision_is_written_again(numbers, write, contents, make_stream, client):
    sink = make_stream(2)
    ledger = client.commit_ledger(sink.scope)
    ledger.create()
    for part in decide(ledger, client, sink, "daily", b"first", b"second"):
        client.attach_transaction(sink, part.txn_id).abort()

    write(numbers(100), sink, write_id="daily")

    assert contents(sink) == expected(100)
    assert ledger.lookup(sink, "daily").record.total_events == 100


def test_the_same_rows_complete_a_partially_committed_job(spark, write, contents, make_stream, client):
    sink = make_stream(2)
    ledger = client.commit_ledger(sink.scope)
    ledger.create()
    parts = decide(ledger, client, sink, "daily", b"0", b"1", b"2")
    client.attach_transaction(sink, parts[0].txn_id).commit(wait=30)
    client.attach_transaction(sink, parts[1].txn_id).abort()
    rows = spark.range(0, 3, numPartitions=3)

    with pytest.raises(Exception, match=r"PartialCommitError.*lost are 1\..*partition 1 has other rows"):
        write(rows.selectExpr("cast(9 - id as string) as event"), sink, write_id="daily")
    assert contents(sink) == Counter([b"0", b"2"])

    write(rows.selectExpr("cast(id as string) as event"), sink, write_id="daily")
    assert contents(sink) == Counter([b"0", b"1", b"2"])
    assert ledger.lookup(sink, "daily").record.state is CommitState.DONE


def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Fail a task's first attempt after it has given some rows away."""
    context = TaskContext.get()
    assert context is not None
    for batch in batches:
        yield batch
        if context.attemptNumber() == 0 and context.partitionId() == 1:
            raise RuntimeError("a failure of the test's making")


def fail_always(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches
    raise RuntimeError("a failure of the test's making")


def test_a_task_that_failed_and_is_tried_again_doubles_nothing(numbers, write, contents, make_stream):
    sink = make_stream(3)
    frame = numbers(3000, partitions=3)

    write(frame.mapInArrow(fail_once, frame.schema), sink)

    assert contents(sink) == expected(3000)


def test_a_job_that_fails_leaves_nothing_and_can_be_run_again(numbers, write, contents, make_stream, client):
    sink = make_stream(3)
    frame = numbers(300, partitions=3)

    with pytest.raises(Exception, match="a failure of the test's making"):
        write(frame.mapInArrow(fail_always, frame.schema), sink, write_id="daily")

    assert not contents(sink)
    assert client.commit_ledger(sink.scope).lookup(sink, "daily") is None
    write(frame, sink, write_id="daily")
    assert contents(sink) == expected(300)


def test_an_empty_frame_is_a_write_that_is_done(spark, write, contents, make_stream, client):
    sink = make_stream(2)
    empty = spark.createDataFrame([], StructType([StructField("event", StringType())]))

    write(empty, sink, write_id="daily")

    assert not contents(sink)
    record = client.commit_ledger(sink.scope).lookup(sink, "daily").record
    assert (record.state, record.partitions) == (CommitState.DONE, ())


def test_empty_partitions_open_no_transaction(numbers, write, make_stream, client):
    sink = make_stream(2)

    write(numbers(1000, partitions=4).where("event = 'key-0:0'"), sink, write_id="daily")

    record = client.commit_ledger(sink.scope).lookup(sink, "daily").record
    assert [part.partition for part in record.partitions] == [0]
    assert record.total_events == 1


def test_after_a_write_all_its_transactions_are_committed(numbers, write, make_stream, client):
    sink = make_stream(2)

    write(numbers(1000, partitions=4), sink, write_id="daily", read_after_write_consistency=True)

    for part in client.commit_ledger(sink.scope).lookup(sink, "daily").record.partitions:
        state = client.attach_transaction(sink, part.txn_id).state()
        assert state is TransactionState.COMMITTED


def test_a_ledger_may_be_elsewhere(numbers, write, contents, make_stream, scope, client):
    sink = make_stream(1)

    write(numbers(10), sink, write_id="daily", commit_ledger=f"{scope}/my-ledger")

    assert client.commit_ledger(scope, "my-ledger").lookup(sink, "daily").record.total_events == 10
    assert contents(sink) == expected(10)


def test_plain_writes_need_no_transactions(numbers, write, events_in, make_stream):
    sink = make_stream(3)

    write(numbers(1000, partitions=1), sink, exactly_once=False)

    found = [event.data for event in events_in(sink)]
    assert Counter(found) == expected(1000)
    first_key = [data for data in found if data.startswith(b"key-0:")]
    assert first_key == [f"key-0:{number}".encode() for number in range(0, 1000, 10)]


def test_scope_and_stream_are_made_as_the_options_say(numbers, write, contents, client):
    sink = StreamName(f"spark-{uuid.uuid4().hex}", "made")

    write(numbers(10), sink, default_num_segments=3)

    assert contents(sink) == expected(10)
    assert len(client.run(client.controller.current_segments(sink))) == 3


@pytest.mark.parametrize("missing", ["stream", "scope"])
def test_what_may_not_be_made_is_missed_before_work_starts(numbers, write, scope, missing):
    sink = StreamName(scope if missing == "stream" else f"no-such-{uuid.uuid4().hex}", "stream")
    options = {f"allow_create_{missing}": False}

    with pytest.raises(Exception, match=f"there is no {missing} .*allow_create_{missing} is false"):
        write(numbers(10), sink, **options)


def test_a_write_that_is_done_is_done_though_its_stream_was_sealed_since(numbers, write, contents, make_stream, client):
    sink = make_stream(2)
    write(numbers(100), sink, write_id="daily")
    client.seal_stream(sink)

    write(numbers(100), sink, write_id="daily")

    assert contents(sink) == expected(100)
    with pytest.raises(Exception, match=r"StreamSealedError.* is sealed"):
        write(numbers(100), sink, write_id="another")


def test_a_sealed_stream_is_refused_before_work_starts(numbers, write, make_stream, client):
    sink = make_stream(1)
    client.seal_stream(sink)

    with pytest.raises(Exception, match=r"StreamSealedError.* is sealed"):
        write(numbers(10), sink)


def test_a_stream_cannot_be_overwritten(numbers, make_stream, pravega_config):
    sink = make_stream(1)
    writer = numbers(10).write.format("pravega").mode("overwrite")

    with pytest.raises(Exception, match=r"ConfigurationError: a stream cannot be overwritten: use mode\('append'\)"):
        writer.options(controller=pravega_config.controller_uri, scope=sink.scope, stream=sink.stream).save()


@pytest.mark.parametrize(
    ("columns", "options", "complaint"),
    [
        ("id as event", {}, r"column 'event' is bigint.*to_json"),
        ("cast(id as string) as events", {}, r"column 'events' \(string\) is not part of a write"),
        ("cast(id as string) as event", {"exactlyonce": "true"}, "no option 'exactlyonce': did you mean exactly_once"),
    ],
    ids=["type", "column", "option"],
)
def test_what_cannot_work_is_said_before_work_starts(spark, write, make_stream, columns, options, complaint):
    with pytest.raises(Exception, match=f"ConfigurationError: .*{complaint}"):
        write(spark.range(10).selectExpr(columns), make_stream(1), **options)


@pytest.mark.parametrize(
    ("event", "complaint"),
    [("if(id = 7, null, 'x')", "have no event"), ("repeat('x', 8388609)", "8,388,609 bytes")],
    ids=["null", "too large"],
)
@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_row_that_is_no_event_fails_the_write(spark, write, contents, make_stream, event, complaint, exactly_once):
    sink = make_stream(1)

    with pytest.raises(Exception, match=complaint):
        write(spark.range(0, 8, numPartitions=1).selectExpr(f"{event} as event"), sink, exactly_once=exactly_once)

    assert not contents(sink)


def test_secrets_are_in_no_plan_and_no_error(numbers, make_stream, pravega_config):
    sink = make_stream(1)
    secret = "hush-hush-" + uuid.uuid4().hex
    writer = numbers(10).write.format("pravega").mode("append")
    options = {"controller": pravega_config.controller_uri, "scope": sink.scope, "stream": sink.stream}

    with pytest.raises(Exception, match="no option 'colour'") as caught:
        writer.options(**options, username="ada", password=secret, colour="red").save()

    assert secret not in str(caught.value)
    assert secret not in json.dumps([str(argument) for argument in caught.value.args])
