"""What a new attempt of a write adds to one that is in the stream in part. No I/O.

A lost partition is taken from the new attempt if it holds the same rows: the same number, bytes and checksum over
their hashes in the order of the rows. Then the stream has in the end what the first attempt would have written,
whatever the other partitions of the new one hold.
"""

from collections.abc import Iterable, Mapping

from aiopravega.errors import PartialCommitError
from aiopravega.ledger.commits.commit_record import CommitRecord, PartitionCommit
from aiopravega.ledger.commits.verdict import describe_difference


def completed(
    record: CommitRecord, lost: frozenset[int], offered: Iterable[PartitionCommit]
) -> tuple[PartitionCommit, ...]:
    """The partitions of a record with the lost ones taken from those that a new attempt offers.

    Raises:
        PartialCommitError: a lost partition is not among them, or holds other events.
    """
    found = {part.partition: part for part in offered}
    differences = [
        difference
        for part in record.partitions
        if part.partition in lost and (difference := _difference(part, found)) is not None
    ]
    if differences:
        raise PartialCommitError(describe_difference(record, lost, differences))
    return tuple(found[part.partition] if part.partition in lost else part for part in record.partitions)


def _difference(wanted: PartitionCommit, found: Mapping[int, PartitionCommit]) -> str | None:
    part = found.get(wanted.partition)
    if part is None:
        return f"partition {wanted.partition} had {wanted.events:,} events and is empty now"
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
