"""Events that come batch by batch, written exactly once in one transaction: no Spark is needed, and little memory.

The thread of the caller makes the batches, and may read them from the cluster meanwhile.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from aiopravega.blocking import PravegaClient
from aiopravega.ledger import CommitProtocol, CommitRecord, WriteErrors, WriteJob, check_same_errors
from aiopravega.ledger.commits.protocol import DEFAULT_RETAIN
from aiopravega.names import StreamName
from pravega_jobs.events.writes import EventTally, already_written, begin_events
from pravega_jobs.writes import Written


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events to write, and a routing key for each; None: no event has one."""

    events: Sequence[bytes]
    routing_keys: Sequence[str | None] | None = None

    def count(self, tally: EventTally) -> None:
        """Add the events to a tally, by which they are recognised."""
        keys = self.routing_keys or [None] * len(self.events)
        tally.add(zip(self.events, keys, strict=True))


class KeepsErrors(Protocol):
    """The errors of a write, which are known when all its batches were made."""

    def note(self) -> WriteErrors:
        """The note of the errors, for the record of the write."""

    def put(self, rows: int) -> WriteErrors:
        """Put them where they go, before the write is decided; `rows` is the number of its events."""


def write_event_batches(
    client: PravegaClient,
    stream: StreamName,
    write_id: str,
    batches: Iterable[EventBatch],
    ledger: str | None = None,
    generation: int = 1,
    claimant: str | None = None,
    retain: float | None = DEFAULT_RETAIN,
    errors: KeepsErrors | None = None,
) -> Written:
    """Write events exactly once: a further call with the same write id and the same events adds nothing.

    One batch is in memory at a time, and the events on their way to the cluster. All are in one transaction: divide a
    very large amount among several writes.

    Args:
        client: a connected client.
        stream: the stream to write to; it must exist.
        write_id: the name of the write.
        batches: the events, asked for once and in order; events of one routing key stay in their order.
        ledger: `scope/table` of the commit ledger; None: the default ledger of the stream's scope. It is
            made if it is missing.
        generation: the generation of the write; 2 writes other events after 1.
        claimant: the work that writes, for the record; see `pravega_jobs.writes.write_unless_done`.
        retain: for how many seconds the ledger remembers the write at least; None: forever.
        errors: the errors of the source of the events; None: they are not kept. The record of the write names them.

    Raises:
        StreamNotFoundError: the stream does not exist.
        WriteIdReusedError: the write is done already, with other events.
        GenerationError: the generation cannot follow: the one before it is not done, or not known.
        EventTooLargeError: an event has more than 8 MiB.
        PartialCommitError: an earlier attempt of another kind is in the stream in part.
        TransactionAbortedError: the transaction's lease ran out; a further call begins again.
        PravegaError: the cluster cannot be reached; a further call finishes or repeats it.
    """
    began = time.monotonic()
    begun = begin_events(client.asynchronous, stream, write_id, ledger, generation, claimant, retain)
    protocol, job = client.run(begun)
    tally = EventTally()
    if job.done is not None:
        for batch in batches:
            batch.count(tally)
        written = already_written(job.done, tally, began)
        check_same_errors(job.done, None if errors is None else errors.note())
        return written
    record = _write(client, protocol, job, batches, tally, errors)
    return Written(record, True, time.monotonic() - began)


def _write(
    client: PravegaClient,
    protocol: CommitProtocol,
    job: WriteJob,
    batches: Iterable[EventBatch],
    tally: EventTally,
    errors: KeepsErrors | None,
) -> CommitRecord:
    transaction = client.open_transaction(job.sink)
    try:
        for batch in batches:
            batch.count(tally)
            transaction.write_many(batch.events, batch.routing_keys)
        transaction.flush()
        witnessed_at = transaction.witnessed_at()
        if errors is not None:
            job = replace(job, errors=errors.put(tally.rows.events))
    except BaseException:
        transaction.detach()
        client.run(protocol.abandon(job, [transaction.txn_id]))
        raise
    try:
        if not tally.rows.events:
            client.run(protocol.abandon(job, [transaction.txn_id]))
            return client.run(protocol.commit(job, []))
        return client.run(protocol.commit(job, [tally.part(transaction.txn_id)], witnessed_at))
    finally:
        transaction.detach()  # its lease was kept until it was decided
