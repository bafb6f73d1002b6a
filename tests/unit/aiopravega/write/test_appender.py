"""Appends to a scripted segment store that loses connections and answers: each block gets in once, or it is said why.

The scripted store keeps what it takes the way a real one does: a block counts when its end arrived, and every set-up
gets the last event number.
"""

import asyncio
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from aiopravega import PravegaConfig, wire
from aiopravega.control import Controller
from aiopravega.errors import PravegaTimeoutError, SegmentNotFoundError, SegmentSealedError
from aiopravega.names import SegmentId, StreamName
from aiopravega.net import Endpoint
from aiopravega.store import SegmentStore
from aiopravega.write.appender import SegmentAppender
from aiopravega.write.batch import FramedBlock

SEGMENT = SegmentId(StreamName("examples", "orders"), 0, 0)
NO_EVENTS = -(2**63)

# What the store does with the end of a block, in the order in which they come; after the last, it takes all.
TAKE, TAKE_AND_DIE, DIE, IGNORE = "take", "take and die", "die", "ignore"
SEALED, GONE, INVALID = "sealed", "gone", "invalid"


def block(content: bytes, events: int = 1) -> FramedBlock:
    return FramedBlock(content, events)


@dataclass
class ScriptedStore:
    """One segment; `taken` is what is in it."""

    script: deque[str] = field(default_factory=deque)
    taken: list[bytes] = field(default_factory=list)
    last: dict[uuid.UUID, int] = field(default_factory=dict)
    setups: int = 0
    sessions: list[asyncio.Task[None]] = field(default_factory=list)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = asyncio.create_task(self._serve(reader, writer))
        self.sessions.append(session)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        payload = b""
        writer.write(wire.encode(wire.HELLO))
        try:
            while not writer.is_closing():
                kind, length = wire.parse_header(await reader.readexactly(wire.FRAME_HEADER))
                command = wire.decode(kind, await reader.readexactly(length))
                match command:
                    case wire.SetupAppend():
                        self.setups += 1
                        last = self.last.get(command.writer_id, NO_EVENTS)
                        answer = wire.AppendSetup(command.request_id, command.segment, command.writer_id, last)
                        writer.write(wire.encode(answer))
                    case wire.AppendBlock():
                        payload = bytes(command.data)
                    case wire.AppendBlockEnd():
                        self._finish_block(command, payload, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _finish_block(self, end: wire.AppendBlockEnd, payload: bytes, writer: asyncio.StreamWriter) -> None:
        step = self.script.popleft() if self.script else TAKE
        if step in (TAKE, TAKE_AND_DIE):
            self.taken.append(payload)
            self.last[end.writer_id] = end.last_event_number
        name = str(SEGMENT)
        answers = {
            TAKE: wire.DataAppended(end.writer_id, end.last_event_number, NO_EVENTS, end.request_id, 0),
            SEALED: wire.SegmentIsSealed(end.request_id, name),
            GONE: wire.NoSuchSegment(end.request_id, name),
            INVALID: wire.InvalidEventNumber(end.writer_id, end.request_id, "", end.last_event_number),
        }
        if step in (DIE, TAKE_AND_DIE):
            writer.transport.abort()
        elif step in answers:
            writer.write(wire.encode(answers[step]))


class FixedPlace(Controller):
    """Knows one segment store."""

    def __init__(self, config: PravegaConfig, endpoint: Endpoint) -> None:
        super().__init__(config)
        self._endpoint = endpoint

    async def endpoint(self, segment: SegmentId) -> Endpoint:
        return self._endpoint


@pytest.fixture
def scripted() -> ScriptedStore:
    return ScriptedStore()


@pytest.fixture
async def appender(scripted: ScriptedStore) -> AsyncIterator[SegmentAppender]:
    """Appends to the scripted store, with little patience."""
    server = await asyncio.start_server(scripted.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    config = PravegaConfig(controller_uri="tcp://127.0.0.1:1", request_timeout=0.3, retry_timeout=1.0)
    controller = FixedPlace(config, Endpoint("127.0.0.1", port))
    store = SegmentStore(config, controller)
    made = SegmentAppender(store, SEGMENT, str(SEGMENT), max_in_flight=1000)
    yield made
    await made.close()
    await store.close()
    await controller.close()
    server.close()
    await asyncio.gather(*scripted.sessions)


async def append(appender: SegmentAppender, *contents: bytes) -> None:
    for content in contents:
        appender.enqueue(block(content))
    async with asyncio.timeout(300):
        await appender.drained()


async def test_blocks_get_in_once_and_in_order(scripted, appender):
    await append(appender, b"a", b"b", b"c")

    assert scripted.taken == [b"a", b"b", b"c"]
    assert scripted.setups == 1


@pytest.mark.parametrize("loss", [DIE, TAKE_AND_DIE], ids=["before the block counts", "after it counts"])
@pytest.mark.parametrize("at", [0, 1, 2])
async def test_a_lost_connection_loses_and_doubles_nothing(scripted, appender, loss, at):
    scripted.script.extend([TAKE] * at + [loss])

    await append(appender, b"a", b"b", b"c")

    assert scripted.taken == [b"a", b"b", b"c"]


async def test_an_event_number_that_came_late_is_asked_for_again(scripted, appender):
    scripted.script.extend([TAKE, INVALID, IGNORE])

    await append(appender, b"a", b"b", b"c")

    assert scripted.taken == [b"a", b"b", b"c"]
    assert scripted.setups == 2


async def test_a_store_that_falls_silent_once_is_asked_again(scripted, appender):
    scripted.script.extend([TAKE, IGNORE, IGNORE])

    await append(appender, b"a", b"b", b"c")

    assert scripted.taken == [b"a", b"b", b"c"]


async def test_a_store_that_never_acknowledges_is_given_up_in_time(scripted, appender):
    scripted.script.extend([IGNORE] * 1000)

    with pytest.raises(PravegaTimeoutError, match=r"acknowledged no append to examples/orders/0.#epoch.0 within 0.3 s"):
        await append(appender, b"a")


async def test_patience_ends_for_blocks_that_wait_and_not_while_nothing_does(scripted, appender):
    await append(appender, b"a")
    await asyncio.sleep(0.5)  # longer than the patience with appends
    await append(appender, b"b")

    assert scripted.taken == [b"a", b"b"]
    assert scripted.setups == 1


async def test_of_a_sealed_segment_the_blocks_that_are_not_in_are_left_over(scripted, appender):
    scripted.script.extend([TAKE, SEALED, SEALED])

    with pytest.raises(SegmentSealedError):
        await append(appender, b"a", b"b", b"c")

    assert scripted.taken == [b"a"]
    assert [left.payload for left in appender.leftovers] == [b"b", b"c"]


async def test_an_ended_transactions_segment_is_said_to_be_gone(scripted, appender):
    scripted.script.extend([GONE])

    with pytest.raises(SegmentNotFoundError):
        await append(appender, b"a")
    with pytest.raises(SegmentNotFoundError):
        appender.enqueue(block(b"b"))


async def test_a_segment_that_gets_nothing_is_not_set_up(scripted, appender):
    await append(appender)

    assert scripted.setups == 0


async def test_to_drain_does_not_wait_for_blocks_that_come_later(scripted, appender):
    scripted.script.extend([TAKE, IGNORE])
    appender.enqueue(block(b"early"))
    drained = asyncio.create_task(appender.drained())
    await asyncio.sleep(0)
    appender.enqueue(block(b"late"))

    async with asyncio.timeout(30):
        await drained

    assert appender.leftovers == [block(b"late")]


async def test_room_is_waited_for_beyond_the_bytes_in_flight(scripted, appender):
    scripted.script.extend([IGNORE])
    appender.enqueue(block(b"x" * 1001))
    waiting: Callable[[], object] = asyncio.create_task(appender.room()).done
    await asyncio.sleep(0.05)
    assert not waiting()

    async with asyncio.timeout(300):
        await appender.room()
    assert scripted.taken == [b"x" * 1001]
