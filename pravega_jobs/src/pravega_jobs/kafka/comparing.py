"""Comparison of a copy with its topic: counts, bytes and hashes of both sides, step by step."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Final

from aiopravega import StreamCut, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import TopicCopyError
from aiopravega.ledger import Fingerprint
from pravega_jobs.events.writes import EventTally
from pravega_jobs.kafka.beginning import check_is_of
from pravega_jobs.kafka.cluster import KafkaCluster, Offsets, Topic
from pravega_jobs.kafka.copying import write_id_of
from pravega_jobs.kafka.events import Rewrite, batch_of, rewrite_of
from pravega_jobs.kafka.ledger import CopyRecord, CopyStep, StepCuts, copy_of
from pravega_jobs.kafka.records import read_records

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry

_PAGE: Final = 10_000


@dataclass(frozen=True, slots=True)
class ComparedStep:
    """A step in Kafka, in the ledger of its write, and in the stream.

    The hashes of Kafka and of the ledger are of events with their routing keys. A stream does not keep these, so
    `kafka_data` and `stream` are of the bytes of events alone. `deleted` is the number of offsets of
    the step that Kafka has deleted since: then there is nothing to compare with.
    """

    number: int
    kafka: Fingerprint
    ledger: Fingerprint | None
    kafka_data: Fingerprint
    stream: Fingerprint
    deleted: int

    @property
    def is_same(self) -> bool:
        """True if all sides have the same events."""
        return self.kafka == self.ledger and self.kafka_data == self.stream

    @property
    def is_compared(self) -> bool:
        """True if Kafka still has all offsets of the step."""
        return not self.deleted

    def __str__(self) -> str:
        if self.deleted:
            return f"step {self.number}: Kafka has deleted {self.deleted:,} of its offsets since: not compared"
        if self.is_same:
            return f"step {self.number}: the same, {self.stream.amount}"
        ledger = "nothing" if self.ledger is None else self.ledger.amount
        return (
            f"step {self.number}: DIFFERENT: Kafka has {self.kafka_data.amount} (hash {self.kafka_data.hashes:016x}), "
            f"the stream {self.stream.amount} (hash {self.stream.hashes:016x}), and written were {ledger}"
        )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Offsets of a partition from `start` on and before `end`, left out before a step: Kafka had deleted them."""

    step: int
    partition: int
    start: int
    end: int

    def __str__(self) -> str:
        return (
            f"before step {self.step}: partition {self.partition} offsets {self.start} to {self.end - 1} are left out: "
            "Kafka had deleted them"
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """The compared steps of a copy, and the offsets that the copy has left out before them (`lost='drop'`)."""

    topic: str
    stream: str
    steps: tuple[ComparedStep, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def is_same(self) -> bool:
        """True if each step was compared, and is the same on both sides."""
        return all(step.is_compared and step.is_same for step in self.steps)

    @property
    def total(self) -> Fingerprint:
        """All events of the stream that were compared."""
        return sum((step.stream for step in self.steps if step.is_compared), Fingerprint())

    def to_json(self) -> dict[str, Any]:
        """The comparison as values of JSON."""
        return {
            "topic": self.topic,
            "stream": self.stream,
            "same": self.is_same,
            "events": self.total.events,
            "bytes": self.total.bytes,
            "hash": f"{self.total.hashes:016x}",
            "steps": [asdict(step) | {"same": step.is_same, "compared": step.is_compared} for step in self.steps],
            "left_out": [asdict(one) for one in self.left_out],
        }

    def __str__(self) -> str:
        wrong = [str(step) for step in self.steps if not (step.is_compared and step.is_same)]
        said = "the same" if self.is_same else "not the same"
        total = f"{self.topic} and {self.stream}: {said}: {len(self.steps)} steps, {self.total.amount}"
        return "\n".join([f"{total}, hash {self.total.hashes:016x}", *wrong, *map(str, self.left_out)])


def compare_copy(
    client: PravegaClient,
    cluster: KafkaCluster,
    topic: str,
    stream: StreamName | str,
    *,
    since_step: int = 1,
    registry: "SchemaRegistry | None" = None,
) -> Comparison:
    """Read all that was copied again from both sides, and compare counts, bytes and hashes of each step.

    Kafka's records become events as in the copy. A step is named if Kafka has deleted records of it. Offsets that the
    copy has left out are named as well; they are no difference.

    Args:
        client: a connected client.
        cluster: the Kafka cluster.
        topic: the topic.
        stream: the stream that has its copy.
        since_step: the first step to compare.
        registry: Pravega's Schema Registry, for copies with `schemas=registry`.

    Raises:
        TopicCopyError: the stream has no copy of the topic, or no step to compare is done.
        MixedRangeError: others have written to the stream during a step.
        StreamTruncatedError: retention has removed events of the stream.
        PravegaError: a server cannot be reached.
    """
    name = StreamName.of(stream)
    found = cluster.topic(topic)
    copy = copy_of(client, name)
    check_is_of(copy.record, found)
    rewrite = rewrite_of(copy.record.options, cluster.config.confluent, registry, name)
    compared = tuple(
        _compare(client, cluster, found, copy.record, step, step.cuts, rewrite)
        for step in copy.steps
        if step.cuts is not None and step.number >= since_step
    )
    if not compared:
        raise TopicCopyError(
            f"no step of the copy of topic {topic!r} to {name} from number {since_step} on is done: nothing is compared"
        )
    return Comparison(topic, str(name), compared, tuple(_left_out(copy.record.starts, copy.steps, since_step)))


def _left_out(starts: Offsets, steps: Sequence[CopyStep], since_step: int) -> Iterator[LeftOut]:
    before = starts
    for step in steps:
        for partition, (end, start) in enumerate(zip_longest(before, step.starts, fillvalue=0)):
            if start > end and step.number >= since_step:
                yield LeftOut(step.number, partition, end, start)
        before = step.ends


def _compare(
    client: PravegaClient,
    cluster: KafkaCluster,
    topic: Topic,
    record: CopyRecord,
    step: CopyStep,
    cuts: StepCuts,
    rewrite: Rewrite | None,
) -> ComparedStep:
    written = client.written(record.stream, write_id_of(record, step), ledger=record.commit_ledger)
    known = written[-1].fingerprint if written else None
    first = cluster.first_offsets(topic)[: len(step.starts)]
    firsts = tuple(min(max(start, left), end) for start, left, end in zip(step.starts, first, step.ends, strict=True))
    deleted = sum(firsts) - sum(step.starts)
    whole, data, copied = EventTally(), EventTally(), EventTally()
    if not deleted:
        for page in read_records(cluster, topic, step.starts, step.ends):
            batch = batch_of(page, record.options, rewrite)
            batch.count(whole)
            data.add((event, None) for event in batch.events)
    taken = StreamCutRange(StreamCut.from_text(cuts.start), StreamCut.from_text(cuts.end))
    own = client.range_of(taken, cuts.bytes, f"step {step.number} of the copy of topic {topic.name!r}")
    for events in _pages(client, own, record.stream):
        copied.add((event, None) for event in events)
    return ComparedStep(step.number, whole.rows, known, data.rows, copied.rows, deleted)


def _pages(client: PravegaClient, taken: StreamCutRange, stream: StreamName) -> Iterator[list[bytes]]:
    events = iter(client.read(taken, stream))
    while page := [event.data for event in islice(events, _PAGE)]:
        yield page
