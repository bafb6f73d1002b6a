"""What the triggers share: they wait for changes of a stream, which one loop of the triggerer finds for all of them."""

import asyncio
import random
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, Protocol

from airflow.triggers.base import BaseTrigger, TriggerEvent

from aiopravega import PravegaClient, StreamName
from aiopravega.errors import PravegaError
from airflow_pravega.clients import shared_client
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.looks import Question, Seen, TailOf, shared_look
from airflow_pravega.outage import Outage
from airflow_pravega.task_failures import to_event

GAVE_UP: Final = "gave_up"


class PravegaWaitingTrigger(BaseTrigger):
    """Fires once: when there is what it waits for, or with `{"status": "error", "error": class, "message": text}`.

    An error event is for what waiting cannot heal, such as a stream that was deleted. While the cluster is away it
    continues to wait: the sensor's timeout says how long. Nothing that it keeps is secret: credentials are looked up
    where it runs.

    Args:
        stream: what it waits for, as `scope/stream`.
        poll_interval: seconds between two checks, at most.
        pravega_conn_id: id of the connection.
        carried: plain JSON that the event has under `carried`: what the sensor has to know when it continues. Airflow
            has another way for it, but `dag.test()` drops that.
        give_up_at: when it fires in any case, with `{"status": "gave_up"}`; a time in ISO 8601 with its zone.
    """

    # Names of the arguments, and attributes, that a trigger has besides those above; their values are plain JSON.
    own: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        *,
        stream: str,
        poll_interval: float,
        pravega_conn_id: str,
        carried: dict[str, Any] | None = None,
        give_up_at: str | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's triggers have no types
        self.stream = stream
        self.poll_interval = poll_interval
        self.pravega_conn_id = pravega_conn_id
        self.carried = carried or {}
        self.give_up_at = give_up_at

    def question(self, scope: str | None) -> Question[Any]:
        """What it asks about the stream; `scope` is the connection's default one.

        Raises:
            PravegaError: what it was made with cannot work.
        """
        return TailOf(StreamName.parse(self.stream, scope))

    @property
    def checks_again(self) -> bool:
        """Whether a check may find more than the one before it, although the answer about the stream is the same."""
        return False

    @abstractmethod
    async def check(self, client: PravegaClient, seen: Seen[Any]) -> dict[str, Any] | None:
        """The event if there is what it waits for, or None; `seen` is the newest answer about the stream."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and the arguments, as plain JSON."""
        names = (*self.own, "stream", "poll_interval", "pravega_conn_id", "carried", "give_up_at")
        return f"{type(self).__module__}.{type(self).__qualname__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and yield the one event."""
        try:
            event = await self._wait()
        except PravegaError as error:
            event = to_event(error)
        yield TriggerEvent({**event, "carried": self.carried})

    async def _wait(self) -> dict[str, Any]:
        seconds = None
        if self.give_up_at is not None:
            seconds = (datetime.fromisoformat(self.give_up_at) - datetime.now(UTC)).total_seconds()
        try:
            async with asyncio.timeout(seconds) as limit, aclosing(findings(self)) as found:
                return await anext(found)
        except TimeoutError:
            if not limit.expired():
                raise
            return {"status": GAVE_UP}


class Waiting(Protocol):
    """A trigger that waits for a stream; see `PravegaWaitingTrigger`."""

    poll_interval: float
    pravega_conn_id: str

    @property
    def log(self) -> Any:
        """Its log."""

    @property
    def checks_again(self) -> bool:
        """Whether a check may find more than the one before it, although the answer about the stream is the same."""

    def question(self, scope: str | None) -> Question[Any]:
        """What it asks about the stream."""

    async def check(self, client: PravegaClient, seen: Seen[Any]) -> dict[str, Any] | None:
        """What is there now, or None."""


async def findings(trigger: Waiting) -> AsyncGenerator[dict[str, Any], None]:
    """What a trigger's checks find, without end; while the cluster is away, it waits.

    Raises:
        PravegaError: one that waiting cannot heal.
        AirflowNotFoundException: there is no such connection.
    """
    # Airflow fails a task whose trigger fires before its scheduler knows that the process which deferred has ended:
    # "finished with state success, but the task instance's state attribute is queued". So the sensor's own check is not
    # repeated at once. Triggers that start together, as in a new triggerer, do not continue in step. And Airflow starts
    # the trigger of a watcher again as soon as it has ended with an error: its checks must not come without a pause.
    await asyncio.sleep(trigger.poll_interval * random.uniform(1.0, 2.0))
    config = await PravegaHook(trigger.pravega_conn_id).aget_config()
    question = trigger.question(config.scope)
    async with shared_look(config, question, trigger.poll_interval, trigger.log) as look:
        outage, failed = Outage(str(question.stream), trigger.log), False
        seen: Seen[Any] | None = None
        while True:
            seen = await look.after(seen, unchanged_too=failed or trigger.checks_again)
            found = None
            try:
                with outage.checking():
                    async with shared_client(config) as client:
                        found = await trigger.check(client, seen)
            except PravegaError as error:
                # The first failure may be of an outage that the next check for all reports, for all.
                if failed or not error.retryable:
                    outage.failed(error)
                failed = True
            else:
                failed = False
                outage.succeeded()
            if found is not None:
                yield found
            if failed or trigger.checks_again:
                await asyncio.sleep(trigger.poll_interval)
