"""What the triggers share: they check again and again on the triggerer's event loop, with one client for all."""

import asyncio
import random
from abc import abstractmethod
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from aiopravega import PravegaClient
from aiopravega.errors import PravegaError
from airflow_pravega.clients import shared_client
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.task_failures import to_event


class PravegaWaitingTrigger(BaseTrigger):
    """Fires once: when there is what it waits for, or with `{"status": "error", "error": class, "message": text}`.

    Nothing that it keeps is secret: credentials are looked up where it runs.

    Args:
        poll_interval: seconds between two checks.
        pravega_conn_id: id of the connection.
    """

    def __init__(self, poll_interval: float, pravega_conn_id: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's triggers have no types
        self.poll_interval = poll_interval
        self.pravega_conn_id = pravega_conn_id

    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """What it was made with besides the above, as plain JSON."""

    @abstractmethod
    async def check(self, client: PravegaClient) -> dict[str, Any] | None:
        """The event if there is what it waits for, or None."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and the arguments, as plain JSON."""
        common = {"poll_interval": self.poll_interval, "pravega_conn_id": self.pravega_conn_id}
        return f"{type(self).__module__}.{type(self).__qualname__}", {**self.arguments(), **common}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and yield the one event."""
        try:
            event = await self._wait()
        except PravegaError as error:
            event = to_event(error)
        yield TriggerEvent(event)

    async def _wait(self) -> dict[str, Any]:
        config = await PravegaHook(self.pravega_conn_id).aget_config()
        async with shared_client(config) as client:
            # Triggers that start together, as after a restart of the triggerer, do not continue in step.
            pause = random.uniform(0.0, self.poll_interval)
            while (event := await self.check(client)) is None:
                await asyncio.sleep(pause)
                pause = self.poll_interval
        return event
