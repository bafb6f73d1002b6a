"""A large event on its way to a segment store that loses connections, answers and segments: it gets in once, or not."""

import asyncio
import uuid
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from tests.unit.aiopravega.write.test_appender import SEGMENT, FixedPlace

from aiopravega import PravegaConfig, wire
from aiopravega.errors import SegmentNotFoundError, SegmentSealedError, StreamTruncatedError
from aiopravega.net import Endpoint
from aiopravega.store import SegmentStore
from aiopravega.write.large_event import LargeEvent

NAME = str(SEGMENT)
EVENT = bytes(range(256)) * 20_000  # more than four blocks
# What the store does with a merge, in the order in which they come; after the last, it does them.
MERGE, MERGE_AND_DIE, DIE, LOSE = "merge", "merge and die", "die", "lose"
MERGE_AND_SEAL, SEAL, VANISH = "merge and seal", "seal", "vanish"


@dataclass
class Parent:
    """One segment and those beside it, which end with their connections; `content` is what is in the segment."""

    script: deque[str] = field(default_factory=deque)
    content: list[bytes] = field(default_factory=list)
    marks: dict[uuid.UUID, int] = field(default_factory=dict)
    sealed: bool = False
    gone: bool = False
    transients: dict[str, bytes] = field(default_factory=dict)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mine: list[str] = []
        appending: dict[uuid.UUID, str] = {}
        block = b""
        writer.write(wire.encode(wire.HELLO))
        try:
            while not writer.is_closing():
                kind, length = wire.parse_header(await reader.readexactly(wire.FRAME_HEADER))
                match wire.decode(kind, await reader.readexactly(length)):
                    case wire.GetStreamSegmentInfo() as asked:
                        info = wire.StreamSegmentInfo(asked.request_id, NAME, not self.gone, self.sealed, False, 0, 0)
                        writer.write(wire.encode(info))
                    case wire.CreateTransientSegment() as asked:
                        name = f"{asked.parent_segment}#transient.{asked.writer_id.hex}"
                        assert name not in self.transients
                        self.transients[name] = b""
                        mine.append(name)
                        writer.write(wire.encode(wire.SegmentCreated(asked.request_id, name)))
                    case wire.SetupAppend() as asked:
                        appending[asked.writer_id] = asked.segment
                        writer.write(wire.encode(self._set_up(asked)))
                    case wire.AppendBlock() as sent:
                        block = bytes(sent.data)
                    case wire.AppendBlockEnd() as end:
                        self.transients[appending[end.writer_id]] += block
                        writer.write(wire.encode(wire.DataAppended(end.writer_id, end.last_event_number)))
                    case wire.MergeSegments() as asked:
                        self._merge(asked, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        for name in mine:
            self.transients.pop(name, None)
        writer.close()

    def _set_up(self, asked: wire.SetupAppend) -> wire.Reply:
        known = asked.segment == NAME and not self.gone
        if not known and asked.segment not in self.transients:
            return wire.NoSuchSegment(asked.request_id, asked.segment)
        last = self.marks.get(asked.writer_id, wire.NO_VALUE)
        return wire.AppendSetup(asked.request_id, asked.segment, asked.writer_id, last)

    def _merge(self, asked: wire.MergeSegments, writer: asyncio.StreamWriter) -> None:
        step = self.script.popleft() if self.script else MERGE
        [update] = asked.attribute_updates
        answer: wire.Reply = wire.SegmentsMerged(asked.request_id, NAME, asked.source, 0)
        if step == SEAL:
            self.sealed = True
        if step == VANISH:
            self.gone = True
        if step == LOSE:
            del self.transients[asked.source]
        if self.marks.get(update.attribute, wire.NO_VALUE) != update.old:
            answer = wire.SegmentAttributeUpdated(asked.request_id, False)
        elif self.sealed:
            answer = wire.SegmentIsSealed(asked.request_id, NAME)
        elif asked.source not in self.transients:
            answer = wire.NoSuchSegment(asked.request_id, asked.source)
        elif step != DIE:
            self.content.append(self.transients.pop(asked.source))
            self.marks[update.attribute] = update.new
        if step == MERGE_AND_SEAL:
            self.sealed = True
        if step in (DIE, MERGE_AND_DIE, MERGE_AND_SEAL, VANISH):
            writer.transport.abort()
        else:
            writer.write(wire.encode(answer))


@pytest.fixture
def parent() -> Parent:
    return Parent()


@pytest.fixture
async def event(parent: Parent) -> AsyncIterator[LargeEvent]:
    server = await asyncio.start_server(parent.serve, "127.0.0.1", 0)
    config = PravegaConfig(controller_uri="tcp://127.0.0.1:1", token=None, retry_timeout=5)
    store = SegmentStore(config, FixedPlace(config, Endpoint(*server.sockets[0].getsockname())))
    yield LargeEvent(store, EVENT)
    await store.close()
    server.close()


@pytest.mark.parametrize(
    "script",
    [[], [DIE], [MERGE_AND_DIE], [LOSE], [DIE, LOSE, MERGE_AND_DIE], [DIE, DIE, DIE], [MERGE_AND_SEAL]],
    ids=lambda script: ", ".join(script) or "nothing",
)
async def test_a_large_event_is_written_once_though_answers_are_lost(parent, event, script):
    parent.script.extend(script)

    await event.write_to(SEGMENT)

    assert parent.content == [wire.event_header(len(EVENT)) + EVENT]


async def test_writing_to_a_sealed_segment_is_refused(parent, event):
    parent.sealed = True

    with pytest.raises(SegmentSealedError):
        await event.write_to(SEGMENT)
    assert not parent.transients


@pytest.mark.parametrize("script", [[SEAL], [DIE, SEAL]])
async def test_a_segment_sealed_during_the_write_is_reported(parent, event, script):
    parent.script.extend(script)

    with pytest.raises(SegmentSealedError):
        await event.write_to(SEGMENT)
    assert not parent.content


async def test_writing_to_a_missing_segment_is_refused(parent, event):
    parent.gone = True

    with pytest.raises(SegmentNotFoundError):
        await event.write_to(SEGMENT)


async def test_a_segment_that_was_removed_during_the_merge_claims_nothing(parent, event):
    parent.script.append(VANISH)

    with pytest.raises(StreamTruncatedError, match="known whether the stream has the event"):
        await event.write_to(SEGMENT)
