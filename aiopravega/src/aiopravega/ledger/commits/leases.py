"""Leases of transactions: renewed until the write of finished tasks is decided.

A task that has ended does not have a process any more that renews its lease, and the other tasks of its write may run
for hours. So each task notes its transaction in the ledger's table before it ends, and every process that runs a task
of the same attempt reads the notes from time to time and renews what is due. As long as a write has a task that runs,
all of it is kept open; when it has none, it ends by itself. The write does not depend on any one process or machine.

A note names a transaction, the length of its lease and the time when that was given. It has no owner: a process that
finds it due replaces it by a conditional update, and renews the lease. A write that is over within seconds pays for one
update of the table per task; the notes are not read by then.
"""

import asyncio
import hashlib
import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Final, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from aiopravega.bounded import each
from aiopravega.control import LONGEST_LEASE, Controller, hold_transaction
from aiopravega.errors import PravegaError, TableConflictError, TransactionError
from aiopravega.ledger.commits.keys import NOTE_PREFIX, is_dead
from aiopravega.ledger.stored_json import StoredStream, read_value, with_checksum
from aiopravega.names import StreamName
from aiopravega.tables import KeyValueTable, TableEntry

logger = logging.getLogger(__name__)

_TXN_BYTES: Final = 8
_VERSION: Literal[2] = 2
# How often a process looks for notes while there are none, in seconds. A server may allow leases of 15 s only, and it
# is the notes that show how long leases are.
_LOOK_EVERY: Final = 5.0
# A lease is renewed after this share of it, and the notes are read several times meanwhile.
_RENEW_AFTER: Final = 1 / 3
_LOOKS_PER_LEASE: Final = 6
# A process whose tasks have ended lives for so many seconds longer: the next tasks of the write may take time to start.
_LINGER: Final = 600.0
# Renewals at a time: the task that runs beside them matters more.
_AT_ONCE: Final = 8


