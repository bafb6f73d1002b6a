"""Counting the requests of clients in this process, to controllers and segment stores; they are sent as ever."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from aiopravega.control.rpc import Rpc
from aiopravega.store import SegmentStore


class Requests:
    """The requests of all clients, and the longest chain of those that waited for one another."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Count from now on."""
        self.count = self.depth = self._finished = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        depth = self._finished + 1
        self.count, self.depth = self.count + 1, max(self.depth, depth)
        yield
        self._finished = max(self._finished, depth)


def counted_requests(monkeypatch: pytest.MonkeyPatch) -> Requests:
    """Begin to count."""
    counted = Requests()

    def counting(given):
        async def request(*arguments, **more):
            with counted.one():
                return await given(*arguments, **more)

        return request

    for owner, name in ((Rpc, "call"), (SegmentStore, "request_once")):
        monkeypatch.setattr(owner, name, counting(getattr(owner, name)))
    return counted
