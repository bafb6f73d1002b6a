"""The blocking connection: fills buffers exactly, and never waits beyond its limit."""

import asyncio
import random

import pytest

from aiopravega import wire
from aiopravega.errors import PravegaConnectionError, PravegaTimeoutError
from aiopravega.net import BulkConnection

PATIENT = 60.0
# More than sockets keep while nobody reads.
MUCH = 96 * 1024 * 1024


@pytest.fixture
async def open_bulk(serve):
    opened = []

    async def make(play, timeout=PATIENT, client_tls=None, **options):
        opened.append(await asyncio.to_thread(BulkConnection.open, await serve(play, **options), client_tls, timeout))
        return opened[-1]

    yield make
    for connection in opened:
        connection.close()


def receive(connection, size):
    buffer = bytearray(size)
    connection.receive_into(memoryview(buffer))
    return bytes(buffer)


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
async def test_a_buffer_is_filled_from_many_pieces(open_bulk, server_tls, client_tls, secure):
    data = random.Random(7).randbytes(3_000_000)

    async def play(peer):
        request = await peer.receive()
        assert request == wire.ReadSegment("s", 0, len(data), "", 0)
        for start in range(0, len(data), 99_999):
            peer.send(data[start : start + 99_999])
            await peer.writer.drain()
        await peer.closed()

    tls = {"tls": server_tls, "client_tls": client_tls} if secure else {}
    connection = await open_bulk(play, **tls)
    await asyncio.to_thread(connection.send, wire.encode(wire.ReadSegment("s", 0, len(data), "", 0)))

    assert await asyncio.to_thread(receive, connection, 10) == data[:10]
    assert await asyncio.to_thread(receive, connection, len(data) - 10) == data[10:]


async def test_an_empty_buffer_is_full(open_bulk):
    async def play(peer):
        await peer.closed()

    assert receive(await open_bulk(play), 0) == b""


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
async def test_nothing_comes_within_the_limit(open_bulk, server_tls, client_tls, secure):
    async def play(peer):
        peer.send(b"ab")
        await peer.closed()

    tls = {"tls": server_tls, "client_tls": client_tls} if secure else {}
    connection = await open_bulk(play, timeout=1.0, **tls)

    with pytest.raises(PravegaTimeoutError, match=f"receiving from {connection.endpoint}: no answer"):
        await asyncio.to_thread(receive, connection, 3)


async def test_nothing_is_taken_within_the_limit(open_bulk):
    async def play(_peer):
        await asyncio.Event().wait()  # until the test is over

    connection = await open_bulk(play, timeout=1.0)

    with pytest.raises(PravegaTimeoutError, match=f"sending to {connection.endpoint}"):
        await asyncio.to_thread(connection.send, bytes(MUCH))


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
async def test_a_connection_that_ends_early_is_lost(open_bulk, server_tls, client_tls, secure):
    async def play(peer):
        peer.send(b"ab")

    tls = {"tls": server_tls, "client_tls": client_tls} if secure else {}
    connection = await open_bulk(play, **tls)

    with pytest.raises(PravegaConnectionError, match="closed") as lost:
        await asyncio.to_thread(receive, connection, 3)
    assert lost.value.retryable


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
async def test_a_connection_that_is_reset_is_lost(open_bulk, server_tls, client_tls, secure):
    async def play(peer):
        peer.reset()

    tls = {"tls": server_tls, "client_tls": client_tls} if secure else {}
    connection = await open_bulk(play, **tls)

    with pytest.raises(PravegaConnectionError) as lost:
        await asyncio.to_thread(receive, connection, 1)
    assert lost.value.retryable
    with pytest.raises(PravegaConnectionError):
        await asyncio.to_thread(connection.send, bytes(MUCH))


async def test_the_end_of_the_block_ends_the_connection(open_bulk):
    ended = asyncio.Event()

    async def play(peer):
        await peer.closed()
        ended.set()

    with await open_bulk(play):
        pass

    await ended.wait()
