"""The driver's part of a write: make missing streams, read the ledger, commit or abort, note the event time.

Spark calls each step in a separate process: they share no state but the values that are passed along.
"""

import logging
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

from aiopravega.blocking import CommitProtocol, LeaseKeeper, PravegaClient
from aiopravega.errors import PravegaError, ScopeNotFoundError, StreamNotFoundError, StreamSealedError
from aiopravega.ledger import (
    CommitRecord,
    Fingerprint,
    PartitionCommit,
    WriteJob,
    check_same,
    check_same_errors,
    refuse_used,
)
from aiopravega.names import StreamName
from pyspark_pravega.write.partition import PartitionResult
from pyspark_pravega.write.row_errors import errors_of
from pyspark_pravega.write.write_options import OnWritten, WriteOptions

if TYPE_CHECKING:
    from pravega_jobs.landing.write_errors import ErrorsOfWrite

logger = logging.getLogger(__name__)
# It gets a handler where no logging is set up; see `_log_speed`.
_speeds = logging.getLogger(f"{__name__}.speeds")

_MEGABYTE: Final = 1_000_000
_MILLISECOND: Final = 1_000_000  # nanoseconds


def prepare_stream(client: PravegaClient, options: WriteOptions, stream: StreamName) -> None:
    """Make a stream and its scope if the options allow it.

    Raises:
        ScopeNotFoundError: the scope is missing, and may not be made.
        StreamNotFoundError: the stream is missing, and may not be made.
    """
    if not client.stream_exists(stream):
        if not options.create_stream:
            raise StreamNotFoundError(
                f"there is no stream {stream}, and allow_create_stream is false: create it, or check its name"
            )
        if options.create_scope:
            client.create_scope(stream.scope)
        try:
            client.create_stream(
                stream,
                options.scaling,
                options.retention,
                timestamp_aggregation_timeout=options.patience,
            )
        except ScopeNotFoundError as error:
            raise ScopeNotFoundError(
                f"there is no scope {stream.scope!r}, and allow_create_scope is false: create it, or check its name"
            ) from error


def check_open(client: PravegaClient, options: WriteOptions) -> None:
    """Check that the stream takes events.

    Call it only for a write that has rows to write: a write that is done stays done if the stream was sealed since.

    Raises:
        StreamSealedError: the stream is sealed.
    """
    for stream in options.streams:
        if client.is_sealed(stream):
            raise StreamSealedError(f"{stream} is sealed: it takes no more events. Write to another stream.")


def prepare(client: PravegaClient, options: WriteOptions) -> str | None:
    """Make scope and stream if the options allow it, and the ledger for an exactly-once write.

    Writes to the stream that other jobs have decided and left are finished first.

    Returns:
        A warning for the user, once for each job: the stream cannot be marked with its ledger. None: no warning.

    Raises:
        NotFoundError: scope or stream is missing and may not be made; or the errors stream is missing.
        WrongLedgerError: another ledger remembers the stream's writes, or this one was emptied since.
    """
    for stream in options.streams:
        prepare_stream(client, options, stream)
    if options.exactly_once:
        ledger = client.commit_ledger(options.ledger_scope, options.ledger_table)
        ledger.create()
        warnings = [found for stream in options.streams if (found := ledger.mark(stream)) is not None]
        errors = _errors(client, options)
        if errors is not None:
            errors.check()
        protocol = _protocol(client, options)
        for stream in options.streams:
            protocol.finish_unfinished(stream)
        return "\n".join(warnings) or None
    return None


def begin(client: PravegaClient, options: WriteOptions, attempt: UUID) -> WriteJob:
    """Begin a write, or find that it is done (`WriteJob.done`). A write that an earlier attempt decided is finished.

    Raises:
        PartialCommitError: an earlier attempt is in the stream in part, and the rest of it is lost.
        GenerationError: the generation cannot follow: the one before it is not done, or not known.
        WriteIdReusedError: the write is done, and the options do not accept a used write id.
    """
    first, *others = options.streams
    begun = _protocol(client, options).begin(first, options.write_id, attempt, options.rebuild, others)
    if begun.done is not None and options.on_written is OnWritten.FAIL:
        raise refuse_used(begun.done)
    return begun


def already_written(
    client: PravegaClient, options: WriteOptions, record: CommitRecord, partitions: Sequence[PartitionResult]
) -> None:
    """Compare the rows with the ones of a write that was done before, if the options ask for it, and log that.

    Raises:
        WriteIdReusedError: the write was done with other rows or errors.
    """
    compared = "on_written=skip: the rows of this run were not compared"
    if options.on_written is not OnWritten.SKIP:
        compared = _check_all_same(options, record, partitions)
        errors = _errors(client, options, partitions)
        check_same_errors(record, None if errors is None else errors.note())
    logger.warning(
        "%s is already written: %s, by attempt %s (%s); nothing is written again",
        record.name,
        record.amount,
        record.attempt,
        compared,
    )


