"""The trigger of the sensor for event times: waits on the triggerer's event loop until a stream is complete."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from aiopravega import StreamName
from aiopravega.errors import PravegaError
from aiopravega.event_time import Reach
from airflow_pravega.clients import shared_client
from airflow_pravega.failures import to_event
from airflow_pravega.hooks.pravega import PravegaHook


class PravegaEventTimeTrigger(BaseTrigger):
    """Fires once, when a stream's watermarks say that it is complete up to a time.

    The event is `{"status": "complete"}`, or `{"status": "error", "error": name of the class, "message": text}`.
    Nothing that it keeps is secret: credentials are looked up where it runs.

    Args:
        stream: `scope/stream`.
        until: the time, as the stream's writers count it.
        poll_interval: seconds between two looks.
        pravega_conn_id: id of the connection.
    """

    def __init__(self, stream: str, until: int, poll_interval: float, pravega_conn_id: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's triggers have no types
        self.stream = stream
        self.until = until
        self.poll_interval = poll_interval
        self.pravega_conn_id = pravega_conn_id

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and the arguments, as plain JSON."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "stream": self.stream,
                "until": self.until,
                "poll_interval": self.poll_interval,
                "pravega_conn_id": self.pravega_conn_id,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and yield the one event."""
        try:
            await self._wait()
            event: dict[str, Any] = {"status": "complete"}
        except PravegaError as error:
            event = to_event(error)
        yield TriggerEvent(event)

    async def _wait(self) -> None:
        name = StreamName.parse(self.stream)
        config = await PravegaHook(self.pravega_conn_id).aget_config()
        async with shared_client(config) as client:
            # Triggers that start together, as after a restart of the triggerer, do not go on in step.
            pause = random.uniform(0.0, self.poll_interval)
            while (await client.cut_at(name.scope, name.stream, self.until)).reach is Reach.NOT_YET:
                await asyncio.sleep(pause)
                pause = self.poll_interval
