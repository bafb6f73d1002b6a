"""The pending writes of a stream, decided and not done: an index, so that nobody has to read all records for them.

An entry is put before its record, and removed after the record is done. It is only an index: an entry without a record
is harmless, and a record without an entry is found by a run that starts the write again, or by one that reads the whole
ledger. Each attempt has its own entry, so an attempt never removes the entry of another one.
"""

import hashlib
import time
from asyncio import gather
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from aiopravega.ledger.commits.keys import KEY_LENGTH, PENDING_PREFIX, is_dead, record_key
from aiopravega.ledger.commits.record import CommitRecord
from aiopravega.ledger.stored_json import StoredStream, read_value, with_checksum
from aiopravega.names import StreamName
from aiopravega.tables import KeyValueTable, TableEntry

_ATTEMPT_BYTES: Final = 16
_STREAM_BYTES: Final = KEY_LENGTH - len(PENDING_PREFIX) - _ATTEMPT_BYTES
_VERSION: Literal[2] = 2
# Stands for an attempt in the entry that says whose turn it is (`aiopravega.ledger.commits.turns`).
TURN: Final = UUID(int=0)


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[2] = _VERSION
    sink: StoredStream
    write_id: str
    record: str = Field(pattern=rf"^[0-9a-f]{{{2 * KEY_LENGTH}}}$")
    noted_at: float = Field(allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """An attempt that has decided a write, or is about to; `record` is the key of the write's record."""

    sink: StreamName
    write_id: str
    attempt: UUID
    record: bytes

    @property
    def name(self) -> str:
        """The write and the attempt, for messages."""
        return f"write {self.write_id!r} to {self.sink} (attempt {self.attempt})"


class PendingWrites:
    """The entries of pending writes in a ledger's table."""

    def __init__(self, table: KeyValueTable) -> None:
        self._table = table

    async def note(self, record: CommitRecord) -> None:
        """Note that an attempt is about to put this record, for each of its streams."""

        async def one(stream: StreamName) -> None:
            await self._table.put(entry_key(stream, record.attempt), entry_value(stream, record.write_id, record.sink))

        await gather(*map(one, record.streams))

    async def of(self, sink: StreamName) -> list[PendingWrite]:
        """The pending writes to a stream.

        Raises:
            TableNotFoundError: the table does not exist.
            LedgerError: an entry is not one that this release reads.
        """
        first = _start(sink) + b"\0" * _ATTEMPT_BYTES
        last = _start(sink) + b"\xff" * _ATTEMPT_BYTES
        turn = entry_key(sink, TURN)
        entries = [entry async for entry in self._table.entries(first, last) if entry.key != turn]
        return [
            PendingWrite(sink, value.write_id, UUID(bytes=entry.key[-_ATTEMPT_BYTES:]), bytes.fromhex(value.record))
            for entry in entries
            if (value := _read(entry)).sink == sink  # keys have a part of the stream's hash only
        ]

    async def remove(self, attempt: UUID, *sinks: StreamName) -> None:
        """Remove the entries of an attempt to some streams; there need be none."""
        await self._table.remove_all([entry_key(sink, attempt) for sink in sinks])


def is_dead_pending(entry: TableEntry, now: datetime) -> bool:
    """True if an entry is so old that the transactions of its attempt have ended."""
    return is_dead(_read(entry).noted_at, now)


def entry_value(sink: StreamName, write_id: str, main: StreamName) -> bytes:
    """The value of an entry that is put now; `main` is the stream whose record decides the write."""
    value = _Value(sink=sink, write_id=write_id, record=record_key(main, write_id).hex(), noted_at=time.time())
    return with_checksum(value.model_dump_json())


def _start(sink: StreamName) -> bytes:
    return PENDING_PREFIX + hashlib.sha256(str(sink).encode()).digest()[:_STREAM_BYTES]


def entry_key(sink: StreamName, attempt: UUID) -> bytes:
    """The key of the entry of an attempt."""
    return _start(sink) + attempt.bytes


def _read(entry: TableEntry) -> _Value:
    return read_value(_Value, entry.value, _VERSION, "an entry of a pending write")
