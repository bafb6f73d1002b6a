"""Notes about open transactions of an attempt, in the ledger's table: so that others can keep them open.

A note says which transaction, how long a lease it was given and when. It has no owner: a process that finds it due
takes it by a conditional update, and renews the lease. Which ones are due, and when notes are made, is
`aiopravega.ledger.commits.keeper`'s.
"""

import hashlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from aiopravega.errors import TableConflictError
from aiopravega.ledger.commits.table_keys import NOTE_PREFIX, is_dead
from aiopravega.ledger.stored_json import read_value, with_checksum
from aiopravega.tables import KeyValueTable, TableEntry

_TXN_BYTES: Final = 8
_VERSION: Literal[2] = 2


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[2] = _VERSION
    txn_id: UUID
    lease: float = Field(allow_inf_nan=False)
    held_at: float = Field(allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class LeaseNote:
    """A transaction with a lease of `lease` seconds, given at `held_at` by the clock of the process that renewed it.

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
        self._start = NOTE_PREFIX + attempt.bytes

    async def note(self, txn_id: UUID, lease: float, held_at: float) -> None:
        """Note a transaction."""
        await self._table.put(self.key(txn_id), _value(txn_id, lease, held_at))

    async def all(self) -> list[LeaseNote]:
        """All notes of the attempt."""
        return await self.read(await self.keys())

    async def keys(self) -> list[bytes]:
        """The keys of all notes of the attempt."""
        first, last = self._start + b"\0" * _TXN_BYTES, self._start + b"\xff" * _TXN_BYTES
        return [key async for keys in self._table.key_pages(first, last) for key in keys]

    async def read(self, keys: Sequence[bytes]) -> list[LeaseNote]:
        """The notes of keys; some may be gone."""
        found = []
        for entry in await self._table.get_all(keys):
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

    async def remove(self, keys: Iterable[bytes]) -> None:
        """Remove notes."""
        await self._table.remove_all(keys)

    def key(self, txn_id: UUID) -> bytes:
        """The key of the note of a transaction."""
        return self._start + hashlib.sha256(txn_id.bytes).digest()[:_TXN_BYTES]


def is_dead_note(entry: TableEntry, now: datetime) -> bool:
    """Whether a note is so old that its transaction has ended."""
    return is_dead(_read(entry).held_at, now)


def _read(entry: TableEntry) -> _Value:
    return read_value(_Value, entry.value, _VERSION, "a note of a lease")


def _value(txn_id: UUID, lease: float, held_at: float) -> bytes:
    return with_checksum(_Value(txn_id=txn_id, lease=lease, held_at=held_at).model_dump_json())
