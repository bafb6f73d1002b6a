"""Pollers: each asks for one value of one stream, for all triggers of an event loop that wait for it.

A poller begins with its first subscription and ends with its last one. If it ends with an error, every subscription
gets the error, so that no trigger waits forever.
"""

import asyncio
import contextvars
import time
from collections.abc import AsyncIterator, Hashable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from aiopravega import PravegaConfig
from aiopravega.errors import PravegaError
from airflow_pravega.polling.outage import Outage
from airflow_pravega.polling.pace import Pace
from airflow_pravega.polling.shared_client import shared_client
from airflow_pravega.polling.values import PolledValue

A = TypeVar("A", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Answer(Generic[A]):
    """A value, and the time at which a poller asked for it, in seconds of `time.monotonic`."""

    value: A
    asked_at: float


@dataclass(eq=False, slots=True)
class Subscription(Generic[A]):
    """A subscription of one trigger. It ignores answers to requests that began before it: the stream was older then.

    Args:
        longest: the most seconds between two checks.
        log: the trigger's log; the oldest subscription of a poller reports the poller's outages to it.
    """

    longest: float
    log: Any
    _poller: "Poller[A]"
    _since: float = field(default_factory=time.monotonic)
    # By the context Airflow knows to which trigger's log a line belongs.
    _context: contextvars.Context = field(default_factory=contextvars.copy_context)

    async def after(self, last: Answer[A] | None, *, unchanged_too: bool = False) -> Answer[A]:
        """Wait for an answer after `last`: the first one with another value; with `unchanged_too`, the next one.

        Raises:
            PravegaError: the poller has ended with an error that waiting cannot heal.
        """
        poller = self._poller
        while True:
            if poller.error is not None:
                # It is raised to many subscriptions: each would add its own lines to the trace.
                raise poller.error.with_traceback(poller.trace)
            new = poller.answer
            # A subscription without an answer also takes an unchanged one.
            any_answer = unchanged_too or last is None
            is_new = new is not None and new is not last and new.asked_at >= self._since
            if new is not None and is_new and (any_answer or last is None or new.value != last.value):
                return new
            await (poller.checked if any_answer else poller.changed).wait()

    def report(self, level: str, text: str, *arguments: object) -> None:
        """Write to the trigger's log."""
        self._context.run(getattr(self.log, level), text, *arguments)


class Poller(Generic[A]):
    """Asks for a value again and again; `pollers` are all pollers of the event loop, this one among them."""

    def __init__(self, config: PravegaConfig, value: PolledValue[A], pollers: dict[Hashable, "Poller[Any]"]) -> None:
        self._config = config
        self._value = value
        self._checker = value.checker()
        self._pollers = pollers
        self.subscriptions: list[Subscription[A]] = []
        self.answer: Answer[A] | None = None
        self.error: BaseException | None = None
        self.trace: TracebackType | None = None
        # Each is set once and then replaced: a subscription waits for the next check, or the next change.
        self.checked, self.changed = asyncio.Event(), asyncio.Event()
        self._pace = Pace()
        self._outage = Outage(str(value.stream), self)
        self._due = 0.0
        self._sooner = asyncio.Event()
        # A context of its own: in the first trigger's context all lines of the client would go to that trigger's log.
        self._task = asyncio.create_task(self._run(), context=contextvars.Context())
        self._task.add_done_callback(self._ended)

    def join(self, subscription: Subscription[A]) -> None:
        """Serve one more subscription, with the next check as early as that subscription asks for."""
        self.subscriptions.append(subscription)
        if time.monotonic() + subscription.longest < self._due:
            self._due = time.monotonic() + subscription.longest
            self._sooner.set()

    async def end(self) -> None:
        """Stop, and wait until all is closed."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            try:
                async with AsyncExitStack() as stack:
                    with self._outage.checking():
                        client = await stack.enter_async_context(shared_client(self._config))
                    while True:
                        asked_at = time.monotonic()
                        with self._outage.checking():
                            value = await self._checker.check(client)
                        self._outage.succeeded()
                        changed = self._publish(Answer(value, asked_at))
                        await self._sleep(self._pace.next(changed, self._longest(), len(self._pollers)))
            except PravegaError as error:
                self._outage.failed(error)
            await self._sleep(self._longest())

    def _publish(self, answer: Answer[A]) -> bool:
        before, self.answer = self.answer, answer
        changed = before is not None and before.value != answer.value
        self.checked.set()
        self.checked = asyncio.Event()
        if changed:
            self.changed.set()
            self.changed = asyncio.Event()
        return changed

    def _longest(self) -> float:
        return min((each.longest for each in self.subscriptions), default=0.0)

    async def _sleep(self, seconds: float) -> None:
        """Sleep, or wake earlier for a new subscription with a shorter longest pause."""
        self._due = time.monotonic() + seconds
        while (left := self._due - time.monotonic()) > 0:
            self._sooner.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._sooner.wait()
        self._due = 0.0

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Wake all subscriptions with the error that has ended this poller: it gives no more answers."""
        for key, poller in list(self._pollers.items()):
            if poller is self:
                del self._pollers[key]
        error = None if task.cancelled() else task.exception()
        self.error = error or RuntimeError(f"the check of {self._value.stream} was cancelled")
        self.trace = self.error.__traceback__
        self.checked.set()
        self.changed.set()

    # --- the poller is the log of its `Outage`: a line goes to the log of the oldest subscription ---

    def warning(self, text: str, *arguments: object) -> None:
        """Report the begin of an outage."""
        self._report("warning", text, *arguments)

    def info(self, text: str, *arguments: object) -> None:
        """Report the end of an outage."""
        self._report("info", text, *arguments)

    def _report(self, level: str, text: str, *arguments: object) -> None:
        if len(self.subscriptions) > 1:
            text, arguments = f"{text} (%d triggers wait for it)", (*arguments, len(self.subscriptions))
        if self.subscriptions:
            self.subscriptions[0].report(level, text, *arguments)


# By event loop, as the triggers of a triggerer share one.
_pollers: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, Poller[Any]]]] = WeakKeyDictionary()


@asynccontextmanager
async def subscribe(
    config: PravegaConfig, value: PolledValue[A], longest: float, log: Any
) -> AsyncIterator[Subscription[A]]:
    """Subscribe to a value of a stream, for as long as the block runs.

    Args:
        config: how the cluster is reached.
        value: the value that is polled.
        longest: the most seconds between two checks.
        log: the trigger's log; an outage is reported once for all subscriptions to the same value.
    """
    pollers = _pollers.setdefault(asyncio.get_running_loop(), {})
    key = config, value
    poller = pollers.get(key)
    if poller is None:
        poller = pollers[key] = Poller(config, value, pollers)
    subscription = Subscription(longest, log, poller)
    poller.join(subscription)
    try:
        yield subscription
    finally:
        poller.subscriptions.remove(subscription)
        if not poller.subscriptions:
            if pollers.get(key) is poller:
                del pollers[key]
            await poller.end()