class _StoredNote(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[2] = _VERSION
    txn_id: UUID
    lease: float = Field(allow_inf_nan=False)
    held_at: float = Field(allow_inf_nan=False)
    stream: StoredStream | None = None  # None: the first stream of the write


@dataclass(frozen=True, slots=True)
class LeaseNote:
    """A transaction with a lease of `lease` seconds, given at `held_at` by the clock of the process that renewed it.

    `version` is the version that a conditional update has to meet. `stream` is the stream of the transaction, None: the
    first one of the write.
    """

    txn_id: UUID
    lease: float
    held_at: float
    key: bytes
    version: int
    stream: StreamName | None = None


class LeaseNotes:
    """The notes of one attempt of a write."""

    def __init__(self, table: KeyValueTable, attempt: UUID) -> None:
        self._table = table
        self._start = NOTE_PREFIX + attempt.bytes

    async def note(self, txn_id: UUID, lease: float, held_at: float, stream: StreamName | None = None) -> None:
        """Note a transaction of a stream; None: of the first one of the write."""
        await self._table.put(self.key(txn_id), _spelled(txn_id, lease, held_at, stream))

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
            value = _stored_note(entry)
            found.append(LeaseNote(value.txn_id, value.lease, value.held_at, entry.key, entry.version, value.stream))
        return found

    async def start_renewal(self, note: LeaseNote) -> bool:
        """Note that a lease is renewed now; False: another process has just done so, or the note is gone."""
        try:
            value = _spelled(note.txn_id, note.lease, time.time(), note.stream)
            await self._table.replace(note.key, value, note.version)
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
    """True if a note is so old that its transaction has ended."""
    return is_dead(_stored_note(entry).held_at, now)


def _stored_note(entry: TableEntry) -> _StoredNote:
    return read_value(_StoredNote, entry.value, _VERSION, "a note of a lease")


def _spelled(txn_id: UUID, lease: float, held_at: float, stream: StreamName | None = None) -> bytes:
    note = _StoredNote(txn_id=txn_id, lease=lease, held_at=held_at, stream=stream)
    return with_checksum(note.model_dump_json(exclude_none=True))


class LeaseKeeper:
    """Keeps the transactions of one attempt open, together with the keepers of other processes.

    Use it with `async with` around each task. It continues a little after the last one, until the write is decided.

    Args:
        controller: renews leases.
        notes: the attempt's notes.
        sink: the first stream of the write.
        longest: the longest lease to ask for, in seconds.
        look_every: seconds between two looks for notes while there are none.
    """

    def __init__(
        self,
        controller: Controller,
        notes: LeaseNotes,
        sink: StreamName,
        *,
        longest: float = LONGEST_LEASE,
        look_every: float = _LOOK_EVERY,
    ) -> None:
        self._controller = controller
        self._notes = notes
        self._sink = sink
        self._longest = longest
        self._look_every = look_every
        self._running = 0
        self._last_end = time.monotonic()
        self._noted: set[UUID] = set()  # by this process, and not known to be decided
        self._seen: dict[tuple[bytes, int], float] = {}  # when each version of a note was first seen
        self._loop: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._running += 1
        if self._loop is None or self._loop.done():
            self._loop = asyncio.create_task(self._keep())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running -= 1
        self._last_end = time.monotonic()

    async def keep(self, txn_id: UUID, stream: StreamName | None = None) -> None:
        """Keep a transaction open that has all its events: it is noted when this returns, and this process may end.

        Args:
            txn_id: the transaction.
            stream: its stream; None: the first one of the write.

        Raises:
            TransactionAbortedError: it is aborted, or its lease has run out.
        """
        lease = await hold_transaction(self._controller, stream or self._sink, txn_id, self._longest)
        await self._notes.note(txn_id, lease, time.time(), stream)
        self._noted.add(txn_id)

    def close(self) -> None:
        """Stop; what is noted is kept open by others."""
        if self._loop is not None:
            self._loop.cancel()

    @property
    def idle(self) -> bool:
        """True if it has ended, with nothing left to do."""
        return self._loop is not None and self._loop.done()

    async def _keep(self) -> None:
        pause = self._look_every
        while self._is_needed():
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # not all processes at the same time
            try:
                pause = await self._look()
            except PravegaError as error:  # the next time may be early enough
                logger.warning("could not renew leases of transactions of %s: %s", self._sink, error)

    def _is_needed(self) -> bool:
        return bool(self._running) or (bool(self._noted) and time.monotonic() - self._last_end < _LINGER)

    async def _look(self) -> float:
        """Renew what is due; returns the seconds until the next look."""
        notes = await self._notes.all()
        now = time.monotonic()
        self._seen = {version: self._seen.get(version, now) for version in ((note.key, note.version) for note in notes)}
        self._noted &= {note.txn_id for note in notes}  # notes go when the write is decided
        await each(self._renew, [note for note in notes if self._is_due(note)], _AT_ONCE)
        return min((note.lease / _LOOKS_PER_LEASE for note in notes), default=self._look_every)

    def _is_due(self, note: LeaseNote) -> bool:
        """True if no process has renewed it for long, by this machine's clock or since this process has seen it.

        Clocks of machines differ: by a clock that is behind, the notes of other machines would never be old.
        """
        limit = note.lease * _RENEW_AFTER
        seen_for = time.monotonic() - self._seen[note.key, note.version]
        return time.time() - note.held_at > limit or seen_for > limit

    async def _renew(self, note: LeaseNote) -> None:
        if not await self._notes.start_renewal(note):
            return
        try:
            lease = await hold_transaction(self._controller, note.stream or self._sink, note.txn_id, note.lease)
        except TransactionError as error:
            logger.debug("%s", error)
            await self._notes.remove([note.key])
            return
        if lease < note.lease:  # it nears the longest life that the server grants
            await self._notes.note(note.txn_id, lease, time.time(), note.stream)


class Keepers:
    """The keepers of one process: one for each attempt that it has tasks of."""

    def __init__(self) -> None:
        self._keepers: dict[UUID, LeaseKeeper] = {}

    def of(self, attempt: UUID, make: Callable[[], LeaseKeeper]) -> LeaseKeeper:
        """The keeper of an attempt; it is made if it is missing."""
        self._keepers = {known: keeper for known, keeper in self._keepers.items() if not keeper.idle}
        return self._keepers.setdefault(attempt, make())

    def close(self) -> None:
        """Stop them all."""
        for keeper in self._keepers.values():
            keeper.close()
