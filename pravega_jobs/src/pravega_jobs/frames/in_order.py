"""Work of several threads whose results come in the order of the work."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def in_order(work: Iterable[Callable[[], T]], threads: int) -> Generator[T, None, None]:
    """The results of some work, in its order; `work` is iterated in the thread that takes the results.

    At most two pieces of work for each thread are under way, or wait to be taken. An error of one comes when it is its
    turn; when the iterator is closed, what has begun is waited for.

    Args:
        work: functions that may be called side by side.
        threads: that call them.
    """
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads, "pravega-decode") as pool:
        try:
            for one in work:
                waiting.append(pool.submit(one))
                while waiting and (len(waiting) >= 2 * threads or waiting[0].done()):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for each in waiting:
                each.cancel()
