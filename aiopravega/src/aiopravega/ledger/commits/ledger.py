"""The commit ledger of a key-value table: its table, the identity by which streams name it, and its protocol."""

from uuid import UUID, uuid4

from aiopravega.control import Controller
from aiopravega.errors import ConfigurationError, LedgerError, TableConflictError
from aiopravega.ledger.commits.keys import IDENTITY_KEY, KEY_LENGTH
from aiopravega.ledger.commits.leases import Keepers, LeaseKeeper
from aiopravega.ledger.commits.protocol import DEFAULT_POLL, DEFAULT_RETAIN, DEFAULT_VISIBLE_WITHIN, CommitProtocol
from aiopravega.ledger.commits.stream_mark import mark
from aiopravega.ledger.commits.table import CommitTable, Tail
from aiopravega.names import StreamName, check_name
from aiopravega.store import SegmentStore

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


class CommitLedger(CommitTable):
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
        super().__init__(controller, store, tail, scope, table)
        self._controller = controller
        self._store = store
        self._keepers = keepers or Keepers()

    async def create(self) -> bool:
        """Make the table; returns False if it exists already.

        Raises:
            ScopeNotFoundError: the scope does not exist.
        """
        return await self._table.create_if_missing(KEY_LENGTH)

    async def mark(self, stream: StreamName, *, adopt: bool = False) -> str | None:
        """Mark a stream as one whose writes this ledger remembers, or check the mark; `adopt` replaces another one.

        Returns:
            Why the stream could not be marked, for a warning; None: it is marked.

        Raises:
            WrongLedgerError: another ledger remembers its writes, or this one was emptied since.
            StreamNotFoundError: the stream does not exist.
            TableNotFoundError: the ledger does not exist.
            LedgerError: the ledger's identity is not one that this release makes.
        """
        name = f"{self.scope}/{self.table}"
        return await mark(self._controller, self._store, stream, self._identity(), name, adopt=adopt)

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

    def keeper(self, sink: StreamName, attempt: UUID) -> LeaseKeeper:
        """The keeper of the transactions of an attempt in this process; use it around each task."""
        return self._keepers.of(attempt, lambda: LeaseKeeper(self._controller, self.lease_notes(attempt), sink))

    def protocol(
        self,
        *,
        visible_within: float | None = DEFAULT_VISIBLE_WITHIN,
        poll: float = DEFAULT_POLL,
        retain: float | None = DEFAULT_RETAIN,
        claimant: str | None = None,
    ) -> CommitProtocol:
        """The protocol of exactly-once writes over this ledger; see `aiopravega.ledger.CommitProtocol`."""
        return CommitProtocol(
            self._controller, self, visible_within=visible_within, poll=poll, retain=retain, claimant=claimant
        )
