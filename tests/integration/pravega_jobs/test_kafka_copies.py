"""Copies of topics of a real Kafka into streams: each record once, in order, with the cut of each consumer group."""

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from tests.faults.process import wait_until
from tests.integration.conftest import client, scope
from tests.integration.pravega_jobs.kafka_topics import (
    PARTITIONS,
    by_key,
    cluster,
    consume,
    events,
    produce,
    stream,
    topic,
)

from aiopravega import StreamCut
from aiopravega.errors import (
    ConfigurationError,
    NotExactError,
    RecordRefusedError,
    TopicCopyError,
)
from pravega_jobs.frames import range_of, read_arrow
from pravega_jobs.kafka import (
    RECORD_SCHEMA,
    CopiedPart,
    CopyOptions,
    Routing,
    Unkept,
    compare_copy,
    copy_of,
    copy_topic,
    cut_over,
    go_back,
)

__all__ = ["client", "cluster", "produce", "scope", "stream", "topic"]
pytestmark = pytest.mark.xdist_group("kafka")
JOB = Path(__file__).with_name("kafka_job.py")


def test_a_topic_is_copied_once_in_order_and_is_the_same(client, kafka, cluster, topic, stream, produce):
    produce(500)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic, "log_level": 0})
    producer.init_transactions()
    for decide in (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        said = "aborted-0" if decide == producer.abort_transaction else "committed-0"
        producer.produce(topic, value=said, partition=1)
        producer.flush()
        decide()
    done = copy_topic(client, cluster, topic, stream, step_records=200)
    assert (done.events, done.left, done.steps) == (502, 0, 3)
    assert copy_topic(client, cluster, topic, stream).steps == 0
    produce(90)
    assert copy_topic(client, cluster, topic, stream).events == 90
    found = by_key(events(client, stream))
    assert found.pop("committed") == [0, 0]
    assert {key: numbers == list(range(len(numbers))) for key, numbers in found.items()} == dict.fromkeys(found, True)
    assert sum(map(len, found.values())) == 590
    compared = compare_copy(client, cluster, topic, stream)
    assert (compared.is_same, compared.total.events, len(compared.steps)) == (True, 592, 4)


def test_killed_copies_are_finished_with_the_same_records(
    client, pravega_config, kafka, cluster, topic, stream, produce
):
    produce(30_000)
    job = [sys.executable, JOB, pravega_config.controller_uri, kafka.bootstrap, topic, str(stream), "12000"]
    for number in (1, 2):
        process = subprocess.Popen(job, stdout=subprocess.DEVNULL)

        def is_fixed(number=number):
            with contextlib.suppress(TopicCopyError):
                return len(copy_of(client, stream).steps) >= number
            return False

        wait_until(is_fixed, lambda: "no step was fixed")
        process.kill()
        process.wait()
        produce(100)  # what is new belongs to later steps
    subprocess.run(job, check=True)
    fixed = copy_of(client, stream).steps
    assert sum(fixed[0].ends) == 12_000
    assert sorted(by_key(events(client, stream))["key0"]) == by_key(events(client, stream))["key0"]
    compared = compare_copy(client, cluster, topic, stream)
    assert (compared.is_same, compared.total.events) == (True, 30_200)


def test_a_group_continues_at_its_exact_cut(client, kafka, cluster, topic, stream, produce):
    produce(100)
    processed = consume(kafka, topic, "billing", 100)
    produce(200)
    processed += consume(kafka, topic, "billing", 20)
    copy_topic(client, cluster, topic, stream, behind=["billing"])
    produce(50)
    cut = cut_over(client, cluster, topic, stream, "billing", consumer="billing", reader_group="billing")
    assert cut.repeats == 0
    copy_topic(client, cluster, topic, stream)
    rest = events(client, stream, StreamCut.from_text(cut.cut))
    assert sorted(processed + rest) == sorted(events(client, stream))
    assert len(processed + rest) == 350
    # Again: the same cut, although the copy has continued.
    assert cut_over(client, cluster, topic, stream, "billing", consumer="billing") == cut
    (beginning,) = client.cut_ledger(stream.scope).records("billing", stream)
    assert (beginning.is_done, beginning.end) == (True, cut.cut)
    assert client.describe_reader_group(stream.scope, "billing").streams[0].position == StreamCut.from_text(cut.cut)
    consume(kafka, topic, "late", 350)
    with pytest.raises(NotExactError, match="'billing' .* has begun elsewhere"):
        cut_over(client, cluster, topic, stream, "late", consumer="billing")


def test_offsets_in_gaps_are_exact_and_an_overtaken_group_is_refused(client, kafka, cluster, topic, stream):
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic, "log_level": 0})
    producer.init_transactions()
    producer.begin_transaction()
    for number in range(10):
        producer.produce(topic, value=f"a-{number}", partition=0)
    producer.commit_transaction()
    copy_topic(client, cluster, topic, stream)  # the step ends after the end of the transaction
    assert len(consume(kafka, topic, "billing", 10)) == 10
    behind = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "behind"})
    behind.commit(offsets=[TopicPartition(topic, 0, 7)], asynchronous=False)
    behind.close()
    before = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "before"})
    before.commit(offsets=[TopicPartition(topic, 0, 10)], asynchronous=False)
    before.close()
    for group in ("billing", "before"):
        assert cut_over(client, cluster, topic, stream, group).repeats == 0
    with pytest.raises(NotExactError, match="it would get 7 records again"):
        cut_over(client, cluster, topic, stream, "behind", most_repeats=6)
    again = cut_over(client, cluster, topic, stream, "behind", most_repeats=7)
    assert (again.repeats, again.step) == (7, 0)
    assert len(events(client, stream, StreamCut.from_text(again.cut))) == 10


