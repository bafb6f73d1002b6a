"""The table of a commit ledger: one record per write, whose conditional updates decide races.

It stores and finds records. `aiopravega.ledger.commits.protocol` gives them their meaning, and moves the transactions
that they name.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from uuid import UUID

from aiopravega.control import Controller
from aiopravega.cuts import StreamCut
from aiopravega.errors import PermissionDeniedError, PravegaError, TableConflictError, WriteSupersededError
from aiopravega.ledger.commits.keys import is_record, record_key
from aiopravega.ledger.commits.leases import LeaseNotes
from aiopravega.ledger.commits.pending import PendingWrites
from aiopravega.ledger.commits.record import LONGEST_CUT, CommitRecord, StoredCommit
from aiopravega.ledger.commits.sweeper import Sweeper
from aiopravega.ledger.commits.turns import Turns
from aiopravega.names import StreamName
from aiopravega.store import SegmentStore
from aiopravega.tables import KeyValueTable

logger = logging.getLogger(__name__)
Tail = Callable[[StreamName], Awaitable[StreamCut]]


class CommitTable:
    """The records of writes in the table `scope/table`, and the notes beside them.

    `tail` finds the cut after the last event of a stream.
    """

    def __init__(self, controller: Controller, store: SegmentStore, tail: Tail, scope: str, table: str) -> None:
        self.scope = scope
        self.table = table
        self._tail = tail
        self._table = KeyValueTable(controller, store, scope, table)

    async def tail(self, sink: StreamName) -> str | None:
        """The text of the cut at the end of a stream, for a record.

        None: an account that may write may not ask, or the text is too long.
        """
        try:
            text = (await self._tail(sink)).to_text()
        except PermissionDeniedError as error:
            logger.warning("the position of a write in %s will not be recorded: %s", sink, error)
            return None
        return text if len(text) <= LONGEST_CUT else None

    @property
    def sweeper(self) -> Sweeper:
        """The sweeper of old entries."""
        return Sweeper(self._table)

    @property
    def pending(self) -> PendingWrites:
        """The writes that are decided and not done."""
        return PendingWrites(self._table)

    @property
    def turns(self) -> Turns:
        """The turns of the writes to each stream."""
        return Turns(self._table)

    def lease_notes(self, attempt: UUID) -> LeaseNotes:
        """The notes of the transactions of an attempt that are kept open."""
        return LeaseNotes(self._table, attempt)

    async def lookup(self, sink: StreamName, write_id: str) -> StoredCommit | None:
        """The record of a write; None: it never reached `prepared`.

        Raises:
            TableNotFoundError: the table does not exist.
            LedgerError: the record is of another version.
        """
        return await self.stored(record_key(sink, write_id))

    async def stored(self, key: bytes) -> StoredCommit | None:
        """The record of a key, or None; it raises what `lookup` raises."""
        entry = await self._table.get(key)
        return None if entry is None else StoredCommit(CommitRecord.from_json(entry.value), entry.version)

    async def owner(self, sink: StreamName, write_id: str) -> StoredCommit | None:
        """The record that decides a write to a stream, which may be that of another stream of the write; or None."""
        found = await self.lookup(sink, write_id)
        if found is None or found.record.main is None:
            return found
        return await self.lookup(found.record.main, write_id)

    async def join(self, part: CommitRecord, replaces: StoredCommit | None) -> None:
        """Note at a further stream of a write that the record of its first stream, `part.main`, decides the write.

        Raises:
            WriteSupersededError: the stream was written to under the same write id, and not as a part of this write.
        """
        try:
            await self.put(part, replaces)
        except TableConflictError:
            found = await self.lookup(part.sink, part.write_id)
            same = (part.main, part.incarnation)
            if found is None or (found.record.main, found.record.incarnation) != same:
                raise WriteSupersededError(
                    f"{part.name}: another write has this write id since attempt {part.attempt} has begun to write to "
                    f"{part.main} as well; this attempt commits nothing. Give one of them another write id"
                ) from None

    async def prepare(self, record: CommitRecord, replaces: StoredCommit | None = None) -> StoredCommit:
        """Put a `prepared` record where there is none, or only `replaces`. From here on the write is decided.

        Before, it is noted as pending: the next writer finds it without reading the whole ledger.

        Raises:
            WriteSupersededError: another attempt was first.
            LedgerError: the record is too large.
        """
        await self.pending.note(record)
        try:
            return await self.put(record, replaces)
        except TableConflictError:
            # Our own put may have succeeded with its answer lost, and a restart may have finished the record since.
            found = await self.lookup(record.sink, record.write_id)
            if found is not None and found.record.attempt == record.attempt:
                return found
            await self._remove_pending(record)
            winner = "another attempt" if found is None else f"attempt {found.record.attempt}"
            raise WriteSupersededError(
                f"{record.name}: {winner} has decided it before attempt {record.attempt}; this attempt commits "
                "nothing. If the write is to be done twice, give it another write id."
            ) from None

    async def put(self, record: CommitRecord, replaces: StoredCommit | None) -> StoredCommit:
        """Put a record where there is none, or only `replaces`.

        Raises:
            TableConflictError: there is another record.
            LedgerError: the record is too large.
        """
        key, value = record_key(record.sink, record.write_id), record.to_json()
        if replaces is None:
            return StoredCommit(record, await self._table.put_if_absent(key, value))
        return StoredCommit(record, await self._table.replace(key, value, replaces.version))

    async def records(self) -> AsyncIterator[StoredCommit]:
        """All records, in no order."""
        async for entry in self._table.entries():
            if is_record(entry.key):
                yield StoredCommit(CommitRecord.from_json(entry.value), entry.version)

    async def amend(self, stored: StoredCommit, record: CommitRecord) -> StoredCommit:
        """Replace a record, which must not have changed.

        Raises:
            TableConflictError: it has changed.
        """
        return await self.put(record, stored)

    async def forget_newest(self, stored: StoredCommit) -> None:
        """Forget the newest generation of a write, which must not have changed; it can then be written again.

        Raises:
            TableConflictError: it has changed.
        """
        if stored.record.earlier:
            await self.amend(stored, stored.record.generations[-2])
        else:
            await self.forget(stored)

    async def forget(self, stored: StoredCommit) -> None:
        """Remove a record with all generations, which must not have changed: the write can then happen again.

        Raises:
            TableConflictError: it has changed.
        """
        record = stored.record
        await self._table.remove(record_key(record.sink, record.write_id), stored.version)
        for other in record.others:
            found = await self.lookup(other.stream, record.write_id)
            if found is not None and found.record.main == record.sink:
                with suppress(TableConflictError):  # the write has begun again
                    await self._table.remove(record_key(other.stream, record.write_id), found.version)

    async def finish(self, stored: StoredCommit, *ends: str | None) -> StoredCommit:
        """Mark a record done, after all its transactions are committed; harmless if another process has done it.

        `ends` are the texts of the cuts where its streams end, if all is visible.

        Raises:
            WriteSupersededError: another attempt has replaced the record meanwhile.
        """
        record = stored.record.done(datetime.now(UTC), *ends)
        try:
            finished = await self.amend(stored, record)
        except TableConflictError:
            found = await self.lookup(record.sink, record.write_id)
            if found is None or found.record.attempt != record.attempt or found.record.done_at is None:
                raise WriteSupersededError(
                    f"{record.name}: its record was replaced while attempt {record.attempt} finished it"
                ) from None
            finished = found
        await self._remove_pending(record)
        return finished

    async def landed(self, record: CommitRecord) -> CommitRecord:
        """Note that the tables of a write that is done have their rows.

        Raises:
            WriteSupersededError: the record was forgotten or replaced meanwhile.
        """
        while True:
            found = await self.lookup(record.sink, record.write_id)
            if found is None or (found.record.generation, found.record.attempt) != (record.generation, record.attempt):
                tables = " and ".join(record.waiting_tables)
                raise WriteSupersededError(f"{record.name}: its record was replaced while its rows went into {tables}")
            if not found.record.waiting_tables:
                return found.record
            with suppress(TableConflictError):
                return (await self.amend(found, found.record.landed(datetime.now(UTC)))).record

    async def _remove_pending(self, record: CommitRecord) -> None:
        """Remove the entry of a pending attempt that nobody needs to finish; errors are logged, not raised."""
        try:
            await self.pending.remove(record.attempt, *record.streams)
        except PravegaError as error:
            logger.warning("%s is still noted as pending; the next write removes that: %s", record.name, error)
