"""The way back: where a consumer group continues in Kafka, after its consumers have processed a part of the stream."""

from dataclasses import dataclass

from aiopravega import StreamCut, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import NotExactError, TopicCopyError
from aiopravega.read.history import Order
from pravega_jobs.kafka.beginning import check_is_of
from pravega_jobs.kafka.cluster import KafkaCluster, Offsets
from pravega_jobs.kafka.ledger import CopyLedger, CopyStep, copy_of, cut_after, later


@dataclass(frozen=True, slots=True)
class WayBack:
    """The offsets at which a group continues in Kafka, and the bytes of events that it then gets again."""

    group: str
    topic: str
    offsets: Offsets
    step: int
    repeated_bytes: int


def go_back(
    client: PravegaClient,
    cluster: KafkaCluster,
    topic: str,
    stream: StreamName | str,
    group: str,
    *,
    cut: StreamCut | None = None,
    most_repeated_bytes: int = 0,
    dry_run: bool = False,
) -> WayBack:
    """Have a consumer group of Kafka continue where its consumers in the stream have come to.

    Its offsets are set to the offsets of the last step that ends at the cut or before it, and its cut in the ledger of
    the copy is forgotten. Events that were written to the stream otherwise than by the copy are not in Kafka.

    Args:
        client: a connected client.
        cluster: the Kafka cluster.
        topic: the topic.
        stream: the stream that has its copy.
        group: the consumer group of Kafka, without consumers at work.
        cut: up to where its consumers have processed the stream; None: the cut that the group got at the cut-over.
        most_repeated_bytes: the most bytes of events that the group may get again, if no step ends at the cut.
        dry_run: find the offsets only.

    Raises:
        TopicCopyError: the group was not cut over, or nothing is copied.
        GroupAtWorkError: consumers of the group are at work in Kafka.
        NotExactError: the events that the group would get again have more bytes than `most_repeated_bytes`.
        InvalidStreamCutError: the cut is not of the stream.
        PravegaError: a server cannot be reached.
    """
    name = StreamName.of(stream)
    found = cluster.topic(topic)
    copy = copy_of(client, name)
    check_is_of(copy.record, found)
    steps = [step for step in copy.steps if step.cuts is not None]
    decided = next((one for one in copy.groups if one.group == group), None)
    if cut is None:
        if decided is None:
            raise TopicCopyError(f"group {group!r} was not cut over, so its cut is not known: name one")
        cut = StreamCut.from_text(decided.cut)
    if not steps:
        raise TopicCopyError(f"no step of the copy into {name} is done: there is nothing to go back from")
    position = _last_before(client, steps, cut)
    start = cut_after(steps, position)
    again = sum(part.size for part in client.plan(StreamCutRange(start, cut)))
    if again > most_repeated_bytes:
        raise NotExactError(
            f"no step of the copy ends at {cut}: going back, group {group!r} would get events of {again:,} bytes "
            f"again, more than most_repeated_bytes={most_repeated_bytes:,}. Let its consumers drain the stream up to "
            "the end of a step (the whole of what is copied), or allow repeats"
        )
    offsets = steps[0].starts if position == 0 else steps[position - 1].ends
    offsets = later(offsets, (0,) * found.partitions)  # partitions may have been added since
    if not dry_run:
        cluster.check_group_stands_still(group)
        cluster.set_committed(group, found, offsets)
        if decided is not None:
            client.run(client.run(CopyLedger.of(client.asynchronous, name)).forget_group(group))
    return WayBack(group, topic, offsets, position, again)


def _last_before(client: PravegaClient, steps: list[CopyStep], cut: StreamCut) -> int:
    """The number of steps that end at a cut or before it."""
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high + 1) // 2
        if client.compare(cut_after(steps, middle), cut) in (Order.BEFORE, Order.SAME):
            low = middle
        else:
            high = middle - 1
    return low
