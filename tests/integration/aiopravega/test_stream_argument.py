"""The two-text form of the client's methods, which programs of before have: it works for each of them, in both clients.

Methods are called in the order of a stream's life; types show the other form only, so the clients are Any here.
"""

import asyncio
import inspect
from typing import Any

import pytest

from aiopravega import PravegaClient, ScalingPolicy, StreamName, blocking
from aiopravega.control import TransactionState
from aiopravega.errors import NotVisibleError


def taking_a_stream() -> set[str]:
    """The methods of the client whose first parameter is a stream."""
    methods = inspect.getmembers(PravegaClient, inspect.isfunction)
    first = {name: list(inspect.signature(method).parameters)[1:2] for name, method in methods}
    return {name for name, given in first.items() if given == ["stream"] and not name.startswith("_")}


class Recording:
    """Calls the methods of a client with two texts, and remembers their names."""

    def __init__(self, client: Any, stream: StreamName, *, by_keyword: bool) -> None:
        self.called: set[str] = set()
        self._client, self._stream, self._by_keyword = client, stream, by_keyword

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.called.add(name)
            method, stream = getattr(self._client, name), self._stream
            if self._by_keyword and not args:
                return method(scope=stream.scope, stream=stream.stream, **kwargs)
            return method(stream.scope, stream.stream, *args, **kwargs)

        return call


@pytest.mark.parametrize("by_keyword", [False, True])
async def test_every_method_of_the_asyncio_client_takes_two_texts(client, scope, by_keyword):
    stream = StreamName(scope, "orders")
    two: Any = Recording(client, stream, by_keyword=by_keyword)
    assert await two.create_stream(scaling=ScalingPolicy.fixed(1))
    assert await two.stream_exists()
    async with two.writer(writer_id="shop") as writer:
        await writer.write(b"one", routing_key="a")
    async with two.transaction(lease=30) as transaction:
        await transaction.write(b"two", routing_key="a")
    async with two.follow(since="earliest") as follower:
        assert {(await anext(follower)).data for _ in range(2)} == {b"one", b"two"}
    opened = await two.open_transaction(lease=30)
    assert await two.attach_transaction(opened.txn_id).state() is TransactionState.OPEN
    await opened.abort()
    head, tail = await two.head(), await two.tail()
    assert head.stream == tail.stream == stream
    await two.subscribe("etl", head)
    await two.report("etl", tail)
    assert await two.subscribers() == ["etl"]
    assert await two.unsubscribe("etl")
    await two.note_time("shop", 1_000)
    async for mark in two.watermarks(follow=True):
        assert mark.lower == 1_000
        break
    assert (await two.cut_at(1_000)).required().stream == stream
    assert (await two.range_for((0, 1_000))).stream == stream
    await client.commit_ledger(scope).create()
    assert await two.written("nightly") == []
    with pytest.raises(NotVisibleError, match="does not know the write"):
        await two.visible_write("nightly")
    with pytest.raises(NotVisibleError, match="does not know the write"):
        await anext(two.read_visible("nightly"))
    await two.scale_stream(2)
    await two.seal_stream()
    assert await two.is_sealed()
    assert await two.delete_stream()
    assert two.called == taking_a_stream()


@pytest.mark.parametrize("by_keyword", [False, True])
async def test_every_method_of_the_blocking_client_takes_two_texts(pravega_config, scope, by_keyword):
    def life() -> set[str]:
        with blocking.PravegaClient(pravega_config) as client:
            stream = StreamName(scope, "orders")
            two: Any = Recording(client, stream, by_keyword=by_keyword)
            assert two.create_stream(scaling=ScalingPolicy.fixed(1))
            assert two.stream_exists()
            with two.writer(writer_id="shop") as writer:
                writer.write(b"one", routing_key="a")
            with two.transaction(lease=30) as transaction:
                transaction.write(b"two", routing_key="a")
            with two.follow(since="earliest") as follower:
                assert {next(follower).data for _ in range(2)} == {b"one", b"two"}
            opened = two.open_transaction(lease=30)
            assert two.attach_transaction(opened.txn_id).state() is TransactionState.OPEN
            opened.abort()
            head, tail = two.head(), two.tail()
            assert head.stream == tail.stream == stream
            two.subscribe("etl", head)
            two.report("etl", tail)
            assert two.subscribers() == ["etl"]
            assert two.unsubscribe("etl")
            two.note_time("shop", 1_000)
            assert next(two.watermarks(follow=True)).lower == 1_000
            assert two.cut_at(1_000).required().stream == stream
            assert two.range_for((0, 1_000)).stream == stream
            client.commit_ledger(scope).create()
            assert two.written("nightly") == []
            with pytest.raises(NotVisibleError, match="does not know the write"):
                two.visible_write("nightly")
            with pytest.raises(NotVisibleError, match="does not know the write"):
                next(two.read_visible("nightly"))
            two.scale_stream(2)
            two.seal_stream()
            assert two.is_sealed()
            assert two.delete_stream()
            return set(two.called)

    assert await asyncio.to_thread(life) == taking_a_stream()
