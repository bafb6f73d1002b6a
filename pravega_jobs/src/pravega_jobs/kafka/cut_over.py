"""The cut-over: the cut of a stream at which a consumer group of Kafka continues.

A cut is exact for a group if all events before it are of records that the group has processed by its committed offsets,
and all after it of the others. Ends of steps are such cuts. So a step is made to end at the offsets of the group, where
the copy is not beyond them; otherwise the records in between are counted.
"""

from contextlib import closing
from datetime import UTC, datetime
from itertools import zip_longest
from typing import TYPE_CHECKING

from aiopravega import StreamCut, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, NotExactError, TopicCopyError
from aiopravega.intervals.chain.next_start import begin_at
from aiopravega.ledger import CUT_TABLE, Interval
from aiopravega.ledger.stored_json import myself
from pravega_jobs.kafka.beginning import check_is_of
from pravega_jobs.kafka.cluster import KafkaCluster, Offsets, Topic
from pravega_jobs.kafka.copying import STEP_RECORDS, TopicCopy
from pravega_jobs.kafka.events import Unkept
from pravega_jobs.kafka.ledger import CopyLedger, CopyRecord, CopyStep, GroupCut, cut_after
from pravega_jobs.kafka.records import read_records

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry


def cut_over(
    client: PravegaClient,
    cluster: KafkaCluster,
    topic: str,
    stream: StreamName | str,
    group: str,
    *,
    most_repeats: int = 0,
    consumer: str | None = None,
    cut_ledger: str | None = None,
    reader_group: str | None = None,
    registry: "SchemaRegistry | None" = None,
    decide_again: bool = False,
) -> GroupCut:
    """Decide the cut at which the consumers of a group continue in the stream, and begin a consumer there.

    The consumers of the group must have ended. If the copy has not overtaken the group, it is continued up to the
    committed offsets, so that the cut is exact. A further call gives the same cut, while the group has committed
    nothing beyond it.

    Args:
        client: a connected client.
        cluster: the Kafka cluster.
        topic: the topic.
        stream: the stream that has its copy.
        group: the consumer group of Kafka.
        most_repeats: the most records that the group may get again, if no step ends at its offsets; 0: none.
        consumer: a consumer of the cut ledger, such as of `PravegaStreamCutSensor`, whose chain begins at the cut;
            None: none is begun.
        cut_ledger: `scope/table` of its cut ledger; None: the default one of the stream's scope.
        reader_group: `scope/name` of a reader group of Java's readers that is made and begins at the cut; None: none.
        registry: Pravega's Schema Registry, for copies with `schemas=registry`.
        decide_again: forget the cut that was decided for the group, and decide again.

    Raises:
        TopicCopyError: the stream has no copy of the topic, or the group has no offsets of a partition with records.
        GroupAtWorkError: consumers of the group are at work.
        NotExactError: no step ends at the offsets of the group, and the records that it would get again are more than
            `most_repeats`; the group has gone on in Kafka after its cut was decided; or the consumer has begun
            elsewhere already.
        MixedRangeError: others have written to the stream before the cut.
        RecordsLostError: Kafka has deleted records before they were copied.
        PravegaError: a server cannot be reached; a further call continues.
    """
    if most_repeats < 0:
        raise ConfigurationError(f"most_repeats is {most_repeats}, but must not be negative")
    found = cluster.topic(topic)
    name = StreamName.of(stream)
    ledger = client.run(CopyLedger.of(client.asynchronous, name))
    record = client.run(ledger.begun())
    if record is None:
        raise TopicCopyError(f"{name} has no copy of a topic: run the copy first (pravega kafka copy)")
    check_is_of(record, found)
    cluster.check_group_stands_still(group)
    decided = None if decide_again else client.run(ledger.group(group))
    if decided is None:
        copy = TopicCopy(client, cluster, found, record, registry)
        decided = _decide(client, cluster, found, copy, record, group, most_repeats, decide_again=decide_again)
    else:
        _check_has_not_gone_on(cluster, found, decided)
    cut = StreamCut.from_text(decided.cut)
    if consumer is not None:
        _begin_consumer(client, name, consumer, cut, cut_ledger)
    if reader_group is not None:
        group_name = StreamName.parse(reader_group, name.scope)
        client.create_reader_group(group_name.scope, group_name.stream, [cut])
    return decided


def _check_has_not_gone_on(cluster: KafkaCluster, topic: Topic, decided: GroupCut) -> None:
    committed = cluster.committed(decided.group, topic)
    beyond = [
        f"partition {number}: {offset}, and {known} at the cut"
        for number, (known, offset) in enumerate(zip_longest(decided.offsets, committed, fillvalue=0))
        if offset is not None and offset > known
    ]
    if beyond:
        raise NotExactError(
            f"group {decided.group!r} has gone on in Kafka after its cut was decided at {decided.decided_at}: its "
            f"offsets of topic {topic.name!r} are {'; '.join(beyond)}. From this cut on it would get what is between "
            "again. If its consumers in the stream have processed nothing so far, say decide_again=True "
            "(--decide-again), with a new name of the consumer if one was begun"
        )


