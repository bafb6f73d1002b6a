"""The pool: one connection per segment store, made once however many ask, and replaced when it is lost."""

import asyncio
import uuid

import pytest

from aiopravega import wire
from aiopravega.errors import PravegaConnectionError, PravegaError, PravegaTimeoutError
from aiopravega.net import ConnectionPool

PATIENT = 60.0


@pytest.fixture
async def pool():
    pool = ConnectionPool(None, PATIENT)
    yield pool
    await pool.close()


class Store:
    """A part to play that counts its connections and ends them on request."""

    def __init__(self):
        self.connections = 0
        self.ended = 0
        self.peers = []

    async def __call__(self, peer):
        self.connections += 1
        self.peers.append(peer)
        await peer.closed()
        self.ended += 1


async def test_those_who_ask_together_share_one_connection(serve, pool):
    store = Store()
    endpoint = await serve(store)

    connections = await asyncio.gather(*(pool.get(endpoint) for _ in range(20)))

    assert len(set(connections)) == 1
    assert await pool.get(endpoint) is connections[0]
    assert store.connections == 1


async def test_each_segment_store_has_its_own(serve, pool):
    first, second = await pool.get(await serve(Store())), await pool.get(await serve(Store()))

    assert first is not second


async def test_a_connection_that_is_lost_is_replaced_once(serve, pool):
    store = Store()
    endpoint = await serve(store)
    lost = await pool.get(endpoint)
    ended = asyncio.Event()
    lost.register_writer(uuid.uuid4(), lambda _: None, lambda _: ended.set())
    store.peers[0].reset()
    await ended.wait()

    replaced = await asyncio.gather(*(pool.get(endpoint) for _ in range(5)))

    assert len(set(replaced)) == 1
    assert replaced[0] is not lost
    assert not replaced[0].closed


async def test_a_failure_reaches_all_waiting_callers_and_is_not_remembered(serve, pool):
    attempts = 0

    async def play(peer):
        nonlocal attempts
        attempts += 1
        await peer.receive()
        if attempts > 1:
            peer.send(wire.Hello(16, 5))
            await peer.closed()

    endpoint = await serve(play, greet=False)

    failed = await asyncio.gather(*(pool.get(endpoint) for _ in range(3)), return_exceptions=True)

    assert [type(error) for error in failed] == [PravegaConnectionError] * 3
    assert attempts == 1
    assert not (await pool.get(endpoint)).closed


async def test_a_cancelled_caller_leaves_the_connection_to_the_others(serve, pool):
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def play(peer):
        await peer.receive()
        asked.set()
        await go_on.wait()
        peer.send(wire.Hello(16, 5))
        await peer.closed()

    endpoint = await serve(play, greet=False)
    cancelled, other = [asyncio.create_task(pool.get(endpoint)) for _ in range(2)]
    await asked.wait()
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    go_on.set()

    assert not (await other).closed


async def test_the_time_limit_is_kept(serve):
    async def play(peer):
        await peer.closed()

    pool = ConnectionPool(None, 0.1)
    with pytest.raises(PravegaTimeoutError):
        await pool.get(await serve(play, greet=False))
    await pool.close()


async def test_closing_ends_all_connections_forever(serve):
    pool = ConnectionPool(None, PATIENT)
    endpoint = await serve(Store())
    connection = await pool.get(endpoint)

    await pool.close()
    await pool.close()

    assert connection.closed
    with pytest.raises(PravegaError, match="this client is closed") as refused:
        await pool.get(endpoint)
    assert not refused.value.retryable


async def test_closing_ends_what_is_being_opened(serve):
    asked, ended = asyncio.Event(), asyncio.Event()

    async def play(peer):
        await peer.receive()
        asked.set()
        await peer.closed()
        ended.set()

    pool = ConnectionPool(None, PATIENT)
    waiting = asyncio.create_task(pool.get(await serve(play, greet=False)))
    await asked.wait()

    await pool.close()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    await ended.wait()
