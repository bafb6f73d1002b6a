"""Retention that waits for a subscriber: it removes what has been reported, and nothing else."""

import asyncio
import time

import pytest

from aiopravega import PravegaClient, PravegaConfig, RetentionPolicy, ScalingPolicy
from pravega_emulator import PravegaEmulator

# Pravega checks once a minute at the most; first it notes where the stream is, then it truncates. The standalone server
# takes settings of its controller from the JVM only.
TICKS = "-Dcontroller.retention.frequency.minutes=1"
SECONDS = 300


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 120)
async def test_retention_removes_what_a_subscriber_has_reported(monkeypatch):
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", TICKS)
    with PravegaEmulator() as server:
        async with PravegaClient(PravegaConfig(controller_uri=server.controller_uri)) as client:
            await client.create_scope("examples")
            policy = RetentionPolicy.bytes(1000, maximum=10**9)
            for stream in ("reported", "waiting"):
                await client.create_stream(f"examples/{stream}", ScalingPolicy.fixed(2), policy)
                await client.subscribe(f"examples/{stream}", "etl")
                await write(client, stream)
            middle = await client.tail("examples/reported")
            await client.report("examples/reported", "etl", middle)
            await write(client, "reported")

            deadline = time.monotonic() + SECONDS
            while (head := await client.head("examples/reported")) != middle:
                assert set(head.positions.values()) == {0}
                assert time.monotonic() < deadline, head
                await asyncio.sleep(1)

            assert set((await client.head("examples/waiting")).positions.values()) == {0}


async def write(client: PravegaClient, stream: str) -> None:
    async with client.writer(f"examples/{stream}") as writer:
        for number in range(100):
            await writer.write(b"event" * 20, routing_key=str(number))
