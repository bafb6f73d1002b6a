"""One attempt of one write, as its driver hands it to its tasks, and the rules of its generation. No I/O.

A generation is rows that are written again on purpose under the same write id; the old ones stay. It is written when
the one before it is done. Rows that are done are never written again, whatever is newer. The rules are in
docs/explanation/exactly-once.md.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Self
from uuid import UUID

from aiopravega.errors import GenerationError, PartialCommitError, SinksError, WriteClosedError
from aiopravega.ledger.commits.contents import CommitState, OtherSink, PartitionCommit, TableSink, WriteErrors
from aiopravega.ledger.commits.keys import described
from aiopravega.ledger.commits.record import CommitRecord, StoredCommit
from aiopravega.ledger.commits.same_rows import completed
from aiopravega.ledger.commits.verdict import listed
from aiopravega.ledger.stored_json import myself
from aiopravega.names import StreamName


@dataclass(frozen=True, slots=True)
class JoinedStream:
    """A further stream of a write into several, what the ledger has for it under the write id, and its errors."""

    stream: StreamName
    incarnation: int
    replaces: StoredCommit | None = None
    errors: WriteErrors | None = None

    @property
    def known(self) -> CommitRecord | None:
        """The record that the ledger has, if it is about this stream, and not about a deleted one of its name."""
        found = None if self.replaces is None else self.replaces.record
        return found if found is not None and found.incarnation == self.incarnation else None


@dataclass(frozen=True, slots=True)
class WriteJob:
    """One attempt of one write.

    `done` is the record of the write if it is done already: then nothing is to be written. `replaces` is the record of
    an earlier attempt that this one may replace. `lost` are the partitions that are missing from that one, if the
    others are in the stream already; None: all are to be written. `begun_at` is the time of the process that began it,
    in seconds. `generation` is 1 for the first rows under the write id; the next one replaces the record of the one
    before it, and keeps that. `errors` are the errors of the first stream's source, which are in their stream before it
    is committed.
    `joined` are the further streams of a write into several; `sink` is the first one by its name. `tables` get their
    rows after it is committed.
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
    joined: tuple[JoinedStream, ...] = ()
    tables: tuple[TableSink, ...] = ()

    @property
    def streams(self) -> tuple[StreamName, ...]:
        """The streams of the write, in the order of their names."""
        return (self.sink, *(one.stream for one in self.joined))

    def stream_of(self, part: PartitionCommit) -> StreamName:
        """The stream of a partition."""
        return part.stream or self.sink

    def needs(self, partition: int) -> bool:
        """True if a partition is to be written: it is not in the stream already."""
        return self.done is None and (self.lost is None or partition in self.lost)

    def with_errors(self, found: Mapping[StreamName, WriteErrors]) -> Self:
        """The job with the errors of the sources of its streams."""
        joined = tuple(replace(one, errors=found.get(one.stream)) for one in self.joined)
        return replace(self, errors=found.get(self.sink), joined=joined)

    def with_tables(self, tables: Sequence[TableSink]) -> Self:
        """The job with the tables that get rows of the write.

        Raises:
            SinksError: under the write id, rows went to other tables.
        """
        known = self.done or (None if self.lost is None or self.replaces is None else self.replaces.record)
        if known is not None and _places(known.tables) != _places(tables):
            before, now = (" and ".join(sorted(_places(each))) or "no table" for each in (known.tables, tables))
            raise _other_sinks(self, f"its rows went to {before} as well, and are to go to {now}")
        return replace(self, tables=tuple(tables))

    def when_done(self, record: CommitRecord) -> Self:
        """The job of a write that is done, by this record: it has nothing to write."""
        return replace(self, replaces=None, done=record)

    @property
    def age(self) -> float:
        """Seconds since it was begun, if this machine's clock agrees with the driver's."""
        return time.time() - self.begun_at

    def __str__(self) -> str:
        return described(self.streams, self.write_id, self.generation)


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
    for found in (None if job.replaces is None else job.replaces.record, *(one.known for one in job.joined)):
        if found is not None and found.state is CommitState.CLOSED and job.generation >= found.generation:
            raise WriteClosedError(
                f"{job} is closed since {found.prepared_at.isoformat(timespec='seconds')}, by {found.by}: another run "
                "has taken over the range that it was for. Nothing was written. Run the whole task again: it finds the "
                "range that it has now, and opens the write"
            )


