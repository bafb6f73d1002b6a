"""What the triggers share: they check again and again on the triggerer's event loop, with one client for all."""

import asyncio
import random
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from aiopravega import PravegaClient
from aiopravega.errors import PravegaError
from airflow_pravega.clients import shared_client
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.outage import Outage
from airflow_pravega.task_failures import to_event


class PravegaWaitingTrigger(BaseTrigger):
    """Fires once: when there is what it waits for, or with `{"status": "error", "error": class, "message": text}`.

    An error event is for what waiting cannot heal, such as a stream that was deleted. While the cluster is away it
    waits on: how long is for the sensor's timeout to say. Nothing that it keeps is secret: credentials are looked up
    where it runs.

    Args:
        stream: what it waits for, as `scope/stream`.
        poll_interval: seconds between two checks.
        pravega_conn_id: id of the connection.
        carried: plain JSON that the event has under `carried`: what the sensor has to know when it continues. Airflow
            has another way for it, but `dag.test()` drops that.
    """

    def __init__(
        self, stream: str, poll_interval: float, pravega_conn_id: str, carried: dict[str, Any] | None = None
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's triggers have no types
        self.stream = stream
        self.poll_interval = poll_interval
        self.pravega_conn_id = pravega_conn_id
        self.carried = carried or {}

    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """What it was made with besides the above, as plain JSON."""

    @abstractmethod
    async def check(self, client: PravegaClient) -> dict[str, Any] | None:
        """The event if there is what it waits for, or None."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and the arguments, as plain JSON."""
        common = {
            "stream": self.stream,
            "poll_interval": self.poll_interval,
            "pravega_conn_id": self.pravega_conn_id,
            "carried": self.carried,
        }
        return f"{type(self).__module__}.{type(self).__qualname__}", {**self.arguments(), **common}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and yield the one event."""
        try:
            event = await self._wait()
        except PravegaError as error:
            event = to_event(error)
        yield TriggerEvent({**event, "carried": self.carried})

    async def _wait(self) -> dict[str, Any]:
        outage = Outage(self.stream, self.log)
        async with aclosing(findings(self.check, outage, self.poll_interval, self.pravega_conn_id)) as found:
            return await anext(found)


async def findings(
    check: Callable[[PravegaClient], Awaitable[dict[str, Any] | None]],
    outage: Outage,
    poll_interval: float,
    pravega_conn_id: str,
) -> AsyncGenerator[dict[str, Any], None]:
    """What `check` finds with the client of a connection, without end; while the cluster is away, it waits.

    Args:
        check: what is there now, or None.
        outage: where the begin and the end of an outage are reported.
        poll_interval: seconds between two checks.
        pravega_conn_id: id of the connection.

    Raises:
        PravegaError: one that waiting cannot heal.
        AirflowNotFoundException: there is no such connection.
    """
    # Airflow fails a task whose trigger fires before its scheduler knows that the process which deferred has ended:
    # "finished with state success, but the task instance's state attribute is queued". So the sensor's own check is not
    # repeated at once. Triggers that start together, as in a new triggerer, do not continue in step. And Airflow starts
    # the trigger of a watcher again as soon as it has ended with an error: its checks must not come without a pause.
    await asyncio.sleep(poll_interval * random.uniform(1.0, 2.0))
    config = await PravegaHook(pravega_conn_id).aget_config()
    while True:
        try:
            async with AsyncExitStack() as stack:
                with outage.checking():
                    client = await stack.enter_async_context(shared_client(config))
                while True:
                    with outage.checking():
                        found = await check(client)
                    outage.succeeded()
                    if found is not None:
                        yield found
                    await asyncio.sleep(poll_interval)
        except PravegaError as error:
            outage.failed(error)
        await asyncio.sleep(poll_interval)
