"""Spark's writer divides the rows of a batch, or of micro-batches, among several streams: decided together, once."""

import json
from collections import Counter
from collections.abc import Callable

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from aiopravega import UNBOUNDED, StreamCutRange, StreamName
from aiopravega.ledger import CommitState, Fingerprint, PartitionCommit
from aiopravega.ledger.commits.fingerprint import event_hash
from aiopravega.ledger.commits.write_job import prepared
from pyspark_pravega.write.batch import PravegaBatchWriter

NAMES = ("even", "odd", "third")


@pytest.fixture
def sinks(make_stream) -> list[StreamName]:
    return [make_stream(2, name) for name in NAMES]


@pytest.fixture
def options(pravega_config, sinks) -> dict[str, str]:
    streams = {name: str(sink) for name, sink in zip(NAMES, sinks, strict=True)}
    named = {"controller": pravega_config.controller_uri, "streams_by_value": json.dumps(streams)}
    return named | {"stream_column": "goes_to", "write_id": "daily"}


@pytest.fixture
def write(options) -> Callable[..., None]:
    def write(frame: DataFrame, **more: str) -> None:
        frame.write.format("pravega").mode("append").options(**options | more).save()

    return write


@pytest.fixture
def rows(spark) -> Callable[..., DataFrame]:
    """Rows of numbers, each for one of two streams; the third one gets none."""

    def rows(count: int = 1000, partitions: int = 3, goes_to: str = "if(id % 2 = 0, 'even', 'odd')") -> DataFrame:
        made: DataFrame = spark.range(0, count, numPartitions=partitions)
        key = "concat('key-', id % 7) as routing_key"
        return made.selectExpr("cast(id as string) as event", key, f"{goes_to} as goes_to")

    return rows


@pytest.fixture
def found(client, sinks):
    def found() -> list[Counter[bytes]]:
        everything = StreamCutRange(UNBOUNDED, UNBOUNDED)
        return [Counter(event.data for event in client.read(everything, sink)) for sink in sinks]

    return found


def numbers(*every: int) -> Counter[bytes]:
    return Counter(str(number).encode() for number in every)


EACH = [numbers(*range(0, 1000, 2)), numbers(*range(1, 1000, 2)), numbers()]


def test_each_stream_gets_its_rows_once_however_they_are_dealt(rows, write, found, client, sinks):
    write(rows())
    write(rows(partitions=2).orderBy("routing_key").repartition(2))

    assert found() == EACH
    record = client.visible_write(sinks[1], "daily")
    assert (record.streams, record.total_events, record.state) == (tuple(sinks), 1000, CommitState.DONE)
    assert [part.partition for part in record.partitions] == [0, 1, 3, 4, 6, 7]
    assert len(list(client.read_visible(sinks[0], "daily"))) == 500
    with pytest.raises(Exception, match=f"to {sinks[1]} is done already, with other rows"):
        write(rows(999))
    write(rows(), rebuild="2")
    assert found() == [each + each for each in EACH]


def test_rows_without_a_stream_fail_the_write_as_a_whole(rows, write, found):
    for value, complaint in (("'new'", "a row has 'new' in column 'goes_to'"), ("null", "a row has None in")):
        with pytest.raises(Exception, match=complaint):
            write(rows(goes_to=f"if(id = 700, {value}, 'even')"))
    assert found() == [numbers()] * 3
    write(rows())
    assert found() == EACH


def test_options_that_are_for_one_stream_are_refused_by_name(rows, write, found, sinks):
    for more, complaint in (
        ({"stream": str(sinks[0])}, "option 'stream' is for a write into one stream"),
        ({"errors": f"stream:{sinks[2]}"}, "option 'errors' is for a write into one stream.*write_streams"),
        ({"event_time": "event"}, "option 'event_time' is for a write into one stream"),
        ({"exactly_once": "false", "write_id": ""}, "option 'streams_by_value' needs exactly_once=true"),
        ({"streams_by_value": "even=a/b"}, "must be a JSON object"),
        ({"streams_by_value": '{"even": "other/a", "odd": "more/b"}'}, "the streams are in the scopes more, other"),
        ({"stream_column": "where"}, "option 'stream_column' is 'where', which is missing"),
        ({"stream_column": ""}, "options 'streams_by_value' and 'stream_column' go together"),
    ):
        with pytest.raises(Exception, match=complaint):
            write(rows(), **more)
    assert found() == [numbers()] * 3


def test_what_a_dead_driver_has_decided_is_finished_by_the_same_write(rows, options, write, found, client, sinks):
    """The driver has decided, and dies before its commits: no stream has a row until the next write to one of them."""
    frame = rows()
    writer = PravegaBatchWriter(options, frame.schema, overwrite=False)
    assert writer._job is not None
    parts = []
    for number, (sink, event) in enumerate(zip(sinks[:2], (b"left in the first", b"left in the second"), strict=True)):
        transaction = client.open_transaction(sink, lease=30)
        transaction.write(event)
        transaction.flush()
        transaction.detach()
        rows_of = Fingerprint(1, len(event) + 8, event_hash(event, None))
        stream = sink if number else None
        parts.append(
            PartitionCommit(
                partition=number,
                stream=stream,
                txn_id=transaction.txn_id,
                events=1,
                bytes=rows_of.bytes,
                hashes=rows_of.hashes,
                checksum="left",
            )
        )
    ledger = client.commit_ledger(sinks[0].scope)
    starts: list[str | None] = [None] * 3
    client.run(ledger.asynchronous.prepare(prepared(writer._job, parts, starts, None, None, None)))
    assert found() == [numbers()] * 3

    write(frame, write_id="another")

    assert found() == [EACH[0] + Counter([b"left in the first"]), EACH[1] + Counter([b"left in the second"]), EACH[2]]
    assert client.visible_write(sinks[0], "daily").total_events == 2


def test_micro_batches_go_to_their_streams_once(follow, fill, make_stream, options, found, client, sinks, tmp_path):
    source = make_stream(2, "source")
    written = fill(source, 300)
    frame = follow(source, start_stream_cut="earliest", max_bytes_per_trigger=4000)
    frame = frame.selectExpr("event", "if(length(event) % 2 = 0, 'even', 'odd') as goes_to")
    of_query = {name: value for name, value in options.items() if name != "write_id"}

    def run():
        writer = frame.writeStream.format("pravega").options(**of_query)
        query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
        assert query.awaitTermination(600)
        return query

    run()
    written += fill(source, 200, "more")
    query = run()
    batch = query.lastProgress["batchId"]
    for name in (f"{batch}", f".{batch}.crc"):  # as if the driver had died before Spark noted the commit
        (tmp_path / "commits" / name).unlink(missing_ok=True)
    run()

    assert sum(found(), Counter()) == Counter(written)
    assert all(len(event) % 2 == 0 for event in found()[0])
    record = client.visible_write(sinks[2], f"{query.id}/{batch}")
    assert record.streams == tuple(sinks)
    frame = frame.selectExpr("event", "concat(goes_to, 's') as goes_to")
    fill(source, 1, "last")
    with pytest.raises(StreamingQueryException, match="for which no stream is given"):
        run()
