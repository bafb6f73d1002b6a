"""A driver of writes whose steps can be taken one by one, and so stopped after any of them."""

import uuid
import zlib
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime

import pytest

from aiopravega import PravegaClient, wire
from aiopravega.control import TransactionState
from aiopravega.ledger import (
    CommitLedger,
    CommitProtocol,
    CommitRecord,
    CommitState,
    PartitionCommit,
    StoredCommit,
    WriteJob,
)
from aiopravega.ledger.commits.write_job import earlier_of
from aiopravega.names import StreamName


class Driver:
    """One process that runs a write: what it can do, step by step."""

    def __init__(
        self, client: PravegaClient, ledger: CommitLedger, sink: StreamName, visible_within: float | None = 60.0
    ) -> None:
        self.client = client
        self.ledger = ledger
        self.sink = sink
        self.protocol = CommitProtocol(client.controller, ledger, visible_within=visible_within)

    async def begin(self, write_id: str = "daily", generation: int = 1) -> WriteJob:
        return await self.protocol.begin(self.sink, write_id, uuid.uuid4(), generation)

    async def start(self, write_id: str = "daily", generation: int = 1) -> WriteJob:
        job = await self.begin(write_id, generation)
        assert job.done is None
        return job

    async def write(self, *events: bytes | None, lease: float = 60.0) -> list[PartitionCommit]:
        """Each event as a partition of its own, in a transaction that is left open; None: an empty partition."""
        return [
            await self.write_partition(partition, event, lease)
            for partition, event in enumerate(events)
            if event is not None
        ]

    async def write_partition(self, partition: int, event: bytes, lease: float = 60.0) -> PartitionCommit:
        transaction = await self.client.open_transaction(self.sink, lease=lease)
        await transaction.write(event)
        await transaction.flush()
        await transaction.detach()
        return PartitionCommit(
            partition=partition,
            txn_id=transaction.txn_id,
            events=1,
            bytes=len(event) + wire.EVENT_HEADER,
            checksum=f"{zlib.crc32(event):08x}",
            hashes=zlib.crc32(event),
        )

    async def prepare(self, job: WriteJob, partitions: Sequence[PartitionCommit]) -> StoredCommit:
        """Decide a write, and no more: a driver that is killed after that leaves this."""
        return await self.ledger.prepare(
            CommitRecord(
                state=CommitState.PREPARED,
                sink=job.sink,
                incarnation=job.incarnation,
                write_id=job.write_id,
                attempt=job.attempt,
                partitions=tuple(partitions),
                prepared_at=datetime.now(UTC),
                earlier=earlier_of(job),
            ),
            job.replaces,
        )

    async def leave(self, *events: bytes, committed: Collection[int], lost: Collection[int]) -> list[PartitionCommit]:
        """A decided write whose driver died when some transactions were committed and others had lost their leases."""
        partitions = await self.write(*events)
        await self.prepare(await self.start(), partitions)
        for partition in partitions:
            if partition.partition in {*committed, *lost}:
                await self.end(partition, commit=partition.partition in committed)
        return partitions

    async def end(self, partition: PartitionCommit, *, commit: bool) -> None:
        transaction = self.client.attach_transaction(self.sink, partition.txn_id)
        if commit:
            await transaction.commit(wait=30)
        else:
            await transaction.abort()

    async def is_thrown_away(self, partition: PartitionCommit) -> bool:
        state = await self.client.controller.transaction_state(self.sink, partition.txn_id)
        return state in (TransactionState.ABORTING, TransactionState.ABORTED)


@pytest.fixture
async def sink(make_stream):
    return await make_stream(2)


@pytest.fixture
async def ledger(client, scope):
    made = client.commit_ledger(scope)
    assert await made.create()
    return made


@pytest.fixture
def make_driver(client, ledger, sink) -> Callable[..., Driver]:
    """Makes drivers of writes, by default to `sink`."""

    def make(to: StreamName = sink, ledger: CommitLedger = ledger, visible_within: float | None = 60.0) -> Driver:
        return Driver(client, ledger, to, visible_within)

    return make


@pytest.fixture
def driver(make_driver: Callable[..., Driver]) -> Driver:
    return make_driver()


@pytest.fixture
def events_in(read_all, sink):
    async def events() -> list[bytes]:
        return sorted(event.data for event in await read_all(sink))

    return events
