"""Runs that take their ranges at the same time: each waits for the one before it, whenever that has begun."""

from aiopravega import PravegaClient, ScalingPolicy, StreamCut, StreamName
from aiopravega.intervals.chain.next_range import ChainRules, NotNow, take_next
from aiopravega.intervals.conditions.move_condition import MoveCondition
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from aiopravega.ledger import CutRecord, Interval


async def take(client: PravegaClient, stream: StreamName, run: str) -> CutRecord | NotNow:
    ledger, watch = client.cut_ledger(stream.scope), StreamWatch(MoveCondition())
    return await take_next(client, ledger, Interval("shop", stream, run), ChainRules(), watch, by=run)


async def test_a_run_waits_for_a_range_that_is_taken_amid_its_check(pravega_config, client, scope):
    orders = StreamName(scope, "orders")
    await client.create_stream(orders, ScalingPolicy.fixed(1))
    await client.cut_ledger(scope).create()

    async def write() -> None:
        async with client.writer(orders) as writer:
            await writer.write(b"order")

    taken: list[CutRecord | NotNow] = []

    class Slow(PravegaClient):
        """Asks for the head when it knows that no range is open, and before it asks where the chain continues."""

        async def head(self, stream: StreamName | str) -> StreamCut:
            if not taken:
                taken.append(await take(client, orders, "first"))
                await write()
            return await super().head(stream)

    await write()
    async with Slow(pravega_config) as slow:
        found = await take(slow, orders, "second")

    [first] = taken
    assert isinstance(first, CutRecord)
    assert isinstance(found, NotNow)
    assert found.waits_for == first
    await client.cut_ledger(scope).finish(first.identity, by="first")
    second = await take(client, orders, "second")
    assert isinstance(second, CutRecord)
    assert second.start == first.end
