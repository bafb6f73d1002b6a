"""The thread under the blocking client: brings items over, closes what they come from, and refuses hopeless waits."""

import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator

import pytest

from aiopravega.errors import PravegaError
from aiopravega.loop import LoopThread

CHILD = """
import os
from aiopravega.errors import PravegaError
from aiopravega.loop import LoopThread

async def answer():
    return 1

loop = LoopThread.shared()
loop.run(answer())
if os.fork() == 0:
    try:
        loop.run(answer())
    except PravegaError as error:
        assert LoopThread.shared().run(answer()) == 1
        print(error, flush=True)
    os._exit(0)
os.wait()
"""


class Numbers:
    def __init__(self, count: int) -> None:
        self.given, self.count, self.closed = 0, count, False

    async def all(self) -> AsyncIterator[int]:
        try:
            while self.given < self.count:
                self.given += 1
                yield self.given
        finally:
            self.closed = True


def test_all_items_come_in_order():
    assert list(LoopThread.shared().iterate(Numbers(5000).all())) == list(range(1, 5001))


def test_items_are_fetched_when_asked_for_and_an_early_stop_closes():
    numbers = Numbers(100_000)
    items = LoopThread.shared().iterate(numbers.all())
    assert [next(items) for _ in range(3)] == [1, 2, 3]
    items.close()
    assert numbers.given < 2000
    assert numbers.closed


def test_a_closed_iterator_gives_nothing_more():
    items = LoopThread.shared().iterate(Numbers(10).all())
    assert next(items) == 1
    items.close()
    assert list(items) == []


def test_dropped_items_close_while_the_loop_waits_for_that_thread():
    closed = threading.Event()

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            closed.set()

    items = [LoopThread.shared().iterate(numbers())]
    assert next(items[0]) == 1

    async def drop() -> None:  # as the garbage collector may do it in a thread that the loop starts
        thread = threading.Thread(target=items.clear)
        thread.start()
        thread.join()

    LoopThread.shared().run(drop())
    assert closed.wait(60)


def test_an_item_comes_over_while_the_next_one_is_waited_for():
    async def slow() -> AsyncIterator[int]:
        yield 1
        await LoopThread.shared()._loop.create_future()  # never done
        yield 2

    items = LoopThread.shared().iterate(slow())
    assert next(items) == 1
    items.close()


def test_the_error_of_a_forked_process_says_to_make_a_client_of_its_own():
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=60, check=True)
    assert "Make a client in each process" in done.stdout, (done.stderr, os.environ.get("PYTHONPATH"))


def test_a_blocking_call_inside_the_loop_is_refused():
    async def nothing() -> None: ...

    async def inside() -> None:
        LoopThread.shared().run(nothing())

    with pytest.raises(PravegaError, match="from inside the event loop"):
        LoopThread.shared().run(inside())