def keeper(client: PravegaClient, options: WriteOptions, job: WriteJob) -> LeaseKeeper:
    """The keeper that renews the leases of a job's transactions; every task uses one while it runs."""
    return client.commit_ledger(options.ledger_scope, options.ledger_table).keeper(job.sink, job.attempt)


def commit(
    client: PravegaClient,
    options: WriteOptions,
    job: WriteJob,
    partitions: Sequence[PartitionResult],
) -> None:
    """Decide the write and commit all its transactions.

    `partitions` are the results of all tasks, also of tasks without rows.

    Raises:
        WriteIdReusedError: this has completed an earlier attempt, which holds other rows than this one.
        TooManyErrorsError: there are more errors than the options allow.
        PravegaError: see `CommitProtocol.commit`.
    """
    commits = sorted(commits_of(partitions), key=lambda each: each.partition)
    times = [partition.witnessed_at for partition in partitions if partition.witnessed_at is not None]
    errors = _errors(client, options, partitions)
    if errors is not None and job.lost is None:  # an earlier attempt has decided about its errors
        job = replace(job, errors=errors.put(sum(each.events for each in commits)))
    record = _protocol(client, options).commit(job, commits, max(times, default=None))
    if job.lost is not None and options.on_written is not OnWritten.SKIP:
        _check_all_same(options, record, partitions)
    _log_speed(job, record)


def abandon(client: PravegaClient, options: WriteOptions, job: WriteJob, partitions: Sequence[PartitionResult]) -> None:
    """Abort the transactions of a write that failed, unless the write is decided."""
    _protocol(client, options).abandon(job, {each.txn_id: job.stream_of(each) for each in commits_of(partitions)})


def note_time(client: PravegaClient, options: WriteOptions, writer: str, latest: int | None) -> None:
    """Note the latest event time of a write to the stream, less the delay with which rows may come.

    Pravega makes watermarks of the notes of all writers. The rows are in the stream by then, so that a failed note
    only logs a warning: the next note is later than both.

    Args:
        client: a connected client.
        options: of the write.
        writer: name of the writer, if the options give none.
        latest: the latest time of all tasks, in the unit of the stream's times; None: there is nothing to note.
    """
    if latest is None:
        return
    stream, times = options.stream, options.times
    delay = times.delay * _MILLISECOND // times.unit
    try:
        client.note_time(stream, times.writer or writer, latest - delay)
    except PravegaError as error:
        logger.warning("%s: time %d is not noted: %s", stream, latest, error)


def commits_of(partitions: Sequence[PartitionResult]) -> list[PartitionCommit]:
    """The commits of the tasks that have a transaction."""
    return [partition.commit for partition in partitions if partition.commit is not None]


def _check_all_same(options: WriteOptions, record: CommitRecord, partitions: Sequence[PartitionResult]) -> str:
    """Compare the rows of each stream with those that are written; returns how they were compared."""
    first, compared = options.streams[0], ""
    for stream in options.streams:
        rows = sum((each.rows for each in partitions if (each.stream or first) == stream), Fingerprint())
        compared = check_same(record.of(stream), rows)
    return compared


def _errors(
    client: PravegaClient, options: WriteOptions, partitions: Sequence[PartitionResult] = ()
) -> "ErrorsOfWrite | None":
    return errors_of(client, options.errors, (options.stream, options.write_id, options.rebuild), partitions)


def _protocol(client: PravegaClient, options: WriteOptions) -> CommitProtocol:
    ledger = client.commit_ledger(options.ledger_scope, options.ledger_table)
    if options.wait_visible:
        return ledger.protocol(poll=options.poll, retain=options.ledger_retain, claimant=options.claimant)
    return ledger.protocol(visible_within=None, retain=options.ledger_retain, claimant=options.claimant)


def _log_speed(job: WriteJob, record: CommitRecord) -> None:
    """Log the rate of a job, from the time at which its driver began it until its rows can be read.

    Spark's Python processes set up no logging, so that only warnings would reach the driver's log.
    """
    if not logging.getLogger().handlers and not _speeds.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        _speeds.addHandler(handler)
        _speeds.setLevel(logging.INFO)
    seconds = max(job.age, 0.001)
    _speeds.info(
        "%s: %s events in %s bytes by %d tasks in %.2f s (%.1f MB/s, %s events/s)",
        record.name,
        f"{record.total_events:,}",
        f"{record.total_bytes:,}",
        len(record.partitions),
        seconds,
        record.total_bytes / seconds / _MEGABYTE,
        f"{record.total_events / seconds:,.0f}",
    )
