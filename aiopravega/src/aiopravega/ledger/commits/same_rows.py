"""Comparison of the rows of a run with the rows that the ledger knows under the same write id. No I/O.

The rows of a write that is done are not written twice; other rows under its write id are refused.

A write may be in the stream in part. A lost partition is then taken from the new attempt if it holds the same rows: the
same number, bytes and checksum over their hashes in the order of the rows. Then the stream has in the end what the
first attempt would have written, whatever the other partitions of the new one hold.
"""

from collections.abc import Iterable, Mapping

from aiopravega.errors import PartialCommitError, WriteIdReusedError
from aiopravega.ledger.commits.contents import PartitionCommit, WriteErrors
from aiopravega.ledger.commits.fingerprint import Fingerprint
from aiopravega.ledger.commits.record import CommitRecord
from aiopravega.ledger.commits.verdict import describe_difference

_WAYS_OUT = (
    "Nothing was written now. If these rows are to be in the stream as well, give them another write_id. If they are "
    "to replace the first ones, write them as the next generation, rebuild={} (not in a streaming query), which "
    "readers tell from the first one by its cuts. If the job's rows differ from run to run by nature (random numbers, "
    "now()), and the first ones are to stand, set on_written=skip."
)


def check_same(record: CommitRecord, rows: Fingerprint) -> str:
    """Compare rows with those that were written first under the same write id; returns what was compared, in words.

    Raises:
        WriteIdReusedError: the rows differ.
    """
    if record.resolved:
        return "as a person has decided; the rows of this run were not compared"
    first = record.fingerprint
    if first is None:
        if (rows.events, rows.bytes) == (record.total_events, record.total_bytes):
            return "with as many events and bytes; an older release wrote it, so that no more can be compared"
    elif rows == first:
        return "with the same rows"
    raise WriteIdReusedError(
        f"{record.name} is done already, with other rows: {record.amount}, {_origin(record)}; "
        f"this run has {_rows_difference(record, rows)}. {_ways_out(record)}"
    )


def check_same_errors(record: CommitRecord, errors: WriteErrors | None) -> None:
    """Compare the errors of a run with those that the record of the finished write names.

    Raises:
        WriteIdReusedError: they are of other events.
    """
    names = [None if each is None else each.name for each in (record.errors, errors)]
    if record.resolved or names[0] == names[1]:
        return
    counts = [0 if each is None else each.rows for each in (record.errors, errors)]
    raise WriteIdReusedError(
        f"{record.name} is done already, with {counts[0]} errors, {_origin(record)}; this run has {counts[1]}, of "
        f"other events. {_ways_out(record)}"
    )


def refuse_used(record: CommitRecord) -> WriteIdReusedError:
    """The error for `on_written=fail`: the write id is used, whatever the rows are."""
    return WriteIdReusedError(
        f"{record.name} is done already: {record.amount}, {_origin(record)}. With on_written=fail no write id is "
        f"used twice, whatever the rows are. {_ways_out(record)}"
    )


def _ways_out(record: CommitRecord) -> str:
    return _WAYS_OUT.format(record.generation + 1)


def _rows_difference(record: CommitRecord, rows: Fingerprint) -> str:
    same = (record.total_events, record.total_bytes) == (rows.events, rows.bytes)
    return rows.amount + (", which differ in their routing keys or contents" if same else "")


def _origin(record: CommitRecord) -> str:
    by = f" by {record.by}" if record.by else ""
    work = f" for {record.claimant}" if record.claimant else ""
    return f"written at {record.prepared_at.isoformat(timespec='seconds')}{by}{work} (attempt {record.attempt})"


def completed(
    record: CommitRecord, lost: frozenset[int], offered: Iterable[PartitionCommit]
) -> tuple[PartitionCommit, ...]:
    """The partitions of a record; the lost ones are replaced by the same partitions of a new attempt.

    Raises:
        PartialCommitError: a lost partition is not among them, or holds other events.
    """
    found = {part.partition: part for part in offered}
    differences = [
        difference
        for part in record.partitions
        if part.partition in lost and (difference := _partition_difference(part, found)) is not None
    ]
    if differences:
        raise PartialCommitError(describe_difference(record, lost, differences))
    return tuple(found[part.partition] if part.partition in lost else part for part in record.partitions)


def _partition_difference(wanted: PartitionCommit, found: Mapping[int, PartitionCommit]) -> str | None:
    part = found.get(wanted.partition)
    if part is None:
        return f"partition {wanted.partition} had {wanted.events:,} events and is empty now"
    if part.stream != wanted.stream:
        return f"partition {wanted.partition} was in another stream"
    if (part.events, part.bytes) != (wanted.events, wanted.bytes):
        return (
            f"partition {wanted.partition} had {wanted.events:,} events in {wanted.bytes:,} bytes and now has "
            f"{part.events:,} in {part.bytes:,}"
        )
    if wanted.hashes is None:
        return f"partition {wanted.partition} was written by an older release, whose checksums are made in another way"
    if part.checksum != wanted.checksum:
        return f"partition {wanted.partition} has other rows, or the same in another order"
    return None
