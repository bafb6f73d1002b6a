"""One event loop in its own thread, for callers that block.

All blocking clients of a process share it. A process that was forked (a Spark worker, an Airflow task) gets a
new one, because threads do not survive a fork.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from concurrent.futures import Future
from itertools import chain
from typing import Any, Generic, TypeVar, cast

from aiopravega.errors import PravegaError

T = TypeVar("T")

# How many items of an iterator may wait in the loop's thread. All items that wait are handed over together: the hop
# costs as much as tens of items.
_MOST_WAITING = 500


class LoopThread:
    """An event loop that runs in a daemon thread."""

    _shared: "LoopThread | None" = None
    _guard = threading.Lock()

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="aiopravega", daemon=True)
        self._thread.start()
        self._ident = self._thread.ident

    @classmethod
    def shared(cls) -> "LoopThread":
        """The loop of this process."""
        with cls._guard:
            if cls._shared is None or cls._shared.pid != os.getpid():
                cls._shared = cls()
            return cls._shared

    def check_caller(self) -> None:
        """Refuse a caller that would wait forever.

        Raises:
            PravegaError: it is called from the loop's own thread, or in a process that was forked from the loop's.
        """
        if threading.get_ident() == self._ident:
            raise PravegaError("a blocking call from inside the event loop: use the asyncio client there")
        if os.getpid() != self.pid:
            raise PravegaError(
                f"a client of process {self.pid} was used in process {os.getpid()}, which was forked from it; its "
                "connections do not work here. Make a client in each process"
            )

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine's result; an interrupt of the waiting cancels it.

        Raises:
            PravegaError: the caller would wait forever; see `check_caller`.
        """
        future = self.submit(coroutine)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Have the loop's thread run a coroutine, whose result comes later; this does not wait.

        Raises:
            PravegaError: the caller would wait forever for the result; see `check_caller`.
        """
        try:
            self.check_caller()
        except PravegaError:
            coroutine.close()
            raise
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def start(self, coroutine: Coroutine[Any, Any, object]) -> None:
        """Have the loop's thread run a coroutine; this does not wait."""
        asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Have the loop's thread call something; this does not wait."""
        self._loop.call_soon_threadsafe(callback)

    def call_later(self, delay: float, callback: Callable[[], object]) -> None:
        """Have the loop's thread call something in `delay` seconds; this does not wait."""
        self._loop.call_soon_threadsafe(self._loop.call_later, delay, callback)

    def iterate(self, items: AsyncIterator[T]) -> "Items[T]":
        """Give the items of an asynchronous iterator to this thread, all that are ready at a time."""
        crossing = _Crossing(items)
        batches = self._batches(crossing)
        given = cast(Items[T], Items.from_iterable(batches))
        given._loop, given._crossing, given._batches = self, crossing, batches  # noqa: SLF001 - no __init__ is called
        return given

    def _batches(self, crossing: "_Crossing[T]") -> Generator[list[T], None, None]:
        try:
            while batch := self.run(crossing.next_items()):
                yield batch
        except GeneratorExit:
            raise  # `Items` closes the crossing
        except BaseException:
            self.run(crossing.close())
            raise
        self.run(crossing.close())


class Items(chain[T]):
    """The items of an asynchronous iterator, for a thread that blocks: an iterator that `contextlib.closing` closes."""

    _loop: LoopThread
    _crossing: "_Crossing[T]"
    _batches: Generator[list[T], None, None]

    def close(self) -> None:
        """End it early, and wait until what it uses is closed."""
        self._batches.close()
        deque(self, maxlen=0)  # what is left of the last batch
        self._loop.run(self._crossing.close())

    def __del__(self) -> None:
        # The garbage collector drops objects in any thread, also in one that the loop itself waits for: so this may
        # not wait for the loop.
        if not self._crossing.closed and self._loop.pid == os.getpid():
            self._loop.start(self._crossing.close())


class _Crossing(Generic[T]):
    """Items of an asynchronous iterator on their way to another thread. Some are fetched before they are asked for."""

    def __init__(self, items: AsyncIterator[T]) -> None:
        self._items = items
        self._waiting: list[T] = []
        self._fetching: asyncio.Task[None] | None = None
        self._ended = self.closed = False
        self._filled, self._emptied = asyncio.Event(), asyncio.Event()

    async def next_items(self) -> list[T]:
        """All items that wait, at least one; an empty list at the end."""
        if self._fetching is None:
            self._fetching = asyncio.create_task(self._fetch())
        await self._filled.wait()
        items, self._waiting = self._waiting, []
        if not items:
            await self._fetching  # raises the error that ended it, if any
        if not self._ended:
            self._filled.clear()
        self._emptied.set()
        return items

    async def _fetch(self) -> None:
        try:
            async for item in self._items:
                self._waiting.append(item)
                self._filled.set()
                while len(self._waiting) >= _MOST_WAITING:
                    self._emptied.clear()
                    await self._emptied.wait()
        finally:
            self._ended = True
            self._filled.set()

    async def close(self) -> None:
        """Drop the fetched items, and close the iterator."""
        self.closed = True
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.gather(self._fetching, return_exceptions=True)
        aclose = getattr(self._items, "aclose", None)
        if aclose is not None:
            await aclose()
