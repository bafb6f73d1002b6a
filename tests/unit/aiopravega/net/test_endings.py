"""How a connection ends: closed by us, or found out to be without a server."""

import asyncio

import pytest

from aiopravega import wire
from aiopravega.errors import PravegaConnectionError, PravegaTimeoutError

PATIENT = 60.0


def ask(connection):
    request = wire.GetStreamSegmentInfo(connection.next_request_id(), "s", "")
    return connection.request(request, PATIENT)


async def test_closing_fails_those_who_wait_and_may_be_repeated(connect):
    asked, ended = asyncio.Event(), asyncio.Event()

    async def play(peer):
        await peer.receive()
        asked.set()
        await peer.closed()
        ended.set()

    connection = await connect(play)
    waiting = asyncio.create_task(ask(connection))
    await asked.wait()

    await connection.close()
    await connection.close()

    with pytest.raises(PravegaConnectionError, match="the connection was closed"):
        await waiting
    await ended.wait()


async def test_keep_alives_are_sent_and_their_answers_keep_the_connection(connect):
    enough = asyncio.Event()

    async def play(peer):
        for _ in range(5):
            kind, _ = wire.parse_header(await peer.reader.readexactly(wire.FRAME_HEADER))
            assert kind == wire.KeepAlive.TYPE
            peer.send(wire.KeepAlive())
        enough.set()
        request = await peer.receive()
        peer.send(wire.NoSuchSegment(request.request_id, "still here"))
        await peer.closed()

    connection = await connect(play, keep_alive=0.2)
    await enough.wait()

    assert (await ask(connection)).segment == "still here"


async def test_a_server_that_is_silent_for_long_is_gone(connect):
    ended = asyncio.Event()

    async def play(peer):
        await peer.closed()
        ended.set()

    connection = await connect(play, keep_alive=0.02)

    with pytest.raises(PravegaTimeoutError, match=r"has been silent for 0\.06 s") as gone:
        await ask(connection)
    assert gone.value.retryable
    assert connection.closed
    await ended.wait()
