"""Our writer, without Spark."""

import asyncio
import random

from aiopravega import PravegaClient, PravegaConfig, StreamName
from benchmarks.measure import Load, Measured, stopwatch

# Events handed over by one call: as many as make it cheap, and as few as keep the memory small.
_EVENTS_A_CALL = 10_000


async def _write(config: PravegaConfig, stream: StreamName, load: Load) -> Measured:
    payload = random.randbytes(load.size)
    async with PravegaClient(config) as client:
        with stopwatch() as watch:
            async with client.writer(stream.scope, stream.stream) as writer:
                for start in range(0, load.events, _EVENTS_A_CALL):
                    await writer.write_many([payload] * min(_EVENTS_A_CALL, load.events - start))
    return Measured(load.events, load.events * load.size, watch.seconds)


def write_events(config: PravegaConfig, stream: StreamName, load: Load) -> Measured:
    """Events without routing keys through the event writer, until all are durable."""
    return asyncio.run(_write(config, stream, load))
