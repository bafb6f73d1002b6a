"""Notes about open transactions of an attempt, in the ledger's table: so that others can keep them open.

A note says which transaction, how long a lease it was given and when. It is nobody's: whoever finds it due takes it by
a conditional update, and renews the lease. Which ones are due, and when notes are made, is
`aiopravega.ledger.commits.keeper`'s.
"""

import hashlib
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from aiopravega.errors import LedgerError, TableConflictError
from aiopravega.ledger.commits.commit_record import KEY_LENGTH
from aiopravega.ledger.stored_json import has_version, object_in
from aiopravega.tables import KeyValueTable, TableEntry

# Keys are as long as those of records, which are hashes: one in 2**64 of these begins like this, or comes after it, so
# that a look at the notes does not pass over records.
_PREFIX: Final = b"\xffleases\xff"
_TXN_BYTES: Final = 8
# The entry that tells a ledger from all others. Its key comes before those of notes.
IDENTITY_KEY: Final = b"\xffidentity\xff".ljust(KEY_LENGTH, b"\0")
# No key of a record comes after it.
NOTES_FROM: Final = _PREFIX + b"\0" * (KEY_LENGTH - len(_PREFIX))
# A transaction lives for a day at most (`controller.transaction.execution.timeBound.days`); clocks may differ.
_LONGEST_LIFE: Final = 2 * 24 * 3600.0


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    txn_id: UUID
    lease: float = Field(allow_inf_nan=False)
    held_at: float = Field(allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class LeaseNote:
    """A transaction that was given a lease of `lease` seconds at the time `held_at`, by the clock of whoever did it.

    `version` is what a conditional update has to meet.
    """

    txn_id: UUID
    lease: float
    held_at: float
    key: bytes
    version: int


class LeaseNotes:
    """The notes of one attempt of a write."""

    def __init__(self, table: KeyValueTable, attempt: UUID) -> None:
        self._table = table
        self._start = _PREFIX + attempt.bytes

    async def note(self, txn_id: UUID, lease: float, held_at: float) -> None:
        """Note a transaction."""
        await self._table.put(self._key(txn_id), _value(txn_id, lease, held_at))

    async def all(self) -> list[LeaseNote]:
        """All notes of the attempt."""
        first, last = self._start + b"\0" * _TXN_BYTES, self._start + b"\xff" * _TXN_BYTES
        found = []
        async for entry in self._table.entries(first, last):
            value = _read(entry)
            found.append(LeaseNote(value.txn_id, value.lease, value.held_at, entry.key, entry.version))
        return found

    async def take(self, note: LeaseNote) -> bool:
        """Take it on oneself to renew a lease now; False: somebody else has just done it, or the note is gone."""
        try:
            await self._table.replace(note.key, _value(note.txn_id, note.lease, time.time()), note.version)
        except TableConflictError:
            return False
        return True

    async def remove(self, notes: Iterable[LeaseNote]) -> None:
        """Remove notes."""
        await self._table.remove_all([note.key for note in notes])

    def _key(self, txn_id: UUID) -> bytes:
        return self._start + hashlib.sha256(txn_id.bytes).digest()[:_TXN_BYTES]


def is_record(key: bytes) -> bool:
    """Whether a key of the ledger's table is that of a write's record."""
    return key != IDENTITY_KEY and not is_note(key)


def is_note(key: bytes) -> bool:
    """Whether a key of the ledger's table is that of a note."""
    return key.startswith(_PREFIX)


def is_dead(entry: TableEntry, now: datetime) -> bool:
    """Whether a note is so old that its transaction has ended."""
    return now.timestamp() - _read(entry).held_at > _LONGEST_LIFE


def _read(entry: TableEntry) -> _Value:
    try:
        found = object_in(entry.value)
        if found is None or not has_version(found, 1):
            raise ValueError(f"{entry.value[:80]!r} is not one JSON object of version 1")
        return _Value.model_validate_json(entry.value, strict=True)
    except ValueError as error:  # pydantic's are
        raise LedgerError(f"not a note of a lease that this release reads: {error}") from None


def _value(txn_id: UUID, lease: float, held_at: float) -> bytes:
    return _Value(txn_id=txn_id, lease=lease, held_at=held_at).model_dump_json().encode()
