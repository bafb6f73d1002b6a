"""Our writers, without Spark; as a program: single events through the asyncio writer and through the blocking one.

    python -m benchmarks.writers

All take turns, round by round, until their events are durable.
"""

import asyncio
import random
import threading
import uuid
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import repeat
from statistics import median
from typing import Final, Protocol

from aiopravega import PravegaClient, PravegaConfig, ScalingPolicy, StreamName
from aiopravega import blocking as without_await
from benchmarks.alone import measured
from benchmarks.measure import Load, Measured, stopwatch

# Events handed over by one call: as many as make it cheap, and as few as keep the memory small.
_EVENTS_A_CALL = 10_000
_SEGMENTS: Final = 4
_SIZE: Final = 100
_ROUNDS: Final = 5
_THREADS: Final = 4
_KEYS: Final = [f"customer-{number}" for number in range(1000)]


async def _write(config: PravegaConfig, stream: StreamName, calls: Iterable[list[bytes]]) -> float:
    async with PravegaClient(config) as client:
        with stopwatch() as watch:
            async with client.writer(stream) as writer:
                for events in calls:
                    await writer.write_many(events)
    return watch.seconds


def write_events(config: PravegaConfig, stream: StreamName, load: Load) -> Measured:
    """Events without routing keys through the event writer, until all are durable."""
    payload = random.randbytes(load.size)
    starts = range(0, load.events, _EVENTS_A_CALL)
    calls = ([payload] * min(_EVENTS_A_CALL, load.events - start) for start in starts)
    return Measured(load.events, load.events * load.size, asyncio.run(_write(config, stream, calls)))


def write_repeatedly(config: PravegaConfig, stream: StreamName, events: list[bytes], times: int) -> None:
    """The same events again and again, without routing keys, until all are durable."""
    asyncio.run(_write(config, stream, repeat(events, times)))


class _Writes(Protocol):
    def write(self, data: bytes, routing_key: str | None = None) -> None: ...


class SingleEvents:
    """Writes single events with routing keys, in several ways, each to a stream of its own."""

    def __init__(self, config: PravegaConfig, client: without_await.PravegaClient, events: int) -> None:
        self._config, self._client, self._events = config, client, events
        self._scope = f"bench-{uuid.uuid4().hex}"
        self._payload = random.randbytes(_SIZE)
        self._keys = [_KEYS[number % len(_KEYS)] for number in range(events)]
        client.create_scope(self._scope)

    def _new_stream(self) -> StreamName:
        stream = StreamName(self._scope, uuid.uuid4().hex)
        self._client.create_stream(stream, ScalingPolicy.fixed(_SEGMENTS))
        return stream

    def asyncio_writer(self) -> float:
        """Seconds for the asyncio writer."""

        async def write(stream: StreamName) -> float:
            async with PravegaClient(self._config) as client:
                with stopwatch() as watch:
                    async with client.writer(stream) as writer:
                        for key in self._keys:
                            await writer.write(self._payload, key)
                return watch.seconds

        return asyncio.run(write(self._new_stream()))

    def blocking_writer(self) -> float:
        """Seconds for the blocking writer."""
        stream = self._new_stream()
        return self._written(self._client.writer(stream))

    def blocking_transaction(self) -> float:
        """Seconds for a transaction of the blocking client."""
        stream = self._new_stream()
        return self._written(self._client.transaction(stream))

    def _written(self, opening: AbstractContextManager[_Writes]) -> float:
        with stopwatch() as watch, opening as writer:
            for key in self._keys:
                writer.write(self._payload, key)
        return watch.seconds

    def blocking_threads(self) -> float:
        """Seconds for threads that share a blocking writer, each with its part of the events."""
        stream = self._new_stream()

        def write(part: int) -> None:
            for key in self._keys[part::_THREADS]:
                writer.write(self._payload, key)

        with stopwatch() as watch, self._client.writer(stream) as writer:
            threads = [threading.Thread(target=write, args=(part,)) for part in range(_THREADS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return watch.seconds


async def measure(controller_uri: str, events: int) -> list[float]:
    """The median of the seconds of each way, and print all."""
    return await asyncio.to_thread(_measure, PravegaConfig(controller_uri=controller_uri), events)


def _measure(config: PravegaConfig, events: int) -> list[float]:
    with without_await.PravegaClient(config) as client:
        single = SingleEvents(config, client, events)
        ways: dict[str, Callable[[], float]] = {
            "asyncio writer": single.asyncio_writer,
            "blocking writer": single.blocking_writer,
            f"blocking writer, {_THREADS} threads": single.blocking_threads,
            "blocking transaction": single.blocking_transaction,
        }
        for way in ways.values():
            way()  # the first round of a new server is slow
        rounds = [{name: way() for name, way in ways.items()} for _ in range(_ROUNDS)]
    for name in ways:
        rates = sorted(events / seconds[name] for seconds in rounds)
        print(f"{name}: {median(rates):,.0f} events/s ({rates[0]:,.0f} to {rates[-1]:,.0f})")
    return [median(seconds[name] for seconds in rounds) for name in ways]


def main() -> None:
    """Measure, and print."""
    measured(__doc__, "events", 200_000, measure)


if __name__ == "__main__":
    main()
