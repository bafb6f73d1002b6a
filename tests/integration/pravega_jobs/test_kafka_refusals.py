"""Copies of topics of a real Kafka that are refused by name: what Kafka has lost, other topics, groups at work."""

import dataclasses
import logging

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.faults.process import wait_until
from tests.integration.conftest import client, scope
from tests.integration.pravega_jobs.kafka_topics import PARTITIONS, cluster, consume, events, produce, stream, topic

from aiopravega.errors import GroupAtWorkError, MixedRangeError, RecordsLostError, TopicCopyError
from pravega_jobs.kafka import (
    KafkaCluster,
    KafkaConfig,
    LeftOut,
    Unkept,
    compare_copy,
    copy_of,
    copy_topic,
    copying,
    cut_over,
)
from pravega_jobs.kafka.ledger import CopyLedger
from pravega_jobs.kafka.records import lost_records

__all__ = ["client", "cluster", "produce", "scope", "stream", "topic"]
pytestmark = pytest.mark.xdist_group("kafka")


def test_a_topic_that_has_lost_its_end_is_not_copied_on(client, kafka, cluster, topic, stream, produce, monkeypatch):
    produce(10, partition=0)
    copy_topic(client, cluster, topic, stream)
    quick = KafkaCluster(KafkaConfig({"bootstrap.servers": kafka.bootstrap}, timeout=2.0))
    ledger = client.run(CopyLedger.of(client.asynchronous, stream))
    client.run(ledger.fix(2, (10, 0, 0), (30, 0, 0)))
    for lost in Unkept:
        with pytest.raises(TopicCopyError, match="has lost the end .* partition 0 ends at offset 10, before 30"):
            copy_topic(client, quick, topic, stream, lost=lost)
    first = copy_of(client, stream).steps[0]
    fixed = client.run(ledger.last())
    assert fixed is not None
    client.run(ledger.change(fixed, fixed.step.model_copy(update={"cuts": first.cuts})))
    with pytest.raises(TopicCopyError, match="partition 0 ends at offset 10, before 30"):
        copy_topic(client, quick, topic, stream)
    produce(25, partition=0)

    def lose(_, found, *__):
        raise lost_records(found, "its end")

    monkeypatch.setattr(copying, "read_records", lose)
    with pytest.raises(TopicCopyError, match="step 3 begins at offsets"):
        copy_topic(client, quick, topic, stream, lost=Unkept.DROP)


def test_a_topic_made_again_during_a_step_is_not_written(client, cluster, topic, stream, produce, monkeypatch):
    produce(10)
    found = cluster.topic(topic)
    topics = iter([found])
    monkeypatch.setattr(cluster, "topic", lambda _: next(topics, dataclasses.replace(found, id="of another")))
    with pytest.raises(TopicCopyError, match="was deleted and made again"):
        copy_topic(client, cluster, topic, stream)
    assert events(client, stream) == []


def test_a_copy_behind_a_group_that_commits_nothing_is_refused(client, kafka, cluster, topic, stream, produce, caplog):
    copy_topic(client, cluster, topic, stream, behind=["billing"])  # no records so far
    with pytest.raises(TopicCopyError, match="no step of the copy .* is done: nothing is compared"):
        compare_copy(client, cluster, topic, stream)
    produce(5, partition=0)
    produce(5, partition=1)
    with pytest.raises(TopicCopyError, match="group 'billing' has committed no offset of topic"):
        copy_topic(client, cluster, topic, stream, behind=["billing"])
    billing = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "billing"})
    billing.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
    billing.close()
    with caplog.at_level(logging.WARNING, "pravega_jobs.kafka"):
        assert copy_topic(client, cluster, topic, stream, behind=["billing"]).offsets == (4, 0, 0)
    assert "group billing has committed nothing in partitions [1]" in caplog.text
    with pytest.raises(TopicCopyError, match="from number 2 on is done"):
        compare_copy(client, cluster, topic, stream, since_step=2)


def test_records_deleted_before_they_were_copied_are_named(client, kafka, cluster, topic, stream, produce):
    produce(20, partition=2)
    copy_topic(client, cluster, topic, stream)
    produce(20, partition=2)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for future in admin.delete_records([TopicPartition(topic, 2, 25)]).values():
        future.result()
    with pytest.raises(RecordsLostError, match="partition 2 offsets 20 to 24"):
        copy_topic(client, cluster, topic, stream)
    assert copy_topic(client, cluster, topic, stream, lost=Unkept.DROP).events == 15
    assert [step.starts[2] for step in copy_of(client, stream).steps] == [0, 25]
    compared = compare_copy(client, cluster, topic, stream)
    assert [(step.deleted, step.is_compared) for step in compared.steps] == [(20, False), (0, True)]
    assert not compared.is_same
    later = compare_copy(client, cluster, topic, stream, since_step=2)
    assert (later.is_same, later.left_out) == (True, (LeftOut(2, 2, 20, 25),))
    assert "before step 2: partition 2 offsets 20 to 24 are left out" in str(later)


def test_other_topics_other_writers_and_groups_at_work_are_refused(client, kafka, cluster, topic, stream, produce):
    produce(30)
    copy_topic(client, cluster, topic, stream)
    kafka.make_topic(f"{topic}-2")
    with pytest.raises(TopicCopyError, match="has the copy of topic"):
        copy_topic(client, cluster, f"{topic}-2", stream)
    settings = {"group.id": "working", "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, **settings})
    consumer.subscribe([topic])
    while consumer.poll(1.0) is None:
        pass
    with pytest.raises(GroupAtWorkError, match="consumers of group 'working' are at work"):
        cut_over(client, cluster, topic, stream, "working")
    consumer.close()
    with pytest.raises(TopicCopyError, match="has committed no offset"):
        cut_over(client, cluster, topic, stream, "nobody")
    with client.writer(stream) as writer:
        writer.write(b"of another")
    produce(30)
    copy_topic(client, cluster, topic, stream)
    consume(kafka, topic, "billing", 60)
    with pytest.raises(MixedRangeError, match="others wrote"):
        cut_over(client, cluster, topic, stream, "billing")
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.delete_topics([topic])[topic].result()
    wait_until(lambda: topic not in admin.list_topics(timeout=5).topics, lambda: "the topic is still there")
    kafka.make_topic(topic, PARTITIONS)
    with pytest.raises(TopicCopyError, match="deleted and made again"):
        copy_topic(client, cluster, topic, stream)
