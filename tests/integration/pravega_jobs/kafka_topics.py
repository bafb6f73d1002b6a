"""Fixtures of copies of topics: a real Kafka, a topic, a stream, records, and a group that processes some of them."""

from collections import defaultdict

import pytest
from confluent_kafka import Consumer, Producer
from tests.java.kafka import KafkaServer

from aiopravega import ScalingPolicy, StreamCutRange, StreamName
from aiopravega.positions import NamedCut
from pravega_jobs.kafka import KafkaCluster, KafkaConfig

PARTITIONS = 3


@pytest.fixture(scope="session")
def kafka(tmp_path_factory):
    with KafkaServer(tmp_path_factory.mktemp("kafka")) as server:
        yield server


@pytest.fixture
def cluster(kafka):
    return KafkaCluster(KafkaConfig({"bootstrap.servers": kafka.bootstrap}))


@pytest.fixture
def topic(kafka, scope):
    kafka.make_topic(scope, PARTITIONS)
    return scope


@pytest.fixture
def stream(client, scope):
    name = StreamName(scope, "orders")
    client.create_stream(name, ScalingPolicy.fixed(2))
    return name


@pytest.fixture
def produce(kafka, topic):
    """Produces records `KEY-NUMBER` of some keys, the numbers of each key counted from where they were."""
    counts: defaultdict[str, int] = defaultdict(int)

    def produce(count, keys=7, partition=None, **words):
        producer = Producer({"bootstrap.servers": kafka.bootstrap})
        for number in range(count):
            key = f"key{number % keys}"
            where = {} if partition is None else {"partition": partition}
            producer.produce(topic, key=key, value=f"{key}-{counts[key]}", **where, **words)
            counts[key] += 1
        assert producer.flush(30) == 0

    return produce


def events(client, stream, start=NamedCut.HEAD):
    begin = client.head(stream) if start is NamedCut.HEAD else start
    return [event.data.decode() for event in client.read(StreamCutRange(begin, client.tail(stream)), stream)]


def by_key(values):
    found = defaultdict(list)
    for value in values:
        key, number = value.split("-")
        found[key].append(int(number))
    return dict(found)


def consume(kafka, topic, group, count):
    """Consume and commit so many records as the only consumer of a group, which then ends."""
    settings = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, **settings})
    consumer.subscribe([topic])
    found: list[str] = []
    while len(found) < count:
        found += [(message.value() or b"").decode() for message in consumer.consume(count - len(found), 1.0)]
    consumer.commit(asynchronous=False)
    consumer.close()
    return found
