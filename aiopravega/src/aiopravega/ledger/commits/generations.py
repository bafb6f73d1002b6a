"""Generations of a write: rows that are written again on purpose under the same write id; the old ones stay. No I/O.

A generation is written when the one before it is done. What is done is never written again, whatever is newer. The
rules are in docs/explanation/exactly-once.md.
"""

from aiopravega.errors import GenerationError
from aiopravega.ledger.commits.commit_record import CommitRecord
from aiopravega.ledger.commits.job import WriteJob
from aiopravega.ledger.commits.verdict import listed


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
    """Check that a generation is not later than the one after the newest.

    Raises:
        GenerationError: it is.
    """
    if job.generation > newest.generation + 1:
        raise GenerationError(
            f"{job}: the newest generation is {newest.generation} ({newest.state.value}), so the next one is "
            f"rebuild={newest.generation + 1}. Nothing was written."
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
    """The records of the generations before that of a job."""
    if job.replaces is None or job.replaces.record.incarnation != job.incarnation:
        return ()
    found = job.replaces.record
    if found.generation == job.generation:
        return found.earlier
    return (*found.earlier, found.model_copy(update={"earlier": ()}))
