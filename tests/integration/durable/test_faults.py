"""A segment store is killed and restarts, tokens run out, amid reads and writes: nothing is lost or doubled."""

import asyncio

import pytest
from tests.integration.durable import TOKEN_SECONDS

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
    await client.create_stream("faults", name)
    return StreamName("faults", name)


async def fill(client: PravegaClient, stream: StreamName) -> None:
    async with client.writer(stream.scope, stream.stream) as writer:
        await writer.write_many((event(number) for number in range(EVENTS)), ["key"] * EVENTS)


async def kill_and_restart(cluster) -> None:
    await asyncio.to_thread(cluster.kill, "segmentstore")
    await asyncio.to_thread(cluster.restart, "segmentstore")


async def content(client: PravegaClient, stream: StreamName) -> list[bytes]:
    return [found.data async for found in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)]


async def test_a_read_continues_after_the_kill(cluster, client):
    stream = await make(client, "read")
    await fill(client, stream)
    found = []

    async for read in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), stream):
        found.append(read.data)
        if len(found) == EVENTS // 10:
            await kill_and_restart(cluster)

    assert found == [event(number) for number in range(EVENTS)]


async def test_a_bulk_read_continues_after_the_kill(cluster, client):
    stream = await make(client, "bulk")
    await fill(client, stream)

    def read() -> list[bytes]:
        found: list[bytes] = []
        with BlockingClient(client.config) as blocking:
            reader = BulkReader(blocking.locate, client.config)
            (part,) = blocking.plan(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)
            for block in reader.read(part, scan=scan_frames, block_bytes=1_000_000):
                if not found:
                    cluster.kill("segmentstore")
                    cluster.restart("segmentstore")
                ends = [*block.frames[1:], len(block.data)]
                found += [bytes(block.data[start + 8 : end]) for start, end in zip(block.frames, ends, strict=True)]
            reader.close()
        return found

    assert await asyncio.to_thread(read) == [event(number) for number in range(EVENTS)]


async def test_appends_continue_after_the_kill_each_event_once(cluster, client):
    stream = await make(client, "append")

    async with client.writer(stream.scope, stream.stream) as writer:
        killing = None
        for number in range(EVENTS):
            await writer.write(event(number), routing_key="key")
            if number == EVENTS // 3:
                killing = asyncio.create_task(kill_and_restart(cluster))
            if number % 100 == 0:
                await asyncio.sleep(0)
        assert killing is not None
        await killing

    assert await content(client, stream) == [event(number) for number in range(EVENTS)]


async def test_a_transaction_survives_the_kill(cluster, client):
    stream = await make(client, "transaction")

    async with client.transaction(stream.scope, stream.stream, lease=120) as transaction:
        await transaction.write_many((event(number) for number in range(EVENTS // 2)), ["key"] * (EVENTS // 2))
        await kill_and_restart(cluster)
        for number in range(EVENTS // 2, EVENTS):
            await transaction.write(event(number), routing_key="key")
    await transaction.wait_committed(60)

    assert await content(client, stream) == [event(number) for number in range(EVENTS)]


async def test_tokens_are_renewed_while_a_writer_and_a_reader_stay_open(client):
    stream = await make(client, "tokens")
    written = found = 0

    async with client.writer(stream.scope, stream.stream) as writer:
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
