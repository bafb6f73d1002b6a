"""Events that a task writes exactly once in one transaction, without Spark: what lists and batches share."""

import hashlib
import logging
import time
from asyncio import gather
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID, uuid4

from aiopravega import wire
from aiopravega.client import PravegaClient
from aiopravega.errors import ConfigurationError, PartialCommitError, TableNotFoundError
from aiopravega.ledger import (
    CommitLedger,
    CommitProtocol,
    CommitRecord,
    Fingerprint,
    PartitionCommit,
    WriteJob,
    check_same,
    ledger_name,
)
from aiopravega.ledger.commits.fingerprint import event_hash
from aiopravega.ledger.commits.protocol import DEFAULT_RETAIN
from aiopravega.names import StreamName
from pravega_jobs.writes import Written

logger = logging.getLogger(__name__)


class EventTally:
    """The fingerprint of a set of events: a later try recognises the same events by it."""

    def __init__(self) -> None:
        self.rows = Fingerprint()
        self._checksum = hashlib.blake2b(digest_size=8)

    def add(self, events: Iterable[tuple[bytes, str | None]]) -> None:
        """Count some events, each with its routing key."""
        count = size = total = 0
        for data, routing_key in events:
            found = event_hash(data, routing_key)
            self._checksum.update(found.to_bytes(8, "little"))
            count, size, total = count + 1, size + len(data), total + found
        self.rows += Fingerprint(count, size + count * wire.EVENT_HEADER, total)

    def part(self, txn_id: UUID, number: int = 0, stream: StreamName | None = None) -> PartitionCommit:
        """The events as a partition of a write, which is in one transaction of `stream`, None: of its first stream."""
        return PartitionCommit(
            partition=number,
            stream=stream,
            txn_id=txn_id,
            events=self.rows.events,
            bytes=self.rows.bytes,
            hashes=self.rows.hashes,
            checksum=self._checksum.hexdigest(),
        )


async def begin_events(
    client: PravegaClient,
    streams: Sequence[StreamName],
    write_id: str,
    ledger: str | None,
    generation: int = 1,
    claimant: str | None = None,
    retain: float | None = DEFAULT_RETAIN,
) -> tuple[CommitProtocol, WriteJob]:
    """Begin a write to one or several streams, or find that it is done (`WriteJob.done`).

    Writes that dead drivers have left are finished first. Each stream is a partition of the write, in the order of the
    names.

    `retain`: for how many seconds the ledger remembers the write at least; None: forever.

    Raises:
        StreamNotFoundError: the stream does not exist.
        GenerationError: the generation cannot follow: the one before it is not done, or not known.
        SinksError: under the write id, other streams were written to.
        ConfigurationError: the streams are in several scopes, and no ledger is named.
        PartialCommitError: an earlier attempt of another kind is in the stream in part.
        PravegaError: the cluster cannot be reached.
    """
    scopes = {stream.scope for stream in streams}
    if ledger is None and len(scopes) > 1:
        raise ConfigurationError(
            f"write {write_id!r} is into streams of the scopes {', '.join(sorted(scopes))}, which have a commit ledger "
            "each by default: name the one that is to decide, as ledger='scope/table'"
        )
    commits = client.commit_ledger(*ledger_name(ledger, min(scopes)))
    for warning in await gather(*(_mark(client, commits, stream) for stream in streams)):
        if warning is not None:
            logger.warning("%s", warning)
    protocol = commits.protocol(retain=retain, claimant=claimant)
    await gather(*map(protocol.finish_unfinished, streams))
    first, *others = streams
    job = await protocol.begin(first, write_id, uuid4(), generation, others)
    if job.lost is not None and not _is_alike(job):
        raise PartialCommitError(
            f"{job} was begun by another kind of writer, and is in the stream in part: run that again with this write "
            "id, or decide with pravega ledger resolve"
        )
    return protocol, job


async def _mark(client: PravegaClient, commits: CommitLedger, stream: StreamName) -> str | None:
    try:
        return await commits.mark(stream)
    except TableNotFoundError:
        await client.tail(stream)  # no ledger is made for a stream that is not there
        await commits.create()
        return await commits.mark(stream)


def _is_alike(job: WriteJob) -> bool:
    """True if the attempt that a job completes has a partition for each of several streams, as this kind of write."""
    parts = () if job.replaces is None else job.replaces.record.partitions
    return len(job.streams) > 1 and all(
        part.partition < len(job.streams) and job.stream_of(part) == job.streams[part.partition] for part in parts
    )


def already_written(record: CommitRecord, tallies: Mapping[StreamName, EventTally], began: float) -> Written:
    """The outcome of a write that is done already, whose events have been compared.

    Raises:
        WriteIdReusedError: it is done with other events.
    """
    check_all_same(record, tallies)
    return Written(record, False, time.monotonic() - began)


def check_all_same(record: CommitRecord, tallies: Mapping[StreamName, EventTally]) -> None:
    """Compare the events of each stream with those that are written.

    Raises:
        WriteIdReusedError: they differ.
    """
    for stream, tally in tallies.items():
        check_same(record.of(stream), tally.rows)
