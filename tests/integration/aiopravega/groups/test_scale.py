"""How many requests a description of a large group takes, and how many of them wait for others."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from benchmarks.groups import fill

from aiopravega import PravegaClient, ScalingPolicy, StreamName
from aiopravega.control.rpc import Rpc
from aiopravega.store import SegmentStore

READERS = 64
# The segments of the group's stream; its state, its mark, its length; the tail and the head; how the group is set up.
BESIDE_SEGMENTS = 12
DEEPEST = 8


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


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Requests:
    """Counts the requests to controllers and segment stores; they are sent as ever."""
    counted = Requests()

    def counting(given):
        async def request(*arguments, **more):
            with counted.one():
                return await given(*arguments, **more)

        return request

    for owner, name in ((Rpc, "call"), (SegmentStore, "request_once")):
        monkeypatch.setattr(owner, name, counting(getattr(owner, name)))
    return counted


@pytest.mark.parametrize("segments", [READERS, 3 * READERS])
async def test_a_description_takes_two_requests_a_segment_and_few_rounds(
    client, scope, pravega_config, requests, segments
):
    stream = StreamName(scope, "stream")
    assert await client.create_stream(scope, "stream", ScalingPolicy.fixed(segments))
    await fill(client, stream, "group", READERS)

    async with PravegaClient(pravega_config) as new:
        requests.begin()
        described = await new.describe_reader_group(scope, "group")

    assert len(described.readers) == READERS
    assert sum(map(len, described.readers.values())) == segments
    # Where a segment is, and how long it is.
    assert requests.count <= 2 * segments + BESIDE_SEGMENTS
    assert requests.depth <= DEEPEST
