"""Streams whose writers note times, and the marks that a real controller makes of them."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from aiopravega import PravegaClient, ScalingPolicy, StreamCut, StreamName

MakeTimed = Callable[..., Awaitable[StreamName]]
Write = Callable[..., Awaitable[StreamCut]]


@pytest.fixture
def make_timed(client: PravegaClient, scope: str) -> MakeTimed:
    """Makes streams whose marks wait for a silent writer for a minute."""

    async def make(segments: int = 1, name: str = "stream") -> StreamName:
        stream = StreamName(scope, name)
        minute = timedelta(minutes=1)
        assert await client.create_stream(
            f"{scope}/{name}", ScalingPolicy.fixed(segments), timestamp_aggregation_timeout=minute
        )
        return stream

    return make


@pytest.fixture
def write(client: PravegaClient) -> Write:
    """Writes events under many keys, and returns the tail after them."""

    async def write_events(stream: StreamName, count: int = 20) -> StreamCut:
        async with client.writer(stream) as writer:
            await writer.write_many([b"event"] * count, [str(number) for number in range(count)])
        return await client.tail(stream)

    return write_events