def test_a_group_goes_back_to_its_offsets(client, kafka, cluster, topic, stream, produce):
    produce(100)
    consume(kafka, topic, "billing", 100)
    with pytest.raises(TopicCopyError, match="has no copy of a topic: run the copy first"):
        cut_over(client, cluster, topic, stream, "billing")
    copy_topic(client, cluster, topic, stream)
    cut_over(client, cluster, topic, stream, "billing")
    produce(40)
    copy_topic(client, cluster, topic, stream)
    produce(10)
    back = go_back(client, cluster, topic, stream, "billing", cut=client.tail(stream))
    assert (sum(back.offsets), back.repeated_bytes) == (140, 0)
    assert len(consume(kafka, topic, "billing", 10)) == 10
    with pytest.raises(TopicCopyError, match="was not cut over"):
        go_back(client, cluster, topic, stream, "billing")
    copy = copy_of(client, stream)
    inside = client.next_cut(copy.steps[0].end, 30)
    with pytest.raises(NotExactError, match="no step of the copy ends"):
        go_back(client, cluster, topic, stream, "billing", cut=inside)


def test_a_cut_is_refused_when_its_group_has_gone_on(client, kafka, cluster, topic, stream, produce):
    produce(30)
    consume(kafka, topic, "billing", 30)
    copy_topic(client, cluster, topic, stream)
    decided = cut_over(client, cluster, topic, stream, "billing")
    produce(5, partition=1)
    consume(kafka, topic, "billing", 5)
    before = decided.offsets[1]
    with pytest.raises(NotExactError, match=f"partition 1: {before + 5}, and {before} at the cut.*--decide-again"):
        cut_over(client, cluster, topic, stream, "billing")
    second = cut_over(client, cluster, topic, stream, "billing", decide_again=True)
    assert (second.offsets[1], second.repeats) == (before + 5, 0)
    assert cut_over(client, cluster, topic, stream, "billing") == second


def test_a_group_goes_back_to_partitions_that_were_added(client, kafka, cluster, topic, stream, produce):
    produce(30)
    consume(kafka, topic, "billing", 30)
    copy_topic(client, cluster, topic, stream)
    cut_over(client, cluster, topic, stream, "billing")
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_partitions([NewPartitions(topic, PARTITIONS + 1)])[topic].result()
    wait_until(lambda: cluster.topic(topic).partitions > PARTITIONS, lambda: "no partition was added")
    back = go_back(client, cluster, topic, stream, "billing")
    assert (len(back.offsets), back.offsets[PARTITIONS]) == (PARTITIONS + 1, 0)
    assert cluster.committed("billing", cluster.topic(topic)) == back.offsets


def test_whole_records_are_read_back_as_columns(client, kafka, cluster, topic, stream):
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    headers: list[tuple[str, str | bytes | None]] = [("trace", b"\xff"), ("trace", None)]
    producer.produce(topic, key=b"\xfe", value=b"one", partition=0, headers=headers, timestamp=1_700_000_000_000)
    producer.produce(topic, key=b"\xfe", partition=0, timestamp=1_700_000_000_001)
    producer.produce(topic, value=b"", partition=0, timestamp=1_700_000_000_002)
    producer.flush()
    options = CopyOptions(events=CopiedPart.RECORD, routing=Routing.HEX)
    copy_topic(client, cluster, topic, stream, options=options)
    taken = range_of(client, stream)
    rows = read_arrow(taken, decode="avro", schema_text=RECORD_SCHEMA).read_all().sort_by("offset").to_pylist()
    assert [(row["key"], row["value"], row["partition"], row["offset"]) for row in rows] == [
        (b"\xfe", b"one", 0, 0),
        (b"\xfe", None, 0, 1),
        (None, b"", 0, 2),
    ]
    assert rows[0]["headers"] == [{"name": "trace", "value": b"\xff"}, {"name": "trace", "value": None}]
    assert rows[0]["timestamp"].timestamp() == 1_700_000_000
    assert compare_copy(client, cluster, topic, stream).is_same


@pytest.mark.parametrize(
    ("record", "why", "way"),
    [
        ({"value": b"x", "headers": {"h": b""}}, "has headers", {"headers": Unkept.DROP}),
        ({"key": b"x"}, "has no value", {"tombstones": Unkept.DROP}),
        ({"value": b"x", "key": b"\xff"}, "has a key that is not a text", {"routing": Routing.PARTITION}),
    ],
)
def test_records_that_events_cannot_keep_are_refused(client, kafka, cluster, topic, stream, record, why, way):
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce(topic, partition=1, **record)
    producer.flush()
    with pytest.raises(RecordRefusedError, match=f"offset 0 of partition 1 .* {why}"):
        copy_topic(client, cluster, topic, stream)
    assert copy_topic(client, cluster, topic, stream, options=CopyOptions(**way)).left == 0
    for others in (CopyOptions(), CopyOptions(events=CopiedPart.RECORD)):
        with pytest.raises(ConfigurationError, match="all its steps have the same"):
            copy_topic(client, cluster, topic, stream, options=others)
