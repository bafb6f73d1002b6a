"""Writers that could fill a small server's cache within a second go as slowly as it needs, and all events get in."""

import asyncio

import pytest

from aiopravega import UNBOUNDED, PravegaClient, ScalingPolicy, StreamCutRange, StreamName
from pravega_emulator import PravegaEmulator

CACHE_MEGABYTES = 128
WRITERS = 3
EVENT = bytes(1_000)
EVENTS = 400_000
CALL = 10_000


@pytest.mark.slow
async def test_three_writers_at_full_speed_do_not_overflow_a_small_cache() -> None:
    stream = StreamName("small", "cache")
    with PravegaEmulator(cache_megabytes=CACHE_MEGABYTES, heap_megabytes=512) as server:
        async with PravegaClient(server.config) as client:
            await client.create_scope(stream.scope)
            await client.create_stream(stream, scaling=ScalingPolicy.fixed(4))

            async def write() -> None:
                async with client.writer(stream) as writer:
                    for _ in range(EVENTS // CALL):
                        await writer.write_many([EVENT] * CALL)

            await asyncio.gather(*(write() for _ in range(WRITERS)))
            parts = await client.plan(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)
            assert sum(part.size for part in parts) == WRITERS * EVENTS * (len(EVENT) + 8)
