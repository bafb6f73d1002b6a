"""Events that come batch by batch, written exactly once to one or several streams, without Spark, in little memory.

The thread of the caller makes the batches, and may read them from the cluster meanwhile.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from aiopravega.blocking import PravegaClient, Transaction
from aiopravega.ledger import CommitProtocol, CommitRecord, TableSink, WriteErrors, WriteJob, check_same_errors
from aiopravega.ledger.commits.protocol import DEFAULT_RETAIN
from aiopravega.names import StreamName
from pravega_jobs.events.writes import EventTally, already_written, begin_events, check_all_same
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
    pairs = ((stream, batch) for batch in batches)
    of_stream = {} if errors is None else {stream: errors}
    return write_to_streams(client, [stream], write_id, pairs, ledger, generation, claimant, retain, of_stream)


def write_to_streams(
    client: PravegaClient,
    streams: Sequence[StreamName],
    write_id: str,
    batches: Iterable[tuple[StreamName, EventBatch]],
    ledger: str | None = None,
    generation: int = 1,
    claimant: str | None = None,
    retain: float | None = DEFAULT_RETAIN,
    errors: Mapping[StreamName, KeepsErrors] | None = None,
    tables: Sequence[TableSink] = (),
) -> Written:
    """Write events to several streams exactly once, decided together: all streams get their parts, or none does.

    All is in one transaction for each stream that gets events. It also raises the errors of `write_event_batches`.

    Args:
        client: a connected client.
        streams: all streams of the write, in any order; they stay the same under the write id.
        write_id: the name of the write.
        batches: the events, each batch with its stream.
        ledger: `scope/table` of the commit ledger; None: the default ledger of the scope of the streams.
        generation: the generation of the write.
        claimant: the work that writes, for the record.
        retain: for how many seconds the ledger remembers the write at least; None: forever.
        errors: the errors of the sources of the events of streams; of others they are not kept.
        tables: the tables that the caller puts rows of the write into when it is done, and notes that in the ledger.

    Raises:
        ConfigurationError: the streams are in several scopes, and no ledger is named.
        SinksError: under the write id, other streams or tables were written to.
    """
    began = time.monotonic()
    begun = begin_events(client.asynchronous, streams, write_id, ledger, generation, claimant, retain)
    protocol, job = client.run(begun)
    job = job.with_tables(tables)
    tallies = {stream: EventTally() for stream in job.streams}
    if job.done is not None:
        for stream, batch in batches:
            batch.count(tallies[stream])
        written = already_written(job.done, tallies, began)
        for stream in streams:
            found = (errors or {}).get(stream)
            check_same_errors(job.done.of(stream), None if found is None else found.note())
        return written
    record = _write(client, protocol, job, batches, tallies, errors or {})
    if job.lost is not None:  # only what was missing was written, and the rest is compared
        check_all_same(record, tallies)
    return Written(record, True, time.monotonic() - began)


def _write(
    client: PravegaClient,
    protocol: CommitProtocol,
    job: WriteJob,
    batches: Iterable[tuple[StreamName, EventBatch]],
    tallies: Mapping[StreamName, EventTally],
    errors: Mapping[StreamName, KeepsErrors],
) -> CommitRecord:
    opened: dict[StreamName, Transaction] = {}
    wanted = {stream for number, stream in enumerate(job.streams) if job.needs(number)}
    try:
        for stream, batch in batches:
            batch.count(tallies[stream])
            if stream in wanted and batch.events:
                if stream not in opened:
                    opened[stream] = client.open_transaction(stream)
                opened[stream].write_many(batch.events, batch.routing_keys)
        for transaction in opened.values():
            transaction.flush()
        witnessed_at = max((transaction.witnessed_at() for transaction in opened.values()), default=None)
        notes = {stream: found.put(tallies[stream].rows.events) for stream, found in errors.items()}
        job = job.with_errors(notes)
    except BaseException:
        for transaction in opened.values():
            transaction.detach()
        client.run(protocol.abandon(job, {transaction.txn_id: stream for stream, transaction in opened.items()}))
        raise
    try:
        parts = [
            tallies[stream].part(opened[stream].txn_id, number, stream if number else None)
            for number, stream in enumerate(job.streams)
            if stream in opened
        ]
        return client.run(protocol.commit(job, parts, witnessed_at))
    finally:
        for transaction in opened.values():
            transaction.detach()  # its lease was kept until it was decided
