"""Waiting for events by the official Python client (`pravega` on PyPI); see `sensor_commands`.

The client has no call for the tail of a stream. So a sensor is a reader of a reader group of its own that starts at the
tail, by a client of its own, as tasks of different DAGs would have it; it fires at its first event.
"""

import asyncio
import sys
import time
import uuid
from typing import Any

import pravega_client

from benchmarks.peers.sensor_commands import Sensors


class OfficialSensors(Sensors):
    """Readers of the official client."""

    def __init__(self, controller: str) -> None:
        super().__init__()
        self._controller = controller
        self._clients: list[Any] = []
        self._tasks: list[asyncio.Task[None]] = []

    def _open(self, scope: str, stream: str) -> Any:
        manager = pravega_client.StreamManager(self._controller)
        name = f"sensor-{uuid.uuid4().hex}"
        group = manager.create_reader_group(name, scope, stream, True)
        self._clients += [manager, group]
        return group.create_reader(name)

    async def _one(self, reader: Any, stream: str) -> None:
        while True:
            try:
                part = await reader.get_segment_slice_async()
            except Exception as error:  # noqa: BLE001 - what ends a sensor is what is measured
                self.answer(f"{type(error).__name__}: {error}")
                return
            if next(iter(part), None) is not None:
                self.answer("event", stream)
                return
            reader.release_segment(part)

    async def start(self, scope: str, streams: int, sensors: int, until: float) -> int:
        """One after the other: the calls block."""
        for number in range(sensors):
            if time.monotonic() > until:
                return sensors - number
            stream = f"stream-{number % streams}"
            reader = await asyncio.to_thread(self._open, scope, stream)
            self._tasks.append(asyncio.create_task(self._one(reader, f"{scope}/{stream}")))
        return 0


if __name__ == "__main__":
    asyncio.run(OfficialSensors(sys.argv[1]).serve("pravega"))
