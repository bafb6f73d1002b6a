"""Java's readers as a child process, and what they say about their group beside what we say."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from tests.java.peer import JavaGroups

from aiopravega import PravegaClient, StreamCut, StreamName
from aiopravega.groups import ReaderGroupDescription
from aiopravega.groups.log import GroupLog
from aiopravega.groups.state import cuts_of

StartJava = Callable[[], AbstractContextManager[JavaGroups]]


@pytest.fixture(scope="session")
def start_java(pravega_config, tmp_path_factory) -> StartJava:
    return lambda: JavaGroups(pravega_config.controller_uri, tmp_path_factory.mktemp("java"))


@pytest.fixture(scope="module")
def java_process(start_java) -> Iterator[JavaGroups]:
    with start_java() as peer:
        yield peer


class JavaGroup:
    """One group, and its readers in a Java process."""

    def __init__(self, peer: JavaGroups, client: PravegaClient, scope: str, name: str) -> None:
        self.peer, self.client, self.scope, self.name = peer, client, scope, name

    async def ask(self, what: str, **how: Any) -> dict[str, Any]:
        return await asyncio.to_thread(self.peer.ask, what, scope=self.scope, group=self.name, **how)

    def with_name(self, name: str) -> "JavaGroup":
        """Another group of the scope."""
        return JavaGroup(self.peer, self.client, self.scope, name)

    async def create(self, *streams: StreamName, automatic: int = -1, retention: str = "NONE") -> None:
        cuts = {stream.stream: ["UNBOUNDED", "UNBOUNDED"] for stream in streams}
        answer = await self.ask("create", streams=cuts, automatic=automatic, retention=retention)
        assert answer["done"]

    async def read(self, *readers: str, events: int = 10_000, seconds: float = 1.0) -> list[str]:
        """The events that the readers get, one reader after another; checkpoints are reached by it."""
        found: list[str] = []
        for reader in readers:
            answer = await self.ask("read", reader=reader, events=events, seconds=seconds)
            found += [each["event"] for each in answer["read"] if "event" in each]
        return found

    async def read_all(self, *readers: str, total: int) -> list[str]:
        found: list[str] = []
        async with asyncio.timeout(400):
            while len(found) < total:
                found += await self.read(*readers)
        return found

    async def read_until(self, reached: Callable[[ReaderGroupDescription], bool], *readers: str) -> list[str]:
        """Read until the group is as it should be: readers come to ends and checkpoints by reading."""
        found: list[str] = []
        async with asyncio.timeout(400):
            while not reached(await self.describe()):
                found += await self.read(*readers, seconds=0.5)
        return found

    async def describe(self) -> ReaderGroupDescription:
        return await self.client.describe_reader_group(self.scope, self.name)

    async def assert_same(self) -> ReaderGroupDescription:
        """What Java says about the group is what we say."""
        for _ in range(10):
            before = await self.ask("look")
            described = await self.describe()
            theirs = await self.ask("look")
            if before == theirs:
                break
        else:
            raise AssertionError("the group does not stand still")
        assert set(described.readers) == set(theirs["readers"])
        cuts = {cut.stream: dict(cut.positions) for cut in map(StreamCut.from_text, theirs["cuts"].values())}
        offsets: dict[StreamName, dict[Any, int]] = {}
        for segments in (described.unassigned, *described.readers.values()):
            for segment, offset in segments.items():
                offsets.setdefault(segment.stream, {})[segment] = offset
        assert offsets == cuts
        assert theirs["unread"] == await self._unread_as_java_counts()
        left = 0
        for each in described.streams:
            end = each.end or await self.client.tail(each.stream)
            left += await self.client.distance(each.checkpoint or each.position, end)
        assert described.unread_bytes == left
        return described

    async def _unread_as_java_counts(self) -> int:
        """Like our count, but Java adds all of a segment that is read to its end, and one byte for each -1.

        Segments in which the group's range ends count up to there (`ReaderGroupImpl.getRemainingBytes`).
        """
        log = await GroupLog.open(self.client.controller, self.client.store, self.scope, self.name)
        assert log.state is not None
        last = log.state.checkpoints.last
        offsets, total = log.state.offsets() if last is None else last, 0
        ends = (await self.describe()).config.ends
        for stream, cut in cuts_of(offsets).items():
            end = ends.get(stream)
            upper = await self.client.tail(stream) if end is None else end
            between = await self.client.controller.segments_between(stream, cut.positions, upper.positions)
            for segment in between:
                until = None if end is None else end.positions.get(segment)
                total += (await self.client.store.info(segment)).write_offset if until is None else until
        return total - sum(offsets.values())


@pytest.fixture
async def java_group(java_process, client, scope) -> JavaGroup:
    return JavaGroup(java_process, client, scope, "group")


@pytest.fixture
def write_events(client):
    """Writes numbered events."""

    async def write(stream: StreamName, numbers: range) -> None:
        async with client.writer(stream) as writer:
            await writer.write_many([b"%d" % number for number in numbers], [str(number) for number in numbers])

    return write
