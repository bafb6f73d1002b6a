"""Loops that ask one question about one stream for all who wait for the answer, in one event loop.

A loop begins with the first who waits and ends with the last one. If it ends with an error, all who wait get it: none
is left behind.
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
from airflow_pravega.clients import shared_client
from airflow_pravega.looks.pace import Pace
from airflow_pravega.looks.questions import Question
from airflow_pravega.outage import Outage

A = TypeVar("A", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Seen(Generic[A]):
    """An answer, and when it was asked for, in seconds of `time.monotonic`."""

    answer: A
    at: float


@dataclass(eq=False, slots=True)
class Look(Generic[A]):
    """One who waits. Answers that were asked for before it came are none for it: the stream was older then.

    Args:
        longest: seconds between two checks that it puts up with.
        log: where an outage is reported, as long as it is the one who waits for longest.
    """

    longest: float
    log: Any
    _loop: "_Loop[A]"
    _since: float = field(default_factory=time.monotonic)
    # Airflow tells by it whose log a line belongs to.
    _context: contextvars.Context = field(default_factory=contextvars.copy_context)

    async def after(self, seen: Seen[A] | None, *, unchanged_too: bool = False) -> Seen[A]:
        """An answer after `seen`: the first one that differs, or, with `unchanged_too`, the next one.

        Raises:
            PravegaError: there will be none, and waiting cannot help.
        """
        loop = self._loop
        while True:
            if loop.error is not None:
                raise loop.error.with_traceback(loop.trace)  # it is raised to many: each would add to the trace
            new = loop.seen
            # One that has no answer yet takes an unchanged one, too.
            any_answer = unchanged_too or seen is None
            is_new = new is not None and new is not seen and new.at >= self._since
            if new is not None and is_new and (any_answer or seen is None or new.answer != seen.answer):
                return new
            await (loop.checked if any_answer else loop.changed).wait()

    def report(self, level: str, text: str, *arguments: object) -> None:
        """Write to its log."""
        self._context.run(getattr(self.log, level), text, *arguments)


class _Loop(Generic[A]):
    """What asks a question; `beside` are all loops of the event loop."""

    def __init__(self, config: PravegaConfig, question: Question[A], beside: dict[Hashable, "_Loop[Any]"]) -> None:
        self._config = config
        self._question = question
        self._asked = question.begin()
        self._beside = beside
        self.waiting: list[Look[A]] = []
        self.seen: Seen[A] | None = None
        self.error: BaseException | None = None
        self.trace: TracebackType | None = None
        # Set once, and then replaced: who waits for one waits for what comes next.
        self.checked, self.changed = asyncio.Event(), asyncio.Event()
        self._pace = Pace()
        self._outage = Outage(str(question.stream), self)
        self._due = 0.0
        self._sooner = asyncio.Event()
        # In a context of its own: that of the trigger that came first would give its log all lines of the client.
        self._task = asyncio.create_task(self._run(), context=contextvars.Context())
        self._task.add_done_callback(self._ended)

    def join(self, look: Look[A]) -> None:
        """Ask for one more, and soon enough for it."""
        self.waiting.append(look)
        if time.monotonic() + look.longest < self._due:
            self._due = time.monotonic() + look.longest
            self._sooner.set()

    async def end(self) -> None:
        """Stop, and wait until nothing is open any more."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            try:
                async with AsyncExitStack() as stack:
                    with self._outage.checking():
                        client = await stack.enter_async_context(shared_client(self._config))
                    while True:
                        at = time.monotonic()
                        with self._outage.checking():
                            answer = await self._asked.check(client)
                        self._outage.succeeded()
                        changed = self._publish(Seen(answer, at))
                        await self._sleep(self._pace.next(changed, self._longest(), len(self._beside)))
            except PravegaError as error:
                self._outage.failed(error)
            await self._sleep(self._longest())

    def _publish(self, seen: Seen[A]) -> bool:
        before, self.seen = self.seen, seen
        changed = before is not None and before.answer != seen.answer
        self.checked.set()
        self.checked = asyncio.Event()
        if changed:
            self.changed.set()
            self.changed = asyncio.Event()
        return changed

    def _longest(self) -> float:
        return min((look.longest for look in self.waiting), default=0.0)

    async def _sleep(self, seconds: float) -> None:
        """Sleep for so long, or less if someone comes who was promised less."""
        self._due = time.monotonic() + seconds
        while (left := self._due - time.monotonic()) > 0:
            self._sooner.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._sooner.wait()
        self._due = 0.0

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Wake all who wait: whatever has ended the loop, no answer will come."""
        for key, loop in list(self._beside.items()):
            if loop is self:
                del self._beside[key]
        error = None if task.cancelled() else task.exception()
        self.error = error or RuntimeError(f"the check of {self._question.stream} was cancelled")
        self.trace = self.error.__traceback__
        self.checked.set()
        self.changed.set()

    # --- as the log of its outages: one line, in the log of the one who waits for longest ---

    def warning(self, text: str, *arguments: object) -> None:
        """Report the begin of an outage."""
        self._report("warning", text, *arguments)

    def info(self, text: str, *arguments: object) -> None:
        """Report the end of an outage."""
        self._report("info", text, *arguments)

    def _report(self, level: str, text: str, *arguments: object) -> None:
        if len(self.waiting) > 1:
            text, arguments = f"{text} (%d triggers wait for it)", (*arguments, len(self.waiting))
        if self.waiting:
            self.waiting[0].report(level, text, *arguments)


# By event loop, as the triggers of a triggerer share one.
_loops: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, _Loop[Any]]]] = WeakKeyDictionary()


@asynccontextmanager
async def shared_look(config: PravegaConfig, question: Question[A], longest: float, log: Any) -> AsyncIterator[Look[A]]:
    """Wait for answers to a question, for as long as the block runs.

    Args:
        config: how the cluster is reached.
        question: what is asked.
        longest: seconds between two checks, at most.
        log: where an outage is reported, once for all who wait for the same.
    """
    beside = _loops.setdefault(asyncio.get_running_loop(), {})
    key = config, question
    loop = beside.get(key)
    if loop is None:
        loop = beside[key] = _Loop(config, question, beside)
    look = Look(longest, log, loop)
    loop.join(look)
    try:
        yield look
    finally:
        loop.waiting.remove(look)
        if not loop.waiting:
            if beside.get(key) is loop:
                del beside[key]
            await loop.end()
