"""The triggers of deferred sensors on one event loop, as in a triggerer, with the code of some checkout.

wait SCOPE STREAMS SENSORS LIMIT   start the triggers, and wait until each has checked once, for at most LIMIT seconds
idle SECONDS                       CPU seconds and seconds of a time in which nothing is written
fired COUNT LIMIT                  for each stream the times (`time.time`) at which triggers fired, once there are COUNT

It must run with both releases that are compared, so it uses only what both of them have.
"""

import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="airflow-")

import psutil

from airflow_pravega.triggers.next_range import PravegaNextRangeTrigger

_POLL_INTERVAL: Final = 5.0  # the sensors' default
_MEGABYTE: Final = 1e6
_EVERY: Final = 0.1


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _megabytes() -> float:
    return float(psutil.Process().memory_info().rss) / _MEGABYTE


def _condition() -> dict[str, Any]:
    """A byte is waited for: in the words of the release that runs."""
    if "condition" in PravegaNextRangeTrigger.__init__.__annotations__:
        return {"condition": {}}
    return {"min_bytes": 1, "quiet_for": 0.0, "sealed": False}


class Triggers:
    """As many as are asked for, and what they have fired."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._made: list[PravegaNextRangeTrigger] = []
        self._fired: dict[str, list[float]] = {}
        self._statuses: dict[str, int] = {}
        self._answers = 0

    async def _one(self, trigger: PravegaNextRangeTrigger) -> None:
        async for event in trigger.run():
            self._fired.setdefault(trigger.stream, []).append(time.time())
            self._answers += 1
            status = f"{event.payload['status']} {event.payload.get('error', '')}".strip()
            self._statuses[status] = self._statuses.get(status, 0) + 1

    async def wait(self, scope: str, streams: int, sensors: int, limit: float) -> dict[str, Any]:
        """Start the triggers: each is the only one of its chain, as sensors of different DAGs are."""
        before, began = _megabytes(), time.monotonic()
        deadline = (datetime.now(UTC) + timedelta(hours=6)).isoformat()
        for number in range(sensors):
            trigger = PravegaNextRangeTrigger(
                stream=f"{scope}/stream-{number % streams}",
                consumer=f"dag-{number}/wait",
                interval="2026-01-01T00:00:00+00:00",
                order="2026-01-01T00:00:00.000000+00:00",
                **_condition(),
                on_open="wait",
                on_truncated="fail",
                deadline=deadline,
                poll_interval=_POLL_INTERVAL,
                pravega_conn_id="pravega_default",
            )
            self._made.append(trigger)
            self._tasks.append(asyncio.create_task(self._one(trigger)))
        while self._unchecked() and time.monotonic() < began + limit:  # noqa: ASYNC110 - nothing reports it
            await asyncio.sleep(_EVERY)
        return {"megabytes": _megabytes() - before, "seconds": time.monotonic() - began, "unchecked": self._unchecked()}

    def _unchecked(self) -> int:
        return sum(trigger._start is None for trigger in self._made)  # noqa: SLF001 - both releases have it

    async def idle(self, seconds: float) -> dict[str, Any]:
        """Let the triggers wait."""
        cpu, began = _cpu_seconds(), time.monotonic()
        await asyncio.sleep(seconds)
        return {"cpu": _cpu_seconds() - cpu, "seconds": time.monotonic() - began}

    async def fired(self, count: int, limit: float) -> dict[str, Any]:
        """What has fired, once there is enough."""
        began = time.monotonic()
        while self._answers < count and time.monotonic() < began + limit:  # noqa: ASYNC110 - nothing reports it
            await asyncio.sleep(_EVERY)
        return {"fired": self._fired, "statuses": self._statuses, "megabytes": _megabytes(), "cpu": _cpu_seconds()}


async def main() -> None:
    """Answer lines until there are none."""
    triggers = Triggers()
    print(json.dumps({"code": str(Path(sys.modules[PravegaNextRangeTrigger.__module__].__file__ or ""))}), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        match line.split():
            case ["wait", scope, streams, sensors, limit]:
                answer = await triggers.wait(scope, int(streams), int(sensors), float(limit))
            case ["idle", seconds]:
                answer = await triggers.idle(float(seconds))
            case ["fired", count, limit]:
                answer = await triggers.fired(int(count), float(limit))
            case other:
                raise ValueError(other)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
