"""A topic of a real Kafka is copied by tasks, by a connection as Airflow's provider for Kafka has it."""

import json

import pytest
from confluent_kafka import Producer
from tests.integration.pravega_jobs.kafka_topics import kafka

from airflow_pravega.operators.kafka import PravegaKafkaCopyOperator

__all__ = ["kafka"]
pytestmark = pytest.mark.xdist_group("kafka")


@pytest.fixture
def topic(kafka, scope, monkeypatch):
    kafka.make_topic(scope, 2)
    extra = {"bootstrap.servers": kafka.bootstrap, "group.id": "other tasks", "auto.offset.reset": "latest"}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps({"conn_type": "kafka", "extra": extra}))
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", json.dumps({"conn_type": "http", "host": "h"}))
    return scope


@pytest.fixture
def copied(run_task, stream, topic):
    def copied(**arguments):
        return run_task(
            lambda **common: PravegaKafkaCopyOperator(topic=topic, stream=str(stream), **arguments, **common)
        )

    return copied


def produce(kafka, topic, *values, **more):
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for value in values:
        producer.produce(topic, key="k", value=value, **more)
    assert producer.flush(30) == 0


def test_tasks_copy_what_is_new(kafka, copied, topic):
    produce(kafka, topic, b"a", b"b")
    first = copied().result()
    assert (first["events"], first["left"], sum(first["offsets"])) == (2, 0, 2)
    produce(kafka, topic, b"c")
    assert copied(behind="nobody").state() == "failed"
    assert copied(step_records="1").result()["events"] == 1


def test_what_cannot_be_copied_fails_the_task_at_once(kafka, copied, topic):
    produce(kafka, topic, b"a", headers={"trace": b"1"})
    refused = copied()
    assert (refused.state(), refused.tries()) == ("failed", 1)
    for wrong in ({"kafka_conn_id": "other"}, {"options": {"headers": "keep"}}, {"step_records": "x"}):
        failed = copied(**wrong)
        assert (failed.state(), failed.tries()) == ("failed", 1)
    assert copied(options={"headers": "drop"}).result()["events"] == 1
    assert copied(options={"events": "record"}).state() == "failed"  # the copy has begun with others
