"""The commit ledger: one record per write, in a key-value table whose conditional updates decide races.

It stores and finds records. What they mean, and the transactions in them, is the business of
`aiopravega.ledger.commits.protocol`.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from uuid import UUID, uuid4

from aiopravega.control import Controller
from aiopravega.cuts import StreamCut
from aiopravega.errors import (
    ConfigurationError,
    LedgerError,
    PermissionDeniedError,
    PravegaError,
    TableConflictError,
    WriteSupersededError,
)
from aiopravega.ledger.commits.commit_record import KEY_LENGTH, LONGEST_CUT, CommitRecord, StoredCommit, record_key
from aiopravega.ledger.commits.keeper import Keepers, LeaseKeeper
from aiopravega.ledger.commits.mark import mark
from aiopravega.ledger.commits.notes import LeaseNotes
from aiopravega.ledger.commits.pending import PendingWrites
from aiopravega.ledger.commits.protocol import DEFAULT_POLL, DEFAULT_RETAIN, DEFAULT_VISIBLE_WITHIN, CommitProtocol
from aiopravega.ledger.commits.sweeper import Sweeper
from aiopravega.ledger.commits.table_keys import IDENTITY_KEY, is_record
from aiopravega.ledger.ledger_table import make_missing
from aiopravega.names import StreamName, check_name
from aiopravega.store import SegmentStore
from aiopravega.tables import KeyValueTable

logger = logging.getLogger(__name__)
Tail = Callable[[StreamName], Awaitable[StreamCut]]

# Pravega's table names have letters, digits, dots and hyphens.
DEFAULT_TABLE = "commit-ledger"


def ledger_name(text: str | None, scope: str) -> tuple[str, str]:
    """Scope and table of a commit ledger: `text` is `scope/table`; none: the default table in `scope`.

    Raises:
        ConfigurationError: it is not of this form, or not a name.
    """
    if not text:
        return scope, DEFAULT_TABLE
    ledger_scope, slash, table = text.partition("/")
    if not slash:
        raise ConfigurationError(f"'commit_ledger' is {text!r}, but must be scope/table")
    return check_name("scope", ledger_scope), check_name("table", table)


class CommitLedger:
    """The records of writes in the table `scope/table`; made by `PravegaClient.commit_ledger`.

    `tail` finds the cut after the last event of a stream.
    """

    def __init__(
        self,
        controller: Controller,
        store: SegmentStore,
        tail: Tail,
        scope: str,
        table: str = DEFAULT_TABLE,
        keepers: Keepers | None = None,
    ) -> None:
        self.scope = scope
        self.table = table
        self._controller = controller
        self._tail = tail
        self._keepers = keepers or Keepers()
        self._table = KeyValueTable(controller, store, scope, table)

    async def create(self) -> bool:
        """Make the table; returns False if it exists already.

        Raises:
            ScopeNotFoundError: there is no such scope.
        """
        return await make_missing(self._controller, self._table, self.scope, self.table, KEY_LENGTH)

    async def mark(self, stream: StreamName, *, adopt: bool = False) -> str | None:
        """Mark a stream as one whose writes this ledger remembers, or check the mark; `adopt` replaces another one.

        Returns:
            Why the stream could not be marked, for a warning; None: it is marked.

        Raises:
            WrongLedgerError: another ledger remembers its writes, or this one was emptied since.
            StreamNotFoundError: there is no such stream.
            TableNotFoundError: there is no such ledger.
            LedgerError: the ledger's identity is not one that this release makes.
        """
        name = f"{self.scope}/{self.table}"
        return await mark(self._controller, stream, await self._identity(), name, adopt=adopt)

    async def _identity(self) -> UUID:
        """The id of this ledger, which no other ledger has, not even a deleted one of its name."""
        found = await self._table.get(IDENTITY_KEY)
        if found is None:
            try:
                made = uuid4()
                await self._table.put_if_absent(IDENTITY_KEY, made.bytes)
                return made
            except TableConflictError:
                return await self._identity()
        try:
            return UUID(bytes=found.value)
        except ValueError:
            raise LedgerError(
                f"the identity of the commit ledger {self.scope}/{self.table} is {found.value[:40]!r}, which this "
                "release does not understand: use the release that made the ledger, or another table"
            ) from None

    async def tail(self, sink: StreamName) -> str | None:
        """Where a stream ends, for a record; None: an account that may write may not ask, or the text is too long."""
        try:
            text = (await self._tail(sink)).to_text()
        except PermissionDeniedError as error:
            logger.warning("where in %s a write is will not be recorded: %s", sink, error)
            return None
        return text if len(text) <= LONGEST_CUT else None

    @property
    def sweeper(self) -> Sweeper:
        """What removes old records."""
        return Sweeper(self._table)

    @property
    def pending(self) -> PendingWrites:
        """Which writes are decided and not done."""
        return PendingWrites(self._table)

    def notes(self, attempt: UUID) -> LeaseNotes:
        """The transactions of an attempt that are kept open for it."""
        return LeaseNotes(self._table, attempt)

    def keeper(self, sink: StreamName, attempt: UUID) -> LeaseKeeper:
        """What keeps the transactions of an attempt open, in this process; use it around each task."""
        return self._keepers.of(attempt, lambda: LeaseKeeper(self._controller, self.notes(attempt), sink))

    def protocol(
        self,
        *,
        visible_within: float | None = DEFAULT_VISIBLE_WITHIN,
        poll: float = DEFAULT_POLL,
        retain: float | None = DEFAULT_RETAIN,
    ) -> CommitProtocol:
        """The protocol of exactly-once writes over this ledger; see `aiopravega.ledger.CommitProtocol`."""
        return CommitProtocol(self._controller, self, visible_within=visible_within, poll=poll, retain=retain)

    async def lookup(self, sink: StreamName, write_id: str) -> StoredCommit | None:
        """The record of a write; None: it never reached `prepared`.

        Raises:
            TableNotFoundError: there is no such table.
            LedgerError: the record is of another version.
        """
        return await self.stored(record_key(sink, write_id))

    async def stored(self, key: bytes) -> StoredCommit | None:
        """The record of a key, or None; it raises what `lookup` raises."""
        entry = await self._table.get(key)
        return None if entry is None else StoredCommit(CommitRecord.from_json(entry.value), entry.version)

    async def prepare(self, record: CommitRecord, replaces: StoredCommit | None = None) -> StoredCommit:
        """Put a `prepared` record where there is none, or only `replaces`. From here on the write is decided.

        Before, it is noted as pending: who comes next finds it without a look through the ledger.

        Raises:
            WriteSupersededError: another attempt was first.
            LedgerError: the record is too large.
        """
        key, value = record_key(record.sink, record.write_id), record.to_json()
        await self.pending.note(record)
        try:
            if replaces is None:
                version = await self._table.put_if_absent(key, value)
            else:
                version = await self._table.replace(key, value, replaces.version)
        except TableConflictError:
            # Our own put may have succeeded with its answer lost, and a restart may have finished the record since.
            found = await self.lookup(record.sink, record.write_id)
            if found is not None and found.record.attempt == record.attempt:
                return found
            await self._settled(record)
            winner = "another attempt" if found is None else f"attempt {found.record.attempt}"
            raise WriteSupersededError(
                f"{record.name}: {winner} has decided it before attempt {record.attempt}; this attempt commits "
                "nothing. If the write is to be done twice, give it another write id."
            ) from None
        return StoredCommit(record, version)

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
        key = record_key(record.sink, record.write_id)
        return StoredCommit(record, await self._table.replace(key, record.to_json(), stored.version))

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
        await self._table.remove(record_key(stored.record.sink, stored.record.write_id), stored.version)

    async def finish(self, stored: StoredCommit, end: str | None = None) -> StoredCommit:
        """Mark a record done, after all its transactions are committed; harmless if somebody else has done it.

        `end` is the text of the cut where the stream ends, if all is visible.

        Raises:
            WriteSupersededError: another attempt has replaced the record meanwhile.
        """
        record = stored.record.done(datetime.now(UTC), end)
        try:
            finished = await self.amend(stored, record)
        except TableConflictError:
            found = await self.lookup(record.sink, record.write_id)
            if found is None or found.record.attempt != record.attempt or found.record.done_at is None:
                raise WriteSupersededError(
                    f"{record.name}: its record was replaced while attempt {record.attempt} finished it"
                ) from None
            finished = found
        await self._settled(record)
        return finished

    async def _settled(self, record: CommitRecord) -> None:
        """Note that nobody needs to finish an attempt; that this fails does no harm."""
        try:
            await self.pending.remove(record.sink, record.attempt)
        except PravegaError as error:
            logger.warning("%s is still noted as pending; the next write removes that: %s", record.name, error)
