"""Copies of topics into streams, exactly once: step by step, each with offsets that were fixed before it was read."""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import (
    ConfigurationError,
    RecordsLostError,
    TopicCopyError,
    WriteSupersededError,
)
from pravega_jobs.events.batches import EventBatch, write_event_batches
from pravega_jobs.kafka.beginning import begun_copy, check_is_of
from pravega_jobs.kafka.cluster import KafkaCluster, Offsets, Topic
from pravega_jobs.kafka.events import CopyOptions, Unkept, batch_of, rewrite_of
from pravega_jobs.kafka.ledger import CopyLedger, CopyRecord, CopyStep, StoredStep, later
from pravega_jobs.kafka.records import lost_records, read_records
from pravega_jobs.writes import finished_write

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry

logger = logging.getLogger(__name__)
# Records of one step, which is one transaction of Pravega.
STEP_RECORDS: Final = 1_000_000
# Tries to see the end of a topic that seems to be before what was copied.
_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """The result of a call: the steps that it finished, their events and bytes, and where the copy is.

    `offsets` are those up to which records are copied, by partition. `left` is the number of offsets from there to the
    end of the topic, an upper limit for the records that are left.
    """

    topic: str
    stream: str
    steps: int
    events: int
    bytes: int
    offsets: Offsets
    left: int

    def to_json(self) -> dict[str, Any]:
        """The fields as values of JSON."""
        return asdict(self) | {"offsets": list(self.offsets)}

    def __str__(self) -> str:
        return (
            f"{self.topic} to {self.stream}: {self.steps} steps, {self.events:,} events in {self.bytes:,} bytes; "
            f"{self.left:,} offsets are left"
        )


def copy_topic(
    client: PravegaClient,
    cluster: KafkaCluster,
    topic: str,
    stream: StreamName | str,
    *,
    options: CopyOptions | None = None,
    ledger: str | None = None,
    step_records: int = STEP_RECORDS,
    behind: Sequence[str] = (),
    lost: Unkept | str = Unkept.REFUSE,
    registry: "SchemaRegistry | None" = None,
) -> CopyProgress:
    """Copy what a topic has now and the stream has not, exactly once; it may be killed at any time, and run again.

    A further call, by any process, finishes a step that was left with the same offsets, and then copies what is new.

    Args:
        client: a connected client.
        cluster: the Kafka cluster.
        topic: the topic; records of transactions that are open or were aborted are not copied.
        stream: the stream to write to; it must exist. It has the copy of one topic only.
        options: how records become events; None: as the copy has begun, or the defaults for a new one.
        ledger: `scope/table` of the commit ledger; None: the default ledger of the stream's scope. It stays the same.
        step_records: the most offsets of a step.
        behind: consumer groups that the copy does not overtake: steps end at their committed offsets at the latest.
        registry: Pravega's Schema Registry, for `schemas=registry`.
        lost: `drop` continues after records that Kafka has deleted, and notes their offsets; `refuse` raises an error.

    Raises:
        ConfigurationError: `step_records` is less than 1, or the options are not those with which the copy has begun.
        TopicCopyError: the topic does not exist, was deleted and made again, or has lost its end; the stream has the
            copy of another one; or a group of `behind` has committed nothing.
        RecordRefusedError: a record has something that its event cannot keep.
        RecordsLostError: Kafka has deleted records before they were copied.
        StreamNotFoundError: the stream does not exist.
        KafkaUnavailableError: Kafka cannot be reached; a further call continues.
        PravegaError: Pravega cannot be reached; a further call continues.
    """
    if step_records < 1:
        raise ConfigurationError(f"step_records is {step_records}, but must be at least 1")
    found = cluster.topic(topic)
    record = begun_copy(client, cluster, found, StreamName.of(stream), options, ledger, registry)
    copy = TopicCopy(client, cluster, found, record, registry)
    limits = cluster.last_offsets(found)
    for group in behind:
        limits = _behind(group, found, cluster.committed(group, found), record.starts, limits)
    return copy.run(limits, step_records, Unkept(lost))


def _behind(group: str, topic: Topic, committed: tuple[int | None, ...], starts: Offsets, limits: Offsets) -> Offsets:
    """The limits of a copy that does not overtake a group.

    Raises:
        TopicCopyError: the group has committed nothing, so that the copy would wait for it forever.
    """
    firsts = later(starts, (0,) * topic.partitions)
    waiting = [
        number
        for number, (offset, first, limit) in enumerate(zip(committed, firsts, limits, strict=True))
        if offset is None and limit > first
    ]
    if waiting and not any(offset is not None for offset in committed):
        raise TopicCopyError(
            f"group {group!r} has committed no offset of topic {topic.name!r}, which has records, so that a copy "
            "behind it would never continue. Is its name right? Have its consumers commit first, or leave the group out"
        )
    if waiting:
        logger.warning(
            "%s: group %s has committed nothing in partitions %s, which are not copied so far",
            *(topic.name, group, waiting),
        )
    return tuple(min(limit, offset or 0) for limit, offset in zip(limits, committed, strict=True))


