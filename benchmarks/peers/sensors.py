"""The triggers of deferred sensors on one event loop, as in a triggerer, with the code of some checkout.

It must run with both releases that are compared, so it uses only what both of them have. See `sensor_commands`.
"""

import asyncio
import os
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from typing import Any, Final

os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="airflow-")

from airflow_pravega.triggers.next_range import PravegaNextRangeTrigger
from benchmarks.peers.sensor_commands import Sensors

_POLL_INTERVAL: Final = 5.0  # the sensors' default
_EVERY: Final = 0.1


def _condition() -> dict[str, Any]:
    """A byte is waited for: in the words of the release that runs."""
    if "condition" in PravegaNextRangeTrigger.__init__.__annotations__:
        return {"condition": {}}
    return {"min_bytes": 1, "quiet_for": 0.0, "sealed": False}


class Triggers(Sensors):
    """Triggers of ours."""

    def __init__(self) -> None:
        super().__init__()
        self._tasks: list[asyncio.Task[None]] = []
        self._made: list[PravegaNextRangeTrigger] = []

    async def _one(self, trigger: PravegaNextRangeTrigger) -> None:
        async for event in trigger.run():
            self.answer(f"{event.payload['status']} {event.payload.get('error', '')}".strip(), trigger.stream)

    async def start(self, scope: str, streams: int, sensors: int, until: float) -> int:
        """Each is the only one of its chain, as sensors of different DAGs are."""
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
        while self._unchecked() and time.monotonic() < until:  # noqa: ASYNC110 - nothing reports it
            await asyncio.sleep(_EVERY)
        return self._unchecked()

    def _unchecked(self) -> int:
        return sum(trigger._start is None for trigger in self._made)  # noqa: SLF001 - both releases have it


if __name__ == "__main__":
    asyncio.run(Triggers().serve(str(sys.modules[PravegaNextRangeTrigger.__module__].__file__ or "")))
