"""The driver's part of a write: make what is missing, read the ledger, commit or abort.

Spark calls these steps in processes of their own, so nothing is kept between them but what is passed along.
"""

import logging
from collections.abc import Sequence
from uuid import UUID

from aiopravega.blocking import CommitProtocol, LeaseKeeper, PravegaClient
from aiopravega.errors import ScopeNotFoundError, StreamNotFoundError, StreamSealedError
from aiopravega.ledger import CommitRecord, Fingerprint, PartitionCommit, WriteJob, check_same, refuse_used
from pyspark_pravega.write.partition import Partition
from pyspark_pravega.write.report import report
from pyspark_pravega.write.write_options import OnWritten, WriteOptions

logger = logging.getLogger(__name__)


def prepare_stream(client: PravegaClient, options: WriteOptions) -> None:
    """Make scope and stream if that is allowed.

    Raises:
        ScopeNotFoundError: there is no scope, and it may not be made.
        StreamNotFoundError: there is no stream, and it may not be made.
    """
    stream = options.stream
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

    It is for a write that has something to write: one that is done already is done, though the stream was sealed since.

    Raises:
        StreamSealedError: the stream is sealed.
    """
    stream = options.stream
    if client.is_sealed(stream):
        raise StreamSealedError(f"{stream} is sealed: it takes no more events. Write to another stream.")


def prepare(client: PravegaClient, options: WriteOptions) -> str | None:
    """Make what a write needs and may make: scope, stream and, if it is to happen once, the ledger.

    What other jobs have decided of the stream and left is finished first.

    Returns:
        What the user is to be warned of, once for each job: the stream cannot be marked with its ledger.

    Raises:
        NotFoundError: something is missing and may not be made.
        WrongLedgerError: another ledger remembers the stream's writes, or this one was emptied since.
    """
    prepare_stream(client, options)
    if options.exactly_once:
        ledger = client.commit_ledger(options.ledger_scope, options.ledger_table)
        ledger.create()
        warning = ledger.mark(options.stream)
        _protocol(client, options).finish_unfinished(options.stream)
        return warning
    return None


def begin(client: PravegaClient, options: WriteOptions, attempt: UUID) -> WriteJob:
    """Begin a write, or find that it is done (`WriteJob.done`). A write that an earlier attempt decided is finished.

    Raises:
        PartialCommitError: an earlier attempt is in the stream in part, and the rest of it is lost.
        GenerationError: the generation cannot follow: the one before it is not done, or not known.
        WriteIdReusedError: it is done, and the options take no write id a second time.
    """
    job = _protocol(client, options).begin(options.stream, options.write_id, attempt, options.rebuild)
    if job.done is not None and options.on_written is OnWritten.FAIL:
        raise refuse_used(job.done)
    return job


def already_written(options: WriteOptions, record: CommitRecord, partitions: Sequence[Partition]) -> None:
    """Say in the log that a write was done before, after its rows were compared, if they are to be.

    Raises:
        WriteIdReusedError: it was done with other rows.
    """
    compared = "on_written=skip: the rows of this run were not compared"
    if options.on_written is not OnWritten.SKIP:
        compared = check_same(record, _all_rows(partitions))
    logger.warning(
        "%s is already written: %s, by attempt %s (%s); nothing is written again",
        record.name,
        record.amount,
        record.attempt,
        compared,
    )


def keeper(client: PravegaClient, options: WriteOptions, job: WriteJob) -> LeaseKeeper:
    """What keeps the transactions of a job open; every task uses it while it runs."""
    return client.commit_ledger(options.ledger_scope, options.ledger_table).keeper(job.sink, job.attempt)


def commit(
    client: PravegaClient,
    options: WriteOptions,
    job: WriteJob,
    partitions: Sequence[Partition],
) -> None:
    """Decide the write and commit all its transactions.

    `partitions` are those of all tasks, also of those that had nothing to write.

    Raises:
        WriteIdReusedError: it has completed an earlier attempt, whose other partitions hold other rows than now.
        PravegaError: see `CommitProtocol.commit`.
    """
    parts = sorted(parts_of(partitions), key=lambda part: part.partition)
    times = [partition.witnessed_at for partition in partitions if partition.witnessed_at is not None]
    record = _protocol(client, options).commit(job, parts, max(times, default=None))
    if job.lost is not None and options.on_written is not OnWritten.SKIP:
        check_same(record, _all_rows(partitions))
    report(job, record)


def abandon(client: PravegaClient, options: WriteOptions, job: WriteJob, partitions: Sequence[Partition]) -> None:
    """Abort the transactions of a write that failed, unless it is decided."""
    _protocol(client, options).abandon(job, [part.txn_id for part in parts_of(partitions)])


def parts_of(partitions: Sequence[Partition]) -> list[PartitionCommit]:
    """Those that have a transaction."""
    return [partition.part for partition in partitions if partition.part is not None]


def _all_rows(partitions: Sequence[Partition]) -> Fingerprint:
    return sum((partition.rows for partition in partitions), Fingerprint())


def _protocol(client: PravegaClient, options: WriteOptions) -> CommitProtocol:
    ledger = client.commit_ledger(options.ledger_scope, options.ledger_table)
    if options.wait_visible:
        return ledger.protocol(poll=options.poll, retain=options.ledger_retain)
    return ledger.protocol(visible_within=None, retain=options.ledger_retain)
