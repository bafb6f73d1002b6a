"""The blocking form of the commit ledger and its protocol."""

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self
from uuid import UUID

from aiopravega.control import Controller
from aiopravega.ledger import CommitLedger as AsyncLedger
from aiopravega.ledger import CommitProtocol as AsyncProtocol
from aiopravega.ledger import CommitRecord, PartitionCommit, WriteJob
from aiopravega.ledger import LeaseKeeper as AsyncKeeper
from aiopravega.ledger.protocol import DEFAULT_POLL, DEFAULT_RETAIN, DEFAULT_VISIBLE_WITHIN
from aiopravega.loop import LoopThread
from aiopravega.names import StreamName


class CommitProtocol:
    """See `aiopravega.ledger.CommitProtocol`."""

    def __init__(self, loop: LoopThread, protocol: AsyncProtocol) -> None:
        self._loop = loop
        self._protocol = protocol

    def begin(self, sink: StreamName, write_id: str, attempt: UUID) -> WriteJob | CommitRecord:
        """Look what is known of a write: a job to go on with, or the record of a write that is done."""
        return self._loop.run(self._protocol.begin(sink, write_id, attempt))

    def commit(self, job: WriteJob, partitions: Sequence[PartitionCommit]) -> CommitRecord:
        """Decide the job and commit all its transactions, which must be flushed."""
        return self._loop.run(self._protocol.commit(job, partitions))

    def abandon(self, job: WriteJob, transactions: Iterable[UUID]) -> None:
        """Abort the transactions of an attempt that failed, unless it is decided."""
        self._loop.run(self._protocol.abandon(job, transactions))


class LeaseKeeper:
    """See `aiopravega.ledger.LeaseKeeper`."""

    def __init__(self, loop: LoopThread, keeper: AsyncKeeper) -> None:
        self._loop = loop
        self._keeper = keeper

    def __enter__(self) -> Self:
        self._loop.run(self._keeper.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._keeper.__aexit__(kind, error, trace))

    def keep(self, txn_id: UUID, *, at_once: bool = False) -> None:
        """Keep a transaction open that has all its events; `at_once` for a process that may end right afterwards."""
        self._loop.run(self._keeper.keep(txn_id, at_once=at_once))


class CommitLedger:
    """See `aiopravega.ledger.CommitLedger`."""

    def __init__(self, loop: LoopThread, controller: Controller, ledger: AsyncLedger) -> None:
        self._loop = loop
        self._controller = controller
        self._ledger = ledger

    def create(self) -> bool:
        """Make the table; returns False if it exists already."""
        return self._loop.run(self._ledger.create())

    def lookup(self, sink: StreamName, write_id: str) -> CommitRecord | None:
        """The record of a write, with its state, events and bytes; None: it was never decided."""
        found = self._loop.run(self._ledger.lookup(sink, write_id))
        return None if found is None else found.record

    def prepare(self, record: CommitRecord) -> None:
        """Put a `prepared` record where there is none; `CommitProtocol.commit` does it for a write."""
        self._loop.run(self._ledger.prepare(record))

    def keeper(self, sink: StreamName, attempt: UUID) -> "LeaseKeeper":
        """What keeps the transactions of an attempt open, in this process; use it with `with` around each task."""

        async def make() -> AsyncKeeper:
            return self._ledger.keeper(sink, attempt)

        return LeaseKeeper(self._loop, self._loop.run(make()))

    def protocol(
        self,
        *,
        visible_within: float | None = DEFAULT_VISIBLE_WITHIN,
        poll: float = DEFAULT_POLL,
        retain: float | None = DEFAULT_RETAIN,
    ) -> CommitProtocol:
        """The protocol of exactly-once writes over this ledger."""
        protocol = AsyncProtocol(
            self._controller, self._ledger, visible_within=visible_within, poll=poll, retain=retain
        )
        return CommitProtocol(self._loop, protocol)
