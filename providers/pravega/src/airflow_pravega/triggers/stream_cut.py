"""The trigger of the sensor: waits on the triggerer's event loop until a stream has moved far enough."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from aiopravega import StreamCut
from aiopravega.errors import PravegaError
from airflow_pravega.clients import shared_client
from airflow_pravega.failures import to_event
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.waiting import end_if_moved


class PravegaStreamCutTrigger(BaseTrigger):
    """Fires once, when at least `min_bytes` are written behind the cut `since`.

    The event is `{"status": "moved", "start": text, "end": text}`, or `{"status": "error", "error": name of the class,
    "message": text}`. Nothing that it keeps is secret: credentials are looked up where it runs.

    Args:
        stream: the stream that `since` belongs to, as `scope/stream`; for people who look at the trigger.
        since: text of a StreamCut.
        min_bytes: bytes to wait for, event headers (8 bytes each) included.
        poll_interval: seconds between two looks.
        pravega_conn_id: id of the connection.
    """

    def __init__(self, stream: str, since: str, min_bytes: int, poll_interval: float, pravega_conn_id: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's triggers have no types
        self.stream = stream
        self.since = since
        self.min_bytes = min_bytes
        self.poll_interval = poll_interval
        self.pravega_conn_id = pravega_conn_id

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and the arguments, as plain JSON."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "stream": self.stream,
                "since": self.since,
                "min_bytes": self.min_bytes,
                "poll_interval": self.poll_interval,
                "pravega_conn_id": self.pravega_conn_id,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and yield the one event."""
        try:
            event = await self._wait()
        except PravegaError as error:
            event = to_event(error)
        yield TriggerEvent(event)

    async def _wait(self) -> dict[str, Any]:
        start = StreamCut.from_text(self.since)
        config = await PravegaHook(self.pravega_conn_id).aget_config()
        async with shared_client(config) as client:
            # Triggers that start together, as after a restart of the triggerer, do not go on in step.
            pause = random.uniform(0.0, self.poll_interval)
            while (end := await end_if_moved(client, start, self.min_bytes, check=False)) is None:
                await asyncio.sleep(pause)
                pause = self.poll_interval
        return {"status": "moved", "start": start.to_text(), "end": end.to_text()}
