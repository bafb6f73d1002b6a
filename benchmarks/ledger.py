"""What the commit ledger adds to a write, and whether it grows with the number of writes.

    python -m benchmarks.ledger

Small writes of some partitions each, like a query's micro-batches, in turn with and without the ledger: both open, fill
and commit the same transactions and wait until readers see them, once each. What the ledger adds is the difference.
"""

import argparse
import asyncio
import time
import uuid
import zlib
from collections.abc import Sequence
from statistics import median
from typing import Final

from aiopravega import PravegaClient, PravegaConfig, StreamName, wire
from aiopravega.control import ScalingPolicy, StreamConfiguration
from aiopravega.ledger import CommitProtocol, PartitionCommit
from aiopravega.ledger.commits.transactions import TransactionSet
from pravega_emulator import PravegaEmulator

_EVENT: Final = b"x" * 100
_LEASE: Final = 60.0
_POLL: Final = 0.05
_WITHIN: Final = 60.0
_MILLISECONDS: Final = 1000


class Field:
    """Two streams of one server: one is written with the ledger, the other without."""

    def __init__(self, client: PravegaClient, scope: str) -> None:
        self.client = client
        self.with_ledger, self.without = StreamName(scope, "with"), StreamName(scope, "without")
        self.ledger = client.commit_ledger(scope)
        self.protocol = CommitProtocol(client.controller, self.ledger, visible_within=_WITHIN, poll=_POLL)

    async def write(self, sink: StreamName, partitions: int) -> list[PartitionCommit]:
        """What the tasks of a write do."""

        async def one(partition: int) -> PartitionCommit:
            transaction = await self.client.open_transaction(sink, lease=_LEASE)
            await transaction.write(_EVENT)
            await transaction.flush()
            await transaction.detach()
            return PartitionCommit(
                partition=partition,
                txn_id=transaction.txn_id,
                events=1,
                bytes=len(_EVENT) + wire.EVENT_HEADER,
                checksum=f"{zlib.crc32(_EVENT):08x}",
                hashes=zlib.crc32(_EVENT),
            )

        return await asyncio.gather(*(one(partition) for partition in range(partitions)))

    async def exactly_once(self, number: int, partitions: int) -> float:
        """Seconds of a write's `begin` and `commit`."""
        began = time.perf_counter()
        job = await self.protocol.begin(self.with_ledger, f"write/{number}", uuid.uuid4())
        begin = time.perf_counter() - began
        parts = await self.write(self.with_ledger, partitions)
        began = time.perf_counter()
        await self.protocol.commit(job, parts)
        return begin + time.perf_counter() - began

    async def plain(self, partitions: int) -> float:
        """Seconds of the commits of a write that has no ledger."""
        parts = await self.write(self.without, partitions)
        began = time.perf_counter()
        transactions = TransactionSet(
            self.client.controller, self.without, {part.partition: part.txn_id for part in parts}
        )
        assert await transactions.commit()
        assert await transactions.wait_visible(_WITHIN, _POLL) == 0
        return time.perf_counter() - began


async def measure(controller_uri: str, writes: int, partitions: int) -> tuple[list[float], list[float]]:
    """Seconds of each write with and without the ledger."""
    async with PravegaClient(PravegaConfig(controller_uri=controller_uri)) as client:
        scope = f"bench-{uuid.uuid4().hex}"
        await client.create_scope(scope)
        field = Field(client, scope)
        for stream in (field.with_ledger, field.without):
            await client.controller.create_stream(stream, StreamConfiguration(scaling=ScalingPolicy.fixed(4)))
        await field.ledger.create()
        with_ledger, without = [], []
        for number in range(writes):
            with_ledger.append(await field.exactly_once(number, partitions))
            without.append(await field.plain(partitions))
        return with_ledger, without


def _line(name: str, with_ledger: Sequence[float], without: Sequence[float]) -> str:
    with_it, plain = median(with_ledger) * _MILLISECONDS, median(without) * _MILLISECONDS
    added = median(a - b for a, b in zip(with_ledger, without, strict=True)) * _MILLISECONDS
    return f"| {name} | {with_it:.1f} | {plain:.1f} | {added:.1f} |"


def main() -> None:
    """Measure, and print a table of medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writes", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=2)
    given = parser.parse_args()
    with PravegaEmulator(full_jit=True) as server:
        with_ledger, without = asyncio.run(measure(server.controller_uri, given.writes, given.partitions))
    tenth = max(given.writes // 10, 1)
    print(f"{given.writes} writes of {given.partitions} partitions, milliseconds, medians")
    print("| writes | with the ledger | without | added |\n|---|---:|---:|---:|")
    print(_line("all", with_ledger, without))
    print(_line(f"the first {tenth}", with_ledger[:tenth], without[:tenth]))
    print(_line(f"the last {tenth}", with_ledger[-tenth:], without[-tenth:]))


if __name__ == "__main__":
    main()
