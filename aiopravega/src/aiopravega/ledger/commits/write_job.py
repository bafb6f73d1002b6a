"""One attempt of one write, as its driver hands it to its tasks, and the rules of its generation. No I/O.

A generation is rows that are written again on purpose under the same write id; the old ones stay. It is written when
the one before it is done. Rows that are done are never written again, whatever is newer. The rules are in
docs/explanation/exactly-once.md.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Self
from uuid import UUID

from aiopravega.errors import GenerationError, WriteClosedError
from aiopravega.ledger.commits.contents import PartitionCommit, WriteErrors
from aiopravega.ledger.commits.record import CommitRecord, CommitState, StoredCommit, described
from aiopravega.ledger.commits.same_rows import completed
from aiopravega.ledger.commits.verdict import listed
from aiopravega.ledger.stored_json import myself
from aiopravega.names import StreamName


@dataclass(frozen=True, slots=True)
class WriteJob:
    """One attempt of one write.

    `done` is the record of the write if it is done already: then nothing is to be written. `replaces` is the record of
    an earlier attempt that this one may replace. `lost` are the partitions that are missing from that one, if the
    others are in the stream already; None: all are to be written. `begun_at` is the time of the process that began it,
    in seconds. `generation` is 1 for the first rows under the write id; the next one replaces the record of the one
    before it, and keeps that. `errors` are the errors of its source, which are in their stream before it is committed.
    """

    sink: StreamName
    write_id: str
    attempt: UUID
    incarnation: int
    replaces: StoredCommit | None = None
    lost: frozenset[int] | None = None
    begun_at: float = field(default_factory=time.time)
    generation: int = 1
    done: CommitRecord | None = None
    errors: WriteErrors | None = None

    def needs(self, partition: int) -> bool:
        """True if a partition is to be written: it is not in the stream already."""
        return self.done is None and (self.lost is None or partition in self.lost)

    def when_done(self, record: CommitRecord) -> Self:
        """The job of a write that is done, by this record: it has nothing to write."""
        return replace(self, replaces=None, done=record)

    @property
    def age(self) -> float:
        """Seconds since it was begun, if this machine's clock agrees with the driver's."""
        return time.time() - self.begun_at

    def __str__(self) -> str:
        return described(self.sink, self.write_id, self.generation)


def check_first(job: WriteJob) -> None:
    """Check a generation of a write that the ledger does not know, or not of this stream.

    Raises:
        GenerationError: it is not the first one.
    """
    if job.generation > 1:
        raise GenerationError(
            f"{job}: the ledger knows no generation of this write, or has forgotten them, so there is none to follow. "
            "Nothing was written. Is the write id right? If so, run the job without `rebuild`: that writes the first "
            "generation that the ledger knows."
        )


def check_next(job: WriteJob, newest: CommitRecord) -> None:
    """Check that a generation is not later than the one after the newest, which must not have been reopened.

    Raises:
        GenerationError: it is.
    """
    if newest.state is CommitState.REOPENED and job.generation > newest.generation:
        raise not_done(job, newest, frozenset())
    if job.generation > newest.generation + 1:
        raise GenerationError(
            f"{job}: the newest generation is {newest.generation} ({newest.state.value}), so the next one is "
            f"rebuild={newest.generation + 1}. Nothing was written."
        )


def check_open(job: WriteJob) -> None:
    """Check that a write was not closed.

    Raises:
        WriteClosedError: it was, with this generation or an earlier one.
    """
    found = None if job.replaces is None else job.replaces.record
    if found is not None and found.state is CommitState.CLOSED and job.generation >= found.generation:
        raise WriteClosedError(
            f"{job} is closed since {found.prepared_at.isoformat(timespec='seconds')}, by {found.by}: another run has "
            "taken over the range that it was for. Nothing was written. Run the whole task again: it finds the range "
            "that it has now, and opens the write"
        )


def not_done(job: WriteJob, newest: CommitRecord, lost: frozenset[int]) -> GenerationError:
    """The error for a generation that cannot follow, because some partitions of the one before it are lost."""
    return GenerationError(
        f"{job}: generation {newest.generation} is decided and not done: its partitions {listed(lost)} are lost. "
        f"Nothing was written. Run the job with rebuild={newest.generation} again, which completes it or writes it "
        "again; or, if a part of it is in the stream and this job cannot give the rest, say "
        "`pravega ledger resolve --accept`, and run this job again."
    )


def earlier_of(job: WriteJob) -> tuple[CommitRecord, ...]:
    """The records of the generations before the generation of a job."""
    if job.replaces is None or job.replaces.record.incarnation != job.incarnation:
        return ()
    found = job.replaces.record
    if found.generation == job.generation:
        return found.earlier
    return (*found.earlier, found.model_copy(update={"earlier": ()}))


def prepared(
    job: WriteJob,
    written: Sequence[PartitionCommit],
    start: str | None,
    witnessed_at: datetime | None,
    retain: float | None,
    claimant: str | None,
) -> CommitRecord:
    """The record that decides a job, also with the partitions that an earlier attempt has in the stream.

    That attempt has decided about the errors as well. A write with errors, or of mended ones, is remembered forever:
    they count by its record.

    Raises:
        PartialCommitError: an earlier attempt is in the stream in part, and what was written does not complete it.
    """
    partitions, errors = tuple(written), job.errors
    if job.replaces is not None and job.lost is not None:
        partitions = completed(job.replaces.record, job.lost, written)
        errors = job.replaces.record.errors
    return CommitRecord(
        state=CommitState.PREPARED,
        sink=job.sink,
        incarnation=job.incarnation,
        write_id=job.write_id,
        attempt=job.attempt,
        partitions=partitions,
        prepared_at=datetime.now(UTC),
        by=myself(),
        claimant=claimant,
        retain=None if errors is not None and (errors.rows or errors.replays) else retain,
        witnessed_at=witnessed_at,
        start=start,
        errors=errors,
        earlier=earlier_of(job),
    )
