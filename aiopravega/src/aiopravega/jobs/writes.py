"""Writes that a job does exactly once: the commit ledger says whether one is done, before Spark is started and after.

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
    """The record of a write that is done, or None; what an earlier try decided and did not finish is finished here.

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
    try:
        found = await protocol.begin(stream, write_id, uuid4())
    except NotFoundError:
        return None  # no stream or no ledger yet: the write makes them
    return found if isinstance(found, CommitRecord) else None


def write_once(
    stream: StreamName, write_id: str, find: Callable[[], CommitRecord | None], write: Callable[[], None]
) -> Written:
    """Write, unless it is done.

    Args:
        stream: that is written to.
        write_id: the name of the write.
        find: the record of the write if it is done, such as `finished_write` gives it.
        write: writes, and is called at most once.

    Raises:
        LedgerError: `write` has returned, and there is no record of it.
    """
    began = time.monotonic()
    record, by_this_try = find(), False
    if record is None:
        write()
        record, by_this_try = find(), True
    if record is None:
        raise LedgerError(
            f"Spark has written to {stream}, but the commit ledger has no record of write {write_id!r}: name the "
            "ledger by the job's own commit_ledger too"
        )
    return Written(record, by_this_try, time.monotonic() - began)
