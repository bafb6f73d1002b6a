"""Programs beside a copy, which tests kill: `produce BOOTSTRAP TOPIC EPOCH COUNT`, and `consume BOOTSTRAP TOPIC GROUP`.

The values of a producer's keys have numbers in their order; a new epoch is a new producer. The consumer commits after
each page, and is at work until it is killed.
"""

import sys
from typing import Any

from confluent_kafka import Consumer, Producer

KEYS = 1000
_PAGE = 2000


def produce(bootstrap: str, topic: str, epoch: str, count: str) -> None:
    """Produce so many records, exactly in the order of their keys."""
    settings: dict[str, Any] = {"enable.idempotence": True, "linger.ms": 20, "compression.type": "lz4"}
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, **settings})
    for number in range(int(count)):
        key = f"key{number % KEYS}"
        value = f"{key}-{epoch}-{number // KEYS}-{'x' * 80}"
        while True:
            try:
                producer.produce(topic, key=key, value=value)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    if producer.flush(300):
        raise SystemExit("records are left")


def consume(bootstrap: str, topic: str, group: str) -> None:
    """Consume and commit as the only member of a group."""
    settings = {"auto.offset.reset": "earliest", "enable.auto.commit": False, "session.timeout.ms": 6000}
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0, **settings})
    consumer.subscribe([topic])
    while True:
        page = consumer.consume(_PAGE, 1.0)
        if any(message.error() is None for message in page):
            consumer.commit(asynchronous=False)


if __name__ == "__main__":
    (produce if sys.argv[1] == "produce" else consume)(*sys.argv[2:])
