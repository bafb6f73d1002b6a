"""An event loop that runs until everything waits for an answer. Who gives the answers is not known here."""

import asyncio
import heapq
from collections import defaultdict, deque
from contextvars import Context
from typing import Any


class Loop(asyncio.AbstractEventLoop):
    """An event loop without sockets or threads; its time passes when nothing else is left to do."""

    def __init__(self) -> None:
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._now = 0.0
        self._timed = 0
        self._children: defaultdict[str, int] = defaultdict(int)

    def call_soon(  # type: ignore[override]  # whatever is called
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]  # whatever is called
        self, delay: float, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]  # whatever is called
        self, when: float, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._timed += 1
        heapq.heappush(self._timers, (when, self._timed, handle))
        return handle

    def create_task(self, coro: Any, *, name: object = None, context: Context | None = None) -> "asyncio.Task[Any]":
        parent = asyncio.current_task(self)
        above = parent.get_name() if parent else ""
        self._children[above] += 1
        return asyncio.Task(coro, loop=self, name=f"{above}.{self._children[above]}", context=context)

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Called about tasks that the search leaves behind."""

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass

    def run(self) -> None:
        """Run until everything waits for an answer."""
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        try:
            while self._ready or self._timers:
                if not self._ready:
                    self._now, _, timer = heapq.heappop(self._timers)
                    self._ready.append(timer)
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()
        finally:
            asyncio._set_running_loop(before)
