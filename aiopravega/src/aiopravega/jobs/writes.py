"""Writes that a job does exactly once: the commit ledger says what was done before Spark is started, and after.

How the rows get into the stream is the caller's business.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from aiopravega.client import PravegaClient
from aiopravega.errors import LedgerError, NotFoundError
from aiopravega.ledger import CommitProtocol, CommitRecord, ledger_name
from aiopravega.names import StreamName


@dataclass(frozen=True, slots=True)
class Written:
    """What a stream holds of a write, whether this try has written it, and how many seconds the try took."""

    record: CommitRecord
    by_this_try: bool
    seconds: float


async def finished_write(
    client: PravegaClient, stream: StreamName, write_id: str, ledger: str | None = None
) -> CommitRecord | None:
    """The record of a write that is done, or None; what any driver decided and did not finish is finished here.

    Args:
        client: a connected client.
        stream: that is written to.
        write_id: the name of the write.
        ledger: `scope/table` of the commit ledger; None: the one in the stream's scope.

    Raises:
        PartialCommitError: an earlier try is in the stream in part, and the rest of it is lost.
        ConfigurationError: `ledger` is not a name.
        PravegaError: the cluster cannot be reached.
    """
    protocol = CommitProtocol(client.controller, client.commit_ledger(*ledger_name(ledger, stream.scope)))
    await protocol.finish_unfinished(stream)
    try:
        found = await protocol.begin(stream, write_id, uuid4())
    except NotFoundError:
        return None  # no stream or no ledger yet: the write makes them
    return found if isinstance(found, CommitRecord) else None


def write_once(
    stream: StreamName,
    write_id: str,
    find: Callable[[], CommitRecord | None],
    write: Callable[[CommitRecord | None], None],
    *,
    retried: bool,
) -> Written:
    """Write, and if it is done already, have the rows compared with those that were written.

    Only a further try of the same run, which follows one that may have died after its write, takes what is done as its
    own without a look at the rows: they are the same work. A run that was cleared or is executed again is not: its code
    or its source may have changed.

    Args:
        stream: that is written to.
        write_id: the name of the write.
        find: the record of the write if it is done, such as `finished_write` gives it.
        write: writes, or compares with the record that it is given, as Spark's data source does by default; called at
            most once.
        retried: whether this is a further try of the same run, after one that failed.

    Raises:
        LedgerError: `write` has returned, and there is no record of it.
        WriteIdReusedError: it is done already with other rows.
    """
    began = time.monotonic()
    before = find()
    if before is not None and retried:
        return Written(before, False, time.monotonic() - began)
    write(before)
    record = find()
    by_this_try = before is None or record is None or record.attempt != before.attempt
    if record is None:
        raise LedgerError(
            f"Spark has written to {stream}, but the commit ledger has no record of write {write_id!r}: name the "
            "ledger by the job's own commit_ledger too"
        )
    return Written(record, by_this_try, time.monotonic() - began)
