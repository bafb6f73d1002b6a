"""Records of a topic between fixed offsets: all that were committed, each once, and the errors if some are gone.

Offsets have gaps: where transactions ended or were aborted, and where compaction has removed records. A partition is
read to its end when a record at or after the end has arrived, or Kafka reports that the reader is there.
"""

import time
from collections.abc import Generator, Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from aiopravega.errors import KafkaUnavailableError, RecordsLostError
from pravega_jobs.kafka.cluster import KafkaCluster, Offsets, Topic

# Records asked for at a time.
_PAGE: Final = 5000
_WAIT_SECONDS: Final = 0.5
_SETTINGS: Final = {
    "group.id": "pravega-copy",  # the client needs a name; nothing is committed, so that no such group is made
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
}


def read_records(cluster: KafkaCluster, topic: Topic, starts: Offsets, ends: Offsets) -> Generator[list[Message]]:
    """The committed records of a topic from `starts` on and before `ends`, some at a time.

    The records of a partition come in their order.

    Args:
        cluster: that has the topic.
        topic: the topic.
        starts: the first offset of each partition.
        ends: the offset after the last one of each partition; it must not be after the last committed one.

    Raises:
        RecordsLostError: Kafka has deleted some of them.
        KafkaUnavailableError: nothing has arrived within the time of the settings.
        PravegaError: as all requests.
    """
    wanted = {number: end for number, (start, end) in enumerate(zip(starts, ends, strict=True)) if start < end}
    if not wanted:
        return
    consumer = cluster.opened(Consumer, _SETTINGS)
    try:
        consumer.assign([TopicPartition(topic.name, number, starts[number]) for number in wanted])
        yield from _until(cluster, consumer, topic, wanted)
    finally:
        consumer.close()


def _until(cluster: KafkaCluster, consumer: Consumer, topic: Topic, wanted: dict[int, int]) -> Generator[list[Message]]:
    arrived = time.monotonic()
    while wanted:
        page = _page(cluster, consumer, topic)
        found: list[Message] = []
        passed: set[int] = set()
        for message in page:
            partition, offset = message.partition(), message.offset()
            error = message.error()
            if error is not None and error.name() != "_PARTITION_EOF":
                raise _failed(cluster, topic, message, error)
            if partition is None or offset is None or partition not in wanted:
                continue
            if offset < wanted[partition] and error is None:
                found.append(message)
            if offset + (error is None) >= wanted[partition]:
                passed.add(partition)
        if passed:
            consumer.pause([TopicPartition(topic.name, partition) for partition in passed])
            for partition in passed:
                del wanted[partition]
        if found:
            yield found
        if page:
            arrived = time.monotonic()
        elif time.monotonic() - arrived > cluster.config.timeout:
            raise KafkaUnavailableError(
                f"{cluster.config.name}: topic {topic.name!r}: nothing has arrived for {cluster.config.timeout:g} s "
                f"of partitions {', '.join(map(str, sorted(wanted)))}"
            )


def _page(cluster: KafkaCluster, consumer: Consumer, topic: Topic) -> Sequence[Message]:
    try:
        return consumer.consume(_PAGE, _WAIT_SECONDS)
    except KafkaException as error:
        raise cluster.raised(error.args[0], f"topic {topic.name!r}") from None


def _failed(cluster: KafkaCluster, topic: Topic, message: Message, error: KafkaError) -> Exception:
    if error.name() in ("_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"):
        return lost_records(topic, f"partition {message.partition()} from offset {message.offset()} on")
    return cluster.raised(error, f"topic {topic.name!r}, partition {message.partition()}")


def lost_records(topic: Topic, where: str) -> RecordsLostError:
    """The error for records that Kafka has deleted before they were copied; `where` names them."""
    return RecordsLostError(
        f"Kafka has deleted records of topic {topic.name!r} before they were copied: {where}. If retention did that, "
        "make retention.ms and retention.bytes of the topic greater, or have the copy run more often. To continue "
        "without these records, say lost='drop' (--lost drop): the copy notes their offsets"
    )
