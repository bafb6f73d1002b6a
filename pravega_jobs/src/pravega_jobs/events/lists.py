"""Small lists of events, written exactly once and read whole, in the process of a task: no Spark is needed.

A list is in memory, and one transaction holds it. Larger amounts are for `pravega_jobs.events.batches`, or for Spark.
"""

import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import CommitProtocol, CommitRecord, WriteJob
from aiopravega.names import StreamName
from aiopravega.read import Event
from pravega_jobs.events.writes import EventTally, already_written, begin_events
from pravega_jobs.writes import Written


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to write."""

    data: bytes
    routing_key: str | None = None


async def write_event_list(
    client: PravegaClient,
    stream: StreamName,
    write_id: str,
    events: Sequence[NewEvent],
    ledger: str | None = None,
    claimant: str | None = None,
) -> Written:
    """Write events exactly once: a further call with the same write id and the same events adds nothing.

    Args:
        client: a connected client.
        stream: the stream to write to; it must exist.
        write_id: the name of the write.
        events: the events, in one transaction; events of one routing key stay in their order.
        ledger: `scope/table` of the commit ledger; None: the default ledger of the stream's scope. It is
            made if it is missing.
        claimant: the work that writes, for the record; see `pravega_jobs.writes.write_unless_done`.

    Raises:
        StreamNotFoundError: the stream does not exist.
        WriteIdReusedError: the write is done already, with other events.
        EventTooLargeError: an event has more than 8 MiB.
        PartialCommitError: an earlier attempt of another kind is in the stream in part.
        PravegaError: the cluster cannot be reached; a further call finishes or repeats it.
    """
    began = time.monotonic()
    protocol, job = await begin_events(client, [stream], write_id, ledger, claimant=claimant)
    tally = EventTally()
    tally.add((event.data, event.routing_key) for event in events)
    if job.done is not None:
        return already_written(job.done, {stream: tally}, began)
    record = await _write(client, protocol, job, events, tally)
    return Written(record, True, time.monotonic() - began)


async def _write(
    client: PravegaClient, protocol: CommitProtocol, job: WriteJob, events: Sequence[NewEvent], tally: EventTally
) -> CommitRecord:
    if not events:
        return await protocol.commit(job, [])
    transaction = await client.open_transaction(job.sink)
    try:
        for event in events:
            await transaction.write(event.data, event.routing_key)
        await transaction.flush()
        witnessed_at = await transaction.witnessed_at()
    except BaseException:
        await transaction.detach()
        await protocol.abandon(job, [transaction.txn_id])
        raise
    try:
        return await protocol.commit(job, [tally.part(transaction.txn_id)], witnessed_at)
    finally:
        await transaction.detach()  # its lease was kept until it was decided


async def read_event_list(
    client: PravegaClient, cuts: StreamCutRange, stream: StreamName, *, max_events: int, max_bytes: int
) -> list[Event]:
    """All events of a range; events of one routing key in the order of their writing.

    Args:
        client: a connected client.
        cuts: the range.
        stream: the stream of the range.
        max_events: the most events that the range may have.
        max_bytes: the most bytes that the range may have, event headers (8 bytes each) included.

    Raises:
        ConfigurationError: the range has more events or bytes; nothing is returned.
        PravegaError: the range cannot be read, or the cluster cannot be reached.
    """
    size = sum(part.size for part in await client.plan(cuts, stream))
    way_out = "Take a smaller range, allow more, or read it with Spark"
    if size > max_bytes:
        raise ConfigurationError(
            f"the range of {stream} has {size:,} bytes, more than max_bytes={max_bytes:,}: nothing is read. {way_out}"
        )
    found: list[Event] = []
    async with aclosing(client.read(cuts, stream)) as events:
        async for event in events:
            if len(found) == max_events:
                raise ConfigurationError(
                    f"the range of {stream} has more than max_events={max_events:,} events: nothing is returned. "
                    f"{way_out}"
                )
            found.append(event)
    return found