class TopicCopy:
    """A copy that has begun, as one process continues it."""

    def __init__(
        self,
        client: PravegaClient,
        cluster: KafkaCluster,
        topic: Topic,
        record: CopyRecord,
        registry: "SchemaRegistry | None",
    ) -> None:
        self._client = client
        self._cluster = cluster
        self._topic = topic
        self._record = record
        self._rewrite = rewrite_of(record.options, cluster.config.confluent, registry, record.stream)
        self._ledger = client.run(CopyLedger.of(client.asynchronous, record.stream))

    def run(self, limits: Offsets, step_records: int, lost: Unkept) -> CopyProgress:
        """Finish the step that was left, and copy up to the offsets `limits` in further ones."""
        finished: list[CopyStep] = []
        known = 0
        while True:
            last = self._client.run(self._ledger.last(known))
            if last is not None:
                known = last.step.number
                if last.step.cuts is None:
                    if (done := self._finish(last, lost)) is not None:
                        finished.append(done)
                    continue
            starts = self._next_starts(None if last is None else last.step, lost)
            ends = next_ends(starts, limits, step_records)
            if starts == ends:
                return self._progress(finished, ends)
            self._client.run(self._ledger.fix(known + 1, starts, ends))

    def _progress(self, finished: Sequence[CopyStep], offsets: Offsets) -> CopyProgress:
        cuts = [step.cuts for step in finished if step.cuts is not None]
        ends = self._cluster.last_offsets(self._topic)
        return CopyProgress(
            self._topic.name,
            str(self._record.stream),
            len(finished),
            sum(one.events for one in cuts),
            sum(one.bytes for one in cuts),
            offsets,
            sum(end - offset for end, offset in zip_longest(ends, offsets, fillvalue=0)),
        )

    def _next_starts(self, last: CopyStep | None, lost: Unkept) -> Offsets:
        """The first offsets of the next step: where the last one ended, or after what Kafka has deleted since."""
        known = self._record.starts if last is None else last.ends
        starts = later(known, (0,) * self._topic.partitions)
        self._check_end(starts)
        left = self._cluster.first_offsets(self._topic)
        gone = [number for number, (start, first) in enumerate(zip(starts, left, strict=True)) if first > start]
        if gone and lost is Unkept.REFUSE:
            where = ", ".join(f"partition {number} offsets {starts[number]} to {left[number] - 1}" for number in gone)
            raise lost_records(self._topic, where)
        if gone:
            logger.warning("%s: records that Kafka has deleted are left out: partitions %s", self._topic.name, gone)
        return later(starts, left)

    def _check_end(self, offsets: Offsets) -> None:
        """Check that Kafka still has the end of what a copy has taken, or is about to take.

        Raises:
            TopicCopyError: its end is before these offsets: records with other contents will get them.
        """
        for tried in range(_TRIES):
            if tried:  # a follower that has become the leader may be late
                time.sleep(self._cluster.config.timeout / _TRIES)
            last = self._cluster.last_offsets(self._topic)
            lost = [number for number, (offset, end) in enumerate(zip(offsets, last, strict=False)) if end < offset]
            if not lost:
                return
        check_is_of(self._record, self._cluster.topic(self._topic.name))
        where = ", ".join(
            f"partition {number} ends at offset {last[number]}, before {offsets[number]}" for number in lost
        )
        raise self._end_lost(where)

    def _end_lost(self, where: str) -> TopicCopyError:
        return TopicCopyError(
            f"Kafka has lost the end of topic {self._topic.name!r} after its copy to {self._record.stream} went there: "
            f"{where}. Offsets from there on get other records. Copy into another stream"
        )

    def _batches(self, step: CopyStep) -> Iterator[EventBatch]:
        """The events of a step; its write is decided only if they are of the topic whose copy has begun."""
        for page in read_records(self._cluster, self._topic, step.starts, step.ends):
            yield batch_of(page, self._record.options, self._rewrite)
        # The topic may have been deleted and made again meanwhile: then these are records of another one.
        check_is_of(self._record, self._cluster.topic(self._topic.name))

    def _finish(self, found: StoredStep, lost: Unkept) -> CopyStep | None:
        """Do a step, or what is left of it; None: another process has changed it meanwhile."""
        step, record, client = found.step, self._record, self._client
        write_id = write_id_of(record, step)
        write = client.run(finished_write(client.asynchronous, record.stream, write_id, record.commit_ledger))
        if write is None:
            self._check_end(step.ends)
            batches = self._batches(step)
            try:
                # Remembered forever: a step may be finished at any time after its write.
                done = write_event_batches(client, record.stream, write_id, batches, record.commit_ledger, retain=None)
            except WriteSupersededError:
                return None  # by another process with the same records
            except RecordsLostError as error:
                left = later(step.starts, self._cluster.first_offsets(self._topic))
                starts = tuple(map(min, left, step.ends))
                if starts == step.starts:  # nothing to leave out at its beginning, so they were lost at its end
                    check_is_of(record, self._cluster.topic(self._topic.name))
                    raise self._end_lost(f"step {step.number} begins at offsets {step.starts}") from error
                if lost is Unkept.REFUSE:
                    raise
                client.run(self._ledger.change(found, step.model_copy(update={"starts": starts})))
                return None
            write = done.record
        finished = step.done(write)
        client.run(self._ledger.change(found, finished))
        logger.info("step %d of the copy of %s: %d events", step.number, self._topic.name, write.total_events)
        return finished


def write_id_of(record: CopyRecord, step: CopyStep) -> str:
    """The write id of a step's events."""
    return f"kafka-copy/{record.topic_id}/{step.number}"


def next_ends(starts: Offsets, limits: Offsets, most: int) -> Offsets:
    """The ends of a step of at most `most` offsets, which leaves no partition far behind the others."""
    ends = list(starts)
    left = most
    waiting = sorted(range(len(starts)), key=lambda number: limits[number] - starts[number])
    for position, number in enumerate(waiting):
        share = left // (len(waiting) - position)
        taken = max(0, min(limits[number] - starts[number], share))
        ends[number] += taken
        left -= taken
    if left == most:  # more partitions than offsets: one after the other
        for number in waiting:
            if limits[number] > starts[number]:
                ends[number] += 1
                break
    return tuple(ends)
