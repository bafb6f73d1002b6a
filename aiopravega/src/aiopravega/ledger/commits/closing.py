"""Closing of writes: a range was taken over from a run, and no attempt of its write may decide it any more.

The run may not be dead: it may have begun the write, or be about to. The record of a closed write refuses both: a
decision of an attempt that has begun meets another version, and `CommitProtocol.begin` refuses the others. The same
task may be run again, with the range that it has then. It reopens the write after its new claim is recorded, and before
it begins. Attempts from before the write was closed stay refused.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

from aiopravega.errors import PartialCommitError, SinksError, TableConflictError, WriteClosedError, WriteSupersededError
from aiopravega.ledger.commits.contents import CommitState, OtherSink
from aiopravega.ledger.commits.protocol import CommitProtocol
from aiopravega.ledger.commits.record import CommitRecord
from aiopravega.ledger.commits.table import CommitTable
from aiopravega.ledger.commits.verdict import listed
from aiopravega.ledger.commits.write_job import earlier_of
from aiopravega.ledger.stored_json import myself
from aiopravega.names import StreamName


async def close_write(
    protocol: CommitProtocol, table: CommitTable, sink: StreamName, write_id: str, generation: int = 1
) -> CommitRecord | None:
    """The record of a write that is done; or None: it is not, and it is closed from now on.

    What an attempt has decided is finished first.

    Raises:
        PartialCommitError: some of it is in the stream, and only the same write can complete it; or it is not known.
        GenerationError: the generation cannot follow.
        StreamNotFoundError: the stream does not exist.
        PravegaError: the cluster cannot be reached.
    """
    others: Sequence[StreamName] = ()
    while True:
        try:
            job = await protocol.begin(sink, write_id, uuid4(), generation, others)
            if job.done is not None and job.done.waiting_tables:
                raise PartialCommitError(
                    f"{job} is in its streams, and not in {' and '.join(job.done.waiting_tables)}: only the same write "
                    "can put it there. Run its task again"
                )
            if job.done is not None:
                return job.done
            if job.lost is not None:
                raise PartialCommitError(
                    f"{job} is in the stream but for the partitions {listed(job.lost)}: only the same write can "
                    "complete it. Run its task again"
                )
            record = CommitRecord(
                state=CommitState.CLOSED,
                sink=job.sink,
                incarnation=job.incarnation,
                write_id=write_id,
                attempt=job.attempt,
                partitions=(),
                prepared_at=datetime.now(UTC),
                by=myself(),
                earlier=earlier_of(job),
                others=tuple(OtherSink(stream=one.stream, incarnation=one.incarnation) for one in job.joined),
            )
            await table.put(record, job.replaces)
        except WriteClosedError:
            return None
        except SinksError:  # it is, or was to be, a write into several streams: one record decides for all of them
            if others:
                raise
            part, owner = await table.lookup(sink, write_id), await table.owner(sink, write_id)
            if part is not None and owner is not None and sink not in owner.record.streams:
                await table.forget(part)  # the first stream was written to alone since: no attempt of both can decide
            elif part is not None:
                sink = part.record.main or sink
                others = () if owner is None else owner.record.streams
            continue
        except (TableConflictError, WriteSupersededError):  # an attempt has decided it meanwhile
            continue
        return None


async def reopen_write(table: CommitTable, sink: StreamName, write_id: str) -> None:
    """Let attempts that begin from now on decide a write that was closed; any other write stays as it is."""
    while True:
        found = await table.lookup(sink, write_id)
        if found is not None and found.record.main is not None:
            sink = found.record.main
            continue
        if found is None or found.record.state is not CommitState.CLOSED:
            return
        try:
            await table.amend(found, found.record.model_copy(update={"state": CommitState.REOPENED}))
        except TableConflictError:
            continue
        return
