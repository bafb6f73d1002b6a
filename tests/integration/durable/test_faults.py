"""A segment store is killed and restarts, tokens expire, during reads and writes: nothing is lost or duplicated."""

import asyncio
from typing import Any

import pytest
from tests.integration.durable import TOKEN_SECONDS
from tests.pages.blocks import blocks_of

from aiopravega import UNBOUNDED, PravegaClient, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient as BlockingClient
from aiopravega.read.bulk import BulkReader
from aiopravega.wire import scan_frames

pytestmark = [pytest.mark.timeout(1500), pytest.mark.xdist_group("durable")]
EVENTS = 3_000
# Large enough that a read of the stream takes many requests.
PADDING = b"." * 5_000


def event(number: int) -> bytes:
    return b"%06d" % number + PADDING


@pytest.fixture
async def client(cluster):
    patient = cluster.config.model_copy(update={"retry_timeout": 120.0})
    async with PravegaClient(patient) as opened:
        yield opened


async def make(client: PravegaClient, name: str) -> StreamName:
    await client.create_scope("faults")
    await client.create_stream(f"faults/{name}")
    return StreamName("faults", name)


async def fill(client: PravegaClient, stream: StreamName) -> None:
    async with client.writer(stream) as writer:
        await writer.write_many((event(number) for number in range(EVENTS)), ["key"] * EVENTS)


class Kill:
    """One kill of the segment store, when everything that is open has reached its middle."""

    def __init__(self, cluster, activities: int) -> None:
        self._cluster = cluster
        self._middle = asyncio.Barrier(activities + 1)
        self._killed = asyncio.Event()

    async def happens(self) -> None:
        await self._middle.wait()
        await asyncio.to_thread(self._cluster.kill, "segmentstore")
        self._killed.set()
        await asyncio.to_thread(self._cluster.restart, "segmentstore")

    async def waited_for(self) -> None:
        await self._middle.wait()
        await self._killed.wait()


async def content(client: PravegaClient, stream: StreamName) -> list[bytes]:
    return [found.data async for found in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)]


async def read(client: PravegaClient, kill: Kill) -> list[bytes]:
    stream = await make(client, "read")
    await fill(client, stream)
    found = []
    async for each in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), stream):
        found.append(each.data)
        if len(found) == EVENTS // 10:
            await kill.waited_for()
    return found


async def bulk_read(client: PravegaClient, kill: Kill) -> list[bytes]:
    stream = await make(client, "bulk")
    await fill(client, stream)
    loop = asyncio.get_running_loop()

    def blocking() -> list[bytes]:
        found: list[bytes] = []
        with BlockingClient(client.config) as opened:
            reader = BulkReader(opened.locate, client.config)
            (part,) = opened.plan(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)
            for block in reader.read(part, scan=scan_frames, block_bytes=1_000_000):
                if not found:
                    asyncio.run_coroutine_threadsafe(kill.waited_for(), loop).result()
                ends = [*block.frames[1:], len(block.data)]
                found += [bytes(block.data[start + 8 : end]) for start, end in zip(block.frames, ends, strict=True)]
            reader.close()
        return found

    return await asyncio.to_thread(blocking)


async def append(client: PravegaClient, kill: Kill) -> list[bytes]:
    """Writes on, while the segment store is killed."""
    stream = await make(client, "append")
    async with client.writer(stream) as writer, asyncio.TaskGroup() as tasks:
        for number in range(EVENTS):
            await writer.write(event(number), routing_key="key")
            if number == EVENTS // 3:
                tasks.create_task(kill.waited_for())
            if number % 100 == 0:
                await asyncio.sleep(0)
    return await content(client, stream)


async def transaction(client: PravegaClient, kill: Kill) -> list[bytes]:
    stream = await make(client, "transaction")
    async with client.transaction(stream, lease=120) as opened:
        await opened.write_many((event(number) for number in range(EVENTS // 2)), ["key"] * (EVENTS // 2))
        await kill.waited_for()
        for number in range(EVENTS // 2, EVENTS):
            await opened.write(event(number), routing_key="key")
    await opened.wait_committed(60)
    return await content(client, stream)


async def test_what_is_open_survives_the_kill_with_each_event_once(cluster, client):
    activities = (read, bulk_read, append, transaction)
    kill = Kill(cluster, len(activities))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(kill.happens())
        found = {each.__name__: tasks.create_task(each(client, kill)) for each in activities}

    for name, task in found.items():
        assert task.result() == [event(number) for number in range(EVENTS)], name


async def test_tokens_are_renewed_while_a_writer_and_a_reader_stay_open(client):
    stream = await make(client, "tokens")
    written = found = 0

    async with client.writer(stream) as writer:
        async with asyncio.timeout(300):
            begin = asyncio.get_running_loop().time()
            while asyncio.get_running_loop().time() - begin < 3 * TOKEN_SECONDS:
                await writer.write(event(written), routing_key="key")
                await writer.flush()
                written += 1
                found = len(await content(client, stream))
                await asyncio.sleep(0.2)

    assert found == written
    assert await content(client, stream) == [event(number) for number in range(written)]


@pytest.mark.slow
async def test_the_test_on_the_how_to_page_passes(cluster):
    [code] = [block.code for block in blocks_of("try-failures") if block.language == "python"]
    names: dict[str, Any] = {"PravegaClient": PravegaClient}
    exec(code, names)

    await names["test_an_event_that_was_acknowledged_survives"](lambda: cluster)

    async with PravegaClient(cluster.config) as client:
        assert await content(client, StreamName("examples", "orders")) == [b"order 1"]
