"""Watermarks of a durable Pravega: its controller's own client makes them, and needs TLS and an account, too."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from tests.integration.durable import OFTEN

from aiopravega import PravegaClient
from pravega_emulator import DurablePravega

pytestmark = [pytest.mark.timeout(1500), pytest.mark.xdist_group("durable")]


async def first_watermark(server: DurablePravega) -> int:
    """The lower time of the first mark; a writer is dropped if it notes no time for a while, so it notes on."""
    async with PravegaClient(server.config) as client:
        await client.create_scope("marked")
        await client.create_stream("marked/stream")
        async with client.writer("marked/stream") as writer:
            await writer.write(b"event")
            await writer.flush()
            await writer.note_time(1_000)

            async def note_on() -> None:
                for time in range(1_001, 2_000):
                    await writer.note_time(time)
                    await asyncio.sleep(1)

            noting = asyncio.create_task(note_on())
            try:
                return await anext(mark.lower async for mark in client.watermarks("marked/stream", follow=True))
            finally:
                noting.cancel()
                await asyncio.gather(noting, return_exceptions=True)


async def test_a_cluster_with_tls_and_accounts_makes_watermarks(cluster):
    assert await first_watermark(cluster) >= 1_000


async def test_clusters_with_tls_or_accounts_make_watermarks():
    """Both at once: what a cluster needs to start is mostly waiting."""
    with ExitStack() as stack, ThreadPoolExecutor() as threads:
        servers = [DurablePravega(tls=True, settings=OFTEN), DurablePravega(auth=True, settings=OFTEN)]
        for server in threads.map(DurablePravega.start, servers):
            stack.callback(server.stop)
        assert min(await asyncio.gather(*map(first_watermark, servers))) >= 1_000
