"""Events that a task writes exactly once in one transaction, without Spark: what lists and batches share."""

import hashlib
import logging
import time
from collections.abc import Iterable
from uuid import UUID, uuid4

from aiopravega import wire
from aiopravega.client import PravegaClient
from aiopravega.errors import PartialCommitError, TableNotFoundError
from aiopravega.ledger import (
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
_ONLY_PARTITION = 0


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

    def part(self, txn_id: UUID) -> PartitionCommit:
        """The events as the part of a write that is in one transaction."""
        return PartitionCommit(
            partition=_ONLY_PARTITION,
            txn_id=txn_id,
            events=self.rows.events,
            bytes=self.rows.bytes,
            hashes=self.rows.hashes,
            checksum=self._checksum.hexdigest(),
        )


async def begin_events(
    client: PravegaClient,
    stream: StreamName,
    write_id: str,
    ledger: str | None,
    generation: int = 1,
    claimant: str | None = None,
    retain: float | None = DEFAULT_RETAIN,
) -> tuple[CommitProtocol, WriteJob]:
    """Begin a write, or find that it is done (`WriteJob.done`). Writes that dead drivers have left are finished first.

    `retain`: for how many seconds the ledger remembers the write at least; None: forever.

    Raises:
        StreamNotFoundError: the stream does not exist.
        GenerationError: the generation cannot follow: the one before it is not done, or not known.
        PartialCommitError: an earlier attempt of another kind is in the stream in part.
        PravegaError: the cluster cannot be reached.
    """
    commits = client.commit_ledger(*ledger_name(ledger, stream.scope))
    try:
        warning = await commits.mark(stream)
    except TableNotFoundError:
        await client.tail(stream)  # no ledger is made for a stream that is not there
        await commits.create()
        warning = await commits.mark(stream)
    if warning is not None:
        logger.warning("%s", warning)
    protocol = commits.protocol(retain=retain, claimant=claimant)
    await protocol.finish_unfinished(stream)
    job = await protocol.begin(stream, write_id, uuid4(), generation)
    if job.lost is not None:
        raise PartialCommitError(
            f"{job} was begun by another kind of writer, and is in the stream in part: run that again with this write "
            "id, or decide with pravega ledger resolve"
        )
    return protocol, job


def already_written(record: CommitRecord, tally: EventTally, began: float) -> Written:
    """The outcome of a write that is done already, whose events have been compared.

    Raises:
        WriteIdReusedError: it is done with other events.
    """
    check_same(record, tally.rows)
    return Written(record, False, time.monotonic() - began)
