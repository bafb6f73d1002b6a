"""One event loop in a thread of its own, for callers that block.

All blocking clients of a process share it. A process that was forked (a Spark worker, an Airflow task) gets a
new one, because threads do not survive a fork.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

from aiopravega.errors import PravegaError

T = TypeVar("T")

# How many items are brought over from the loop's thread at a time: the hop costs as much as tens of items.
_HOP = 500


class LoopThread:
    """An event loop that runs in a daemon thread."""

    _shared: "LoopThread | None" = None
    _guard = threading.Lock()

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="aiopravega", daemon=True)
        self._thread.start()

    @classmethod
    def shared(cls) -> "LoopThread":
        """The loop of this process."""
        with cls._guard:
            if cls._shared is None or cls._shared.pid != os.getpid():
                cls._shared = cls()
            return cls._shared

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine's result; an interrupt of the waiting cancels it.

        Raises:
            PravegaError: called from the loop's own thread, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise PravegaError("a blocking call from inside the event loop: use the asyncio client there")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncIterator[T], hop: int = _HOP) -> Iterator[T]:
        """Bring the items of an asynchronous iterator over, `hop` at a time, and close it at the end.

        An iterator that waits for items wants a `hop` of 1.
        """

        async def some() -> list[T]:
            taken: list[T] = []
            async for item in items:
                taken.append(item)
                if len(taken) == hop:
                    break
            return taken

        async def close() -> None:
            aclose = getattr(items, "aclose", None)
            if aclose is not None:
                await aclose()

        try:
            while taken := self.run(some()):
                yield from taken
        finally:
            self.run(close())
