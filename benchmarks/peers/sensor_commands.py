"""Commands of the processes of `benchmarks.sensors`, with our triggers or with readers of the official client.

wait SCOPE STREAMS SENSORS LIMIT   start the sensors, and wait until each has checked once, for at most LIMIT seconds
idle SECONDS                       CPU seconds and seconds of a time in which nothing is written
fired COUNT LIMIT                  for each stream the times (`time.time`) at which sensors fired, once there are COUNT
"""

import asyncio
import json
import resource
import sys
import time
from abc import ABC, abstractmethod
from typing import Any, Final

import psutil

_MEGABYTE: Final = 1e6
_EVERY: Final = 0.1


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def megabytes() -> float:
    """The memory of this process."""
    return float(psutil.Process().memory_info().rss) / _MEGABYTE


class Sensors(ABC):
    """As many sensors as are asked for, and what they have fired."""

    def __init__(self) -> None:
        self._fired: dict[str, list[float]] = {}
        self._statuses: dict[str, int] = {}
        self._answers = 0

    def answer(self, status: str, stream: str | None = None) -> None:
        """Take down what a sensor has ended with; with a stream, it has fired."""
        if stream is not None:
            self._fired.setdefault(stream, []).append(time.time())
        self._statuses[status] = self._statuses.get(status, 0) + 1
        self._answers += 1

    @abstractmethod
    async def start(self, scope: str, streams: int, sensors: int, until: float) -> int:
        """Start sensors, until `time.monotonic()` is `until`; how many do not wait yet."""

    async def _wait(self, scope: str, streams: int, sensors: int, limit: float) -> dict[str, Any]:
        before, began = megabytes(), time.monotonic()
        unchecked = await self.start(scope, streams, sensors, began + limit)
        return {"megabytes": megabytes() - before, "seconds": time.monotonic() - began, "unchecked": unchecked}

    async def _idle(self, seconds: float) -> dict[str, Any]:
        cpu, began = _cpu_seconds(), time.monotonic()
        await asyncio.sleep(seconds)
        return {"cpu": _cpu_seconds() - cpu, "seconds": time.monotonic() - began}

    async def _ended(self, count: int, limit: float) -> dict[str, Any]:
        began = time.monotonic()
        while self._answers < count and time.monotonic() < began + limit:  # noqa: ASYNC110 - nothing reports it
            await asyncio.sleep(_EVERY)
        process = {"threads": psutil.Process().num_threads(), "megabytes": megabytes(), "cpu": _cpu_seconds()}
        return {"fired": self._fired, "statuses": self._statuses, **process}

    async def serve(self, code: str) -> None:
        """Answer lines until there are none; first, whose code runs."""
        print(json.dumps({"code": code}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            match line.split():
                case ["wait", scope, streams, sensors, limit]:
                    answer = await self._wait(scope, int(streams), int(sensors), float(limit))
                case ["idle", seconds]:
                    answer = await self._idle(float(seconds))
                case ["fired", count, limit]:
                    answer = await self._ended(int(count), float(limit))
                case other:
                    raise ValueError(other)
            print(json.dumps(answer), flush=True)
