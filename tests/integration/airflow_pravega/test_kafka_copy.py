"""Tasks copy a topic of a real Kafka, and cut groups over, by a connection as Airflow's provider for Kafka has it."""

import json

import pytest
from confluent_kafka import Consumer, Producer
from tests.integration.pravega_jobs.kafka_topics import consume, kafka

from airflow_pravega.operators.kafka import PravegaKafkaCopyOperator, PravegaKafkaCutOverOperator

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


@pytest.fixture
def switched(run_task, stream, topic):
    """Gives the group `billing` its cut, and begins a consumer there."""

    def switched(**arguments):
        given = {"group": "billing", "consumer": "billing"} | arguments
        return run_task(
            lambda **common: PravegaKafkaCutOverOperator(topic=topic, stream=str(stream), **given, **common)
        )

    return switched


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


def test_a_group_gets_its_cut_once_its_consumers_have_ended(kafka, copied, switched, topic, client, stream):
    produce(kafka, topic, b"a", b"b")
    without_copy = switched()
    assert (without_copy.state(), without_copy.tries()) == ("failed", 1)
    copied()
    produce(kafka, topic, b"c")
    consume(kafka, topic, "billing", 3)
    billing = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "billing"})
    billing.subscribe([topic])
    while not billing.assignment():
        billing.poll(0.1)
    at_work = switched()
    assert (at_work.state(), at_work.tries()) == ("failed", 2)  # another try can succeed
    billing.close()
    decided = switched(most_repeats="0").result()
    assert (decided["group"], sum(decided["offsets"]), decided["repeats"]) == ("billing", 3, 0)
    assert switched().result() == decided
    [first] = client.run(client.asynchronous.cut_ledger(stream.scope).records("billing", stream))
    assert first.range.start.to_text() == decided["cut"]
    produce(kafka, topic, b"d")
    consume(kafka, topic, "billing", 1)
    gone_on = switched()
    assert (gone_on.state(), gone_on.tries()) == ("failed", 1)
    assert switched(most_repeats="x").state() == "failed"
