"""Cleanup of a commit ledger: transactions that an attempt has left, and records that may be forgotten.

A failure to clean up after a write is logged, not raised: a transaction that is left open ends with its lease.

A clock that is ahead must not remove what is still needed. Machines that write have clocks, and so have the segment
stores. A write that has rows brings a witness: a time that the clock of a segment store has passed. A record expires
when both the clock of this machine and a witness are after its time: two clocks would have to be wrong to remove it
too early.
"""

import logging
from collections.abc import AsyncIterable, Collection, Mapping
from datetime import UTC, datetime
from uuid import UUID

from aiopravega.control import Controller
from aiopravega.errors import PravegaError
from aiopravega.ledger.commits.keys import record_key
from aiopravega.ledger.commits.record import CommitRecord, StoredCommit
from aiopravega.ledger.commits.table import CommitTable
from aiopravega.ledger.commits.transactions import TransactionSet
from aiopravega.names import StreamName

logger = logging.getLogger(__name__)


async def abort_leftovers(
    controller: Controller,
    table: CommitTable,
    sink: StreamName,
    attempt: UUID,
    surplus: Mapping[UUID, StreamName] | None = None,
    kept: Collection[UUID] = (),
) -> None:
    """Abort the surplus and all noted transactions of an attempt that are not kept, and remove its notes.

    Tasks that ran twice leave such transactions, and their ids only in the notes. `surplus` has the stream of each.
    """
    notes = table.lease_notes(attempt)
    unwanted = dict(surplus or {})
    try:
        keys = await notes.keys()
        known = {notes.key(txn_id) for txn_id in (*unwanted, *kept)}
        others = await notes.read([key for key in keys if key not in known])
        unwanted |= {note.txn_id: note.stream or sink for note in others}
        unwanted = {txn_id: stream for txn_id, stream in unwanted.items() if txn_id not in kept}
        streams = dict(enumerate(unwanted.values()))
        await TransactionSet(controller, sink, dict(enumerate(unwanted)), streams).abort()
        await notes.remove(keys)
    except PravegaError as error:
        logger.warning("transactions of attempt %s on %s are left to their leases: %s", attempt, sink, error)


async def sweep(table: CommitTable, record: CommitRecord) -> None:
    """Remove some old records after a write."""
    try:
        if record.witnessed_at is not None:
            now = certain_time(record.witnessed_at)
            await table.sweeper.after(record_key(record.sink, record.write_id), now)
    except PravegaError as error:
        logger.warning("could not remove old records from the ledger: %s", error)


def certain_time(witnessed_at: datetime) -> datetime:
    """The earlier one of this machine's time and a time that the servers have passed."""
    return min(datetime.now(UTC), witnessed_at)


async def expired(records: AsyncIterable[StoredCommit]) -> list[StoredCommit]:
    """The records of a ledger that may be forgotten, by the latest witness among all of its records."""
    now, witnessed_at = datetime.now(UTC), None
    found = []
    async for stored in records:
        at, expires_at = stored.record.witnessed_at, stored.record.expires_at
        if at is not None and (witnessed_at is None or at > witnessed_at):
            witnessed_at = at
        if expires_at is not None and expires_at < now:
            found.append((expires_at, stored))
    if witnessed_at is None:
        return []
    certain = certain_time(witnessed_at)
    return [stored for expires_at, stored in found if expires_at < certain]
