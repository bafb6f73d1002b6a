"""What is left to do when an attempt of a write is over: none of it may stay open, and old records may go.

A failure here is no failure of the write: what is left open ends with its lease.
"""

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING
from uuid import UUID

from aiopravega.control import Controller
from aiopravega.errors import PravegaError
from aiopravega.ledger.commits.commit_record import CommitRecord, record_key
from aiopravega.ledger.commits.expiry import certain_time
from aiopravega.ledger.commits.transactions import TransactionSet
from aiopravega.names import StreamName

if TYPE_CHECKING:
    from aiopravega.ledger.commits.commit_ledger import CommitLedger

logger = logging.getLogger(__name__)


async def settle(
    controller: Controller,
    ledger: "CommitLedger",
    sink: StreamName,
    attempt: UUID,
    surplus: Collection[UUID] = (),
    kept: Collection[UUID] = (),
) -> None:
    """Abort what an attempt has in transactions and is not wanted, and drop the notes that keep them open.

    Tasks that ran twice leave such transactions, and their ids only in the notes.
    """
    notes = ledger.notes(attempt)
    try:
        keys = await notes.keys()
        known = {notes.key(txn_id) for txn_id in (*surplus, *kept)}
        others = await notes.read([key for key in keys if key not in known])
        unwanted = {*surplus, *(note.txn_id for note in others)}.difference(kept)
        await TransactionSet(controller, sink, dict(enumerate(unwanted))).abort()
        await notes.remove(keys)
    except PravegaError as error:
        logger.warning("transactions of attempt %s on %s are left to their leases: %s", attempt, sink, error)


async def sweep(ledger: "CommitLedger", record: CommitRecord) -> None:
    """Remove some old records after a write."""
    try:
        if record.witnessed_at is not None:
            now = certain_time(record.witnessed_at)
            await ledger.sweeper.after(record_key(record.sink, record.write_id), now)
    except PravegaError as error:
        logger.warning("could not remove old records from the ledger: %s", error)