def _decide(
    client: PravegaClient,
    cluster: KafkaCluster,
    topic: Topic,
    continued: TopicCopy,
    copy: CopyRecord,
    group: str,
    most_repeats: int,
    *,
    decide_again: bool,
) -> GroupCut:
    last = cluster.last_offsets(topic)
    offsets = _processed(cluster, topic, group, copy.starts, last)
    continued.run(offsets, STEP_RECORDS, Unkept.REFUSE)
    ledger = client.run(CopyLedger.of(client.asynchronous, copy.stream))
    steps = client.run(ledger.steps())
    if not steps:
        raise TopicCopyError(
            f"topic {topic.name!r} had no records so far: nothing is copied, and a cut is not there yet"
        )
    ends = [steps[0].starts, *(step.ends for step in steps)]
    reached = _next_records(cluster, topic, offsets, ends[-1])
    position = max(number for number, end in enumerate(ends) if _at_most(end, reached))
    again = _records_between(cluster, topic, ends[position], offsets)
    if again > most_repeats:
        raise _not_exact(topic, group, again, most_repeats)
    cut = cut_after(steps, position)
    _check_alone(client, copy, steps[:position], cut)
    if decide_again:
        client.run(ledger.forget_group(group))
    return client.run(
        ledger.decide(
            GroupCut(
                group=group,
                offsets=offsets,
                step=position,
                cut=cut.to_text(),
                repeats=again,
                decided_at=datetime.now(UTC),
                decided_by=myself(),
            )
        )
    )


def _processed(cluster: KafkaCluster, topic: Topic, group: str, starts: Offsets, last: Offsets) -> Offsets:
    """The offsets up to which a group has processed the topic."""
    found = []
    for partition, offset in enumerate(cluster.committed(group, topic)):
        first = starts[partition] if partition < len(starts) else 0
        if offset is None and last[partition] > first:
            raise TopicCopyError(
                f"group {group!r} has committed no offset in partition {partition} of topic {topic.name!r}, which has "
                "records: have its consumers read that partition and commit; or, if the group has never read it, reset "
                "its offsets with Kafka's own tool (kafka-consumer-groups --reset-offsets), and say this again"
            )
        if offset is not None and offset < first:
            raise NotExactError(
                f"group {group!r} is at offset {offset} of partition {partition} of topic {topic.name!r}, and the copy "
                f"begins at {first}: what is between was deleted before. Let the group read up to there first"
            )
        if offset is not None and offset > last[partition]:
            raise NotExactError(
                f"group {group!r} is at offset {offset} of partition {partition} of topic {topic.name!r}, after "
                f"records of a transaction that is still open at {last[partition]}: wait until it has ended"
            )
        found.append(first if offset is None else offset)
    return tuple(found)


def _next_records(cluster: KafkaCluster, topic: Topic, offsets: Offsets, ends: Offsets) -> Offsets:
    """For each partition the greatest offset up to `ends` before which there is no record from `offsets` on."""
    reached = [max(pair) for pair in zip_longest(offsets, ends, fillvalue=0)]
    found = list(reached)
    starts = tuple(min(pair) for pair in zip(offsets, reached, strict=True))
    for partition, (start, end) in enumerate(zip(starts, reached, strict=True)):
        only = tuple(end if number == partition else other for number, other in enumerate(starts))
        if start < end:
            with closing(read_records(cluster, topic, starts, only)) as pages:
                found[partition] = next((page[0].offset() or 0 for page in pages), end)
    return tuple(found)


def _records_between(cluster: KafkaCluster, topic: Topic, starts: Offsets, ends: Offsets) -> int:
    """The number of records from `starts` on and before `ends`, in the partitions in which that is a range."""
    first = tuple(start for start, _ in zip_longest(starts, ends, fillvalue=0))
    last = tuple(max(start, end) for start, end in zip(first, ends, strict=True))
    return sum(len(page) for page in read_records(cluster, topic, first, last))


def _at_most(ends: Offsets, reached: Offsets) -> bool:
    return all(end <= most for end, most in zip_longest(ends, reached, fillvalue=0))


def _check_alone(client: PravegaClient, copy: CopyRecord, steps: list[CopyStep], cut: StreamCut) -> None:
    """Check that all events from the first step to a cut are of the copy."""
    if steps:
        size = sum(step.cuts.bytes for step in steps if step.cuts is not None)
        taken = StreamCutRange(cut_after(steps, 0), cut)
        client.range_of(taken, size, f"the copy of topic {copy.topic!r}")


def _not_exact(topic: Topic, group: str, again: int, most: int) -> NotExactError:
    return NotExactError(
        f"the copy of topic {topic.name!r} has overtaken group {group!r}: no step ends at its committed offsets, and "
        f"it would get {again:,} records again that it has processed, more than most_repeats={most:,}. End the copy, "
        "let the consumers of the group overtake it, end them, and say this again; or have copies run behind the group "
        f"(--behind {group}) from the beginning; or allow repeats, if its consumers can take them"
    )


def _begin_consumer(
    client: PravegaClient, stream: StreamName, consumer: str, cut: StreamCut, named: str | None
) -> None:
    where = StreamName.parse(named or CUT_TABLE, stream.scope)
    ledger = client.asynchronous.cut_ledger(where.scope, where.stream)
    interval = Interval(consumer, stream, "cut-over")
    client.run(ledger.create())
    client.run(begin_at(ledger, interval, cut))
    last = client.run(ledger.last(interval))
    first = client.run(ledger.records(consumer, stream))[:1]
    if last is None or not first or first[0].range.start != cut:
        raise NotExactError(
            f"consumer {consumer!r} of {stream} has begun elsewhere already, and not at the cut of the group: give it "
            "another name, or see `pravega cuts list`"
        )
