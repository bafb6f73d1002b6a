"""Writes that a job does exactly once: it asks the commit ledger before Spark is started, and after.

The caller writes the rows into the stream.
"""

import time
from asyncio import gather
from collections.abc import Callable, Collection
from dataclasses import dataclass
from uuid import UUID, uuid4

from aiopravega.client import PravegaClient
from aiopravega.errors import ConfigurationError, LedgerError, NotFoundError
from aiopravega.ledger import CommitProtocol, CommitRecord, CommitState, ledger_name
from aiopravega.names import StreamName
from pravega_jobs.spark.options import REBUILD_OPTION


@dataclass(frozen=True, slots=True)
class Written:
    """The record of a write, True if this try has written it, and the seconds that the try took."""

    record: CommitRecord
    by_this_try: bool
    seconds: float


async def finished_write(
    client: PravegaClient,
    stream: StreamName,
    write_id: str,
    ledger: str | None = None,
    generation: int = 1,
    others: Collection[StreamName] = (),
) -> CommitRecord | None:
    """The record of a write that is done, or None. Writes that a driver decided and left are finished first.

    Args:
        client: a connected client.
        stream: the stream of the write.
        write_id: the name of the write.
        ledger: `scope/table` of the commit ledger; None: the default ledger of the stream's scope.
        generation: the generation of the write.
        others: the further streams of a write into several.

    Raises:
        SinksError: under the write id, other streams were written to.
        GenerationError: the generation cannot follow: the one before it is not done, or not known.
        PartialCommitError: an earlier try is in the stream in part, and the rest of it is lost.
        ConfigurationError: `ledger` is not a name.
        PravegaError: the cluster cannot be reached.
    """
    protocol = CommitProtocol(client.controller, client.commit_ledger(*ledger_name(ledger, stream.scope)))
    await gather(*map(protocol.finish_unfinished, (stream, *others)))
    try:
        job = await protocol.begin(stream, write_id, uuid4(), generation, others)
    except NotFoundError:
        return None  # no stream or no ledger yet: the write makes them
    return job.done


async def finished_writes(client: PravegaClient, stream: StreamName, ledger: str | None = None) -> list[CommitRecord]:
    """The newest generations that are done of all writes to a stream, but not to a deleted stream of its name.

    Of a write into several streams it is the record of its part in this one.

    Raises:
        StreamNotFoundError: the stream does not exist.
        TableNotFoundError: there is no ledger.
        ConfigurationError: `ledger` is not a name.
    """
    first = (await client.controller.first_segment(stream)).number
    found = [
        [one.of(stream) for one in each.record.generations if one.state is CommitState.DONE]
        async for each in client.commit_ledger(*ledger_name(ledger, stream.scope)).records()
        if each.record.incarnations.get(stream) == first
    ]
    return [done[-1] for done in found if done]


def parse_generation(value: int | str) -> int:
    """The generation of a write that a job names by `rebuild`, as a number or as its text.

    Raises:
        ConfigurationError: the value is not a whole number of at least 1.
    """
    text = str(value).strip()
    if isinstance(value, bool) or not text.isdecimal() or int(text) < 1:
        raise ConfigurationError(
            f"{REBUILD_OPTION} is {value!r}, but must be a whole number of at least 1: the generation of the write"
        )
    return int(text)


def write_unless_done(
    stream: StreamName,
    write_id: str,
    find: Callable[[], CommitRecord | None],
    write: Callable[[], None],
    *,
    claimant: str | None,
) -> Written:
    """Write; if the write is done already, have its rows compared with the rows that were written.

    A finished write is accepted without comparing rows only if its record has the claimant of this call: then an
    earlier try of the same work has written it, and died before it could say so. What another run has written, or an
    older release, is compared: code or source may have changed.

    Args:
        stream: the stream of the write.
        write_id: the name of the write.
        find: the record of the write if it is done, such as `finished_write` gives it.
        write: writes, or compares with rows that are written, as Spark's data source does by default; called at most
            once.
        claimant: the work that writes, as `write` puts it into the record: a text that only tries of one run and step
            share, which have the same code. None: nothing is accepted without comparing.

    Raises:
        LedgerError: `write` has returned, and there is no record of it.
        WriteIdReusedError: the write is done already, with other rows.
    """
    began = time.monotonic()
    before = find()
    if before is not None and claimant is not None and before.claimant == claimant:
        return Written(before, False, time.monotonic() - began)
    write()
    attempt = None if before is None else before.attempt
    return written_since(attempt, stream, write_id, find(), time.monotonic() - began)


def written_since(
    attempt: UUID | None, stream: StreamName, write_id: str, record: CommitRecord | None, seconds: float
) -> Written:
    """A write that was to be done, or compared, as its record says it afterwards.

    Args:
        attempt: of the record that was there before; None: there was none.
        stream: the stream of the write.
        write_id: the name of the write.
        record: the record that is there now.
        seconds: how long it took.

    Raises:
        LedgerError: there is no record.
    """
    if record is None:
        raise LedgerError(
            f"Spark has written to {stream}, but the commit ledger has no record of write {write_id!r}: give the "
            "ledger as the job's own commit_ledger too"
        )
    return Written(record, attempt is None or record.attempt != attempt, seconds)