def check_streams(job: WriteJob) -> None:
    """Check that the ledger knows a write of these streams only under the write id, and that all are there as then.

    Raises:
        SinksError: under the write id, other streams were written to.
        PartialCommitError: one of the streams was deleted and made again, and another one still has its part.
    """
    found = None if job.replaces is None else job.replaces.record
    known = found if found is not None and found.incarnation == job.incarnation else None
    for record in (known, *(one.known for one in job.joined)):
        if record is None or record.main == job.sink != record.sink or record.state is CommitState.REOPENED:
            continue
        if record.main is not None:
            raise _other_sinks(job, f"{record.sink} has a part of it, and {record.main} has its record")
        if record.sink != job.sink or record.streams != job.streams:
            raise _other_sinks(job, f"it was written to {' and '.join(map(str, record.streams))}")
    if found is None or not found.others:
        return
    there = {job.sink: job.incarnation} | {one.stream: one.incarnation for one in job.joined}
    made_again = [stream for stream, number in found.incarnations.items() if there.get(stream) != number]
    kept = [str(stream) for stream in found.streams if stream in there and stream not in made_again]
    if made_again and kept:
        raise PartialCommitError(
            f"{job}: {' and '.join(map(str, made_again))} was deleted and made again since, and {' and '.join(kept)} "
            "still has its part. Nothing was written, because that would be there twice. Write these rows under "
            "another write id to the stream that lacks them; or say `pravega ledger resolve --forget`, and run it again"
        )


def _places(tables: Sequence[TableSink]) -> set[str]:
    """The tables with the intervals whose rows they get: under other names a table would take the same rows again."""
    return {f"{each.target} for {each.interval!r} of {each.consumer!r}" for each in tables}


def _other_sinks(job: WriteJob, what: str) -> SinksError:
    return SinksError(
        f"{job}: a write with this id is known, and {what}. Nothing was written: the sinks of a write are decided "
        "together, and stay the same under its id. Give the write another id; or, if what is there is to be written "
        "again, remove it downstream and say `pravega ledger resolve --forget`"
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
    starts: Sequence[str | None],
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
    partitions, errors = tuple(written), [job.errors, *(one.errors for one in job.joined)]
    if job.replaces is not None and job.lost is not None:
        found = job.replaces.record
        partitions = completed(found, job.lost, written)
        errors = [found.errors, *(other.errors for other in found.others)]
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
        retain=None if any(each is not None and (each.rows or each.replays) for each in errors) else retain,
        witnessed_at=witnessed_at,
        start=starts[0],
        errors=errors[0],
        tables=job.tables,
        earlier=earlier_of(job),
        others=tuple(
            OtherSink(stream=one.stream, incarnation=one.incarnation, start=start, errors=its)
            for one, start, its in zip(job.joined, starts[1:], errors[1:], strict=True)
        ),
    )


def part_records(job: WriteJob) -> list[tuple[CommitRecord, StoredCommit | None]]:
    """For each further stream the record that says whose record decides the write, and what it replaces."""
    return [
        (
            CommitRecord(
                state=CommitState.PART,
                sink=one.stream,
                incarnation=one.incarnation,
                write_id=job.write_id,
                attempt=job.attempt,
                partitions=(),
                prepared_at=datetime.now(UTC),
                by=myself(),
                main=job.sink,
            ),
            one.replaces,
        )
        for one in job.joined
    ]
