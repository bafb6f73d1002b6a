"""The base of the triggers: it waits for changes of a stream, for which one poller of the triggerer asks for all."""

import asyncio
import random
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, Protocol

from airflow.triggers.base import BaseTrigger, TriggerEvent

from aiopravega import PravegaClient, StreamName
from aiopravega.errors import PravegaError
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.polling import PollAnswer, PolledValue, TailOf, subscribe
from airflow_pravega.polling.outage import Outage
from airflow_pravega.polling.shared_client import shared_client
from airflow_pravega.tasks.failures import to_event

GAVE_UP: Final = "gave_up"


class PravegaWaitingTrigger(BaseTrigger):
    """Fires once: when its check succeeds, or with `{"status": "error", "error": class, "message": text}`.

    An error event reports an error that waiting cannot heal, such as a stream that was deleted. While the cluster is
    away, the trigger continues to wait: the sensor's timeout says how long. Its arguments have no secrets: it reads
    credentials from the connection where it runs.

    Args:
        stream: the stream, as `scope/stream`.
        poll_interval: seconds between two checks, at most.
        pravega_conn_id: id of the connection.
        carried: plain JSON that the sensor needs when it continues; the event has it under `carried`. Airflow's own way
            to carry it is dropped by `dag.test()`.
        give_up_at: the time at which it fires in any case, with `{"status": "gave_up"}`; in ISO 8601 with its zone.
    """

    # Names of the arguments, and attributes, that a trigger has besides the ones above; their values are plain JSON.
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

    def polled_value(self, scope: str | None) -> PolledValue[Any]:
        """The value of the stream that it waits for; `scope` is the connection's default one.

        Raises:
            PravegaError: an argument of the trigger cannot work.
        """
        return TailOf(StreamName.parse(self.stream, scope))

    @property
    def checks_again(self) -> bool:
        """True if a check may give an event although the value of the stream is the same as at the check before."""
        return False

    @abstractmethod
    async def check(self, client: PravegaClient, answer: PollAnswer[Any]) -> dict[str, Any] | None:
        """Check whether the trigger fires; returns the event, or None. `answer` has the newest value of the stream."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and the arguments, as plain JSON."""
        names = (*self.own, "stream", "poll_interval", "pravega_conn_id", "carried", "give_up_at")
        return f"{type(self).__module__}.{type(self).__qualname__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and yield the one event."""
        try:
            event = await ending_at(self.give_up_at, self._first_event())
        except PravegaError as error:
            event = to_event(error)
        yield TriggerEvent({**event, "carried": self.carried})

    async def _first_event(self) -> dict[str, Any]:
        async with aclosing(events_of(self)) as events:
            return await anext(events)


async def ending_at(give_up_at: str | None, event: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    """Wait for the event of a trigger, until a time in ISO 8601 with its zone; then it is `{"status": "gave_up"}`."""
    seconds = None
    if give_up_at is not None:
        seconds = (datetime.fromisoformat(give_up_at) - datetime.now(UTC)).total_seconds()
    try:
        async with asyncio.timeout(seconds) as limit:
            return await event
    except TimeoutError:
        if not limit.expired():
            raise
        return {"status": GAVE_UP}


class PollingTrigger(Protocol):
    """A trigger that waits for a value of a stream; see `PravegaWaitingTrigger`."""

    poll_interval: float
    pravega_conn_id: str

    @property
    def log(self) -> Any:
        """Its log."""

    @property
    def checks_again(self) -> bool:
        """True if a check may give an event although the value of the stream is the same as at the check before."""

    def polled_value(self, scope: str | None) -> PolledValue[Any]:
        """The value of the stream that it waits for."""

    async def check(self, client: PravegaClient, answer: PollAnswer[Any]) -> dict[str, Any] | None:
        """Check whether the trigger fires; returns the event, or None."""


async def events_of(trigger: PollingTrigger, longest: float | None = None) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the events of a trigger's checks, without end; while the cluster is away, wait.

    Args:
        trigger: the trigger.
        longest: the most seconds between two checks; None: its `poll_interval`.

    Raises:
        PravegaError: one that waiting cannot heal.
        AirflowNotFoundException: there is no such connection.
    """
    # Airflow fails a task whose trigger fires before its scheduler knows that the process which deferred has ended:
    # "finished with state success, but the task instance's state attribute is queued". So the sensor's own check is not
    # repeated at once. Triggers that start together, as in a new triggerer, do not continue in step. And Airflow starts
    # the trigger of a watcher again as soon as it has ended with an error: its checks must not come without a pause.
    longest = longest or trigger.poll_interval
    await asyncio.sleep(longest * random.uniform(1.0, 2.0))
    config = await PravegaHook(trigger.pravega_conn_id).aget_config()
    value = trigger.polled_value(config.scope)
    async with subscribe(config, value, longest, trigger.log) as subscription:
        outage, failed = Outage(str(value.stream), trigger.log), False
        answer: PollAnswer[Any] | None = None
        while True:
            answer = await subscription.after(answer, unchanged_too=failed or trigger.checks_again)
            event = None
            try:
                with outage.checking():
                    async with shared_client(config) as client:
                        event = await trigger.check(client, answer)
            except PravegaError as error:
                # The first failure may belong to an outage that the poller's next check reports for all its triggers.
                if failed or not error.retryable:
                    outage.failed(error)
                failed = True
            else:
                failed = False
                outage.succeeded()
            if event is not None:
                yield event
            if failed or trigger.checks_again:
                await asyncio.sleep(longest)
