"""A write id that is used again: for the same rows, which are not written twice, or for others. No I/O."""

from aiopravega.errors import WriteIdReusedError
from aiopravega.ledger.commits.commit_record import CommitRecord
from aiopravega.ledger.commits.fingerprint import Fingerprint

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
        f"this run has {_difference(record, rows)}. {_ways_out(record)}"
    )


def refuse_used(record: CommitRecord) -> WriteIdReusedError:
    """The error for who wants none of this: the write id is used, whatever the rows are."""
    return WriteIdReusedError(
        f"{record.name} is done already: {record.amount}, {_origin(record)}. With on_written=fail no write id is "
        f"used twice, whatever the rows are. {_ways_out(record)}"
    )


def _ways_out(record: CommitRecord) -> str:
    return _WAYS_OUT.format(record.generation + 1)


def _difference(record: CommitRecord, rows: Fingerprint) -> str:
    same = (record.total_events, record.total_bytes) == (rows.events, rows.bytes)
    return rows.amount + (", which differ in their routing keys or contents" if same else "")


def _origin(record: CommitRecord) -> str:
    by = f" by {record.by}" if record.by else ""
    return f"written at {record.prepared_at.isoformat(timespec='seconds')}{by} (attempt {record.attempt})"
