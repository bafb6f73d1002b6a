"""Removing old records from a ledger, a few at a time, so that no commit has to read all of it.

One write in eight reads some records, from its own key on. Keys are hashes, so these differ each time, and all of them
come in turn: five are read for each one that is added. A ledger so grows to little more than what is to be remembered,
and the cost of a sweep does not depend on its size. Each record says how long it is to be remembered, and no write
removes it sooner. Records that are not done are never removed.
"""

import logging
from datetime import datetime
from typing import Final

from aiopravega.bounded import each
from aiopravega.errors import TableConflictError
from aiopravega.ledger.commits.keys import (
    NOTE_PREFIX,
    NOTES_FROM,
    PENDING_FROM,
    PENDING_PREFIX,
    is_dead,
    is_record,
    record_key,
)
from aiopravega.ledger.commits.leases import is_dead_note
from aiopravega.ledger.commits.pending import is_dead_pending
from aiopravega.ledger.commits.record import CommitRecord
from aiopravega.tables import KeyValueTable, TableEntry

logger = logging.getLogger(__name__)

# One write in so many reads so many records to find old ones.
_ONE_IN: Final = 8
_LOOKED_AT: Final = 40
_AT_ONCE: Final = 8


class Sweeper:
    """Removes old entries from a ledger's table."""

    def __init__(self, table: KeyValueTable) -> None:
        self._table = table

    async def after(self, key: bytes, now: datetime) -> int:
        """Sweep after a write with this key, if it is its turn; returns how many entries were removed."""
        return 0 if key[-1] % _ONE_IN else await self.sweep(key, now)

    async def sweep(self, key: bytes, now: datetime) -> int:
        """Remove records that may be forgotten, among some after `key`, and dead notes of leases and of pending writes.

        `now` is a time that has passed for certain; see `aiopravega.ledger.commits.cleanup`.

        Returns:
            How many entries were removed.
        """
        keys = await self._keys(key)
        if len(keys) < _LOOKED_AT:  # the end of the table: continue at its beginning
            keys += [other for other in await self._keys(b"") if other < key][: _LOOKED_AT - len(keys)]
        keys += [*await self._keys(NOTES_FROM), *await self._keys(PENDING_FROM)]
        found = await self._table.get_all(list(dict.fromkeys(keys)))
        old = [entry for entry in found if _is_old(entry, now) or await self._is_left(entry, now)]
        removed = sum(await each(self._remove, old, _AT_ONCE))
        if removed:
            logger.info("%d old entries of the ledger were removed", removed)
        return removed

    async def _keys(self, first: bytes) -> list[bytes]:
        async for keys in self._table.key_pages(first):
            return keys[:_LOOKED_AT]
        return []

    async def _is_left(self, entry: TableEntry, now: datetime) -> bool:
        """True if an entry says of a stream that another one's record decides a write, which has no such record."""
        part = CommitRecord.from_json(entry.value) if is_record(entry.key) else None
        if part is None or part.main is None or not is_dead(part.prepared_at.timestamp(), now):
            return False
        owner = await self._table.get(record_key(part.main, part.write_id))
        return owner is None or part.sink not in CommitRecord.from_json(owner.value).streams

    async def _remove(self, entry: TableEntry) -> bool:
        try:
            await self._table.remove(entry.key, entry.version)
        except TableConflictError:  # somebody writes it again
            return False
        return True


def _is_old(entry: TableEntry, now: datetime) -> bool:
    if entry.key.startswith(NOTE_PREFIX):
        return is_dead_note(entry, now)
    if entry.key.startswith(PENDING_PREFIX):
        return is_dead_pending(entry, now)
    if not is_record(entry.key):
        return False
    expires_at = CommitRecord.from_json(entry.value).expires_at
    return expires_at is not None and expires_at < now
