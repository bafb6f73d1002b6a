"""Single events cross to the loop's thread in batches: in order, within a bound, and failures are raised."""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import pytest

from aiopravega import wire
from aiopravega.blocking.event_queue import BATCH_EVENTS, MOST_BATCHES, EventQueue
from aiopravega.control import KeyRange
from aiopravega.errors import EventTooLargeError, PravegaError, StreamSealedError
from aiopravega.loop import LoopThread
from aiopravega.names import SegmentId, StreamName
from aiopravega.routing import SegmentMap, key_position
from aiopravega.write.batch import BLOCK_BYTES, FramedBlock

STREAM = StreamName("examples", "orders")
SEGMENTS = SegmentMap([KeyRange(SegmentId(STREAM, 0, 0), 0.0, 0.5), KeyRange(SegmentId(STREAM, 1, 0), 0.5, 1.0)])
SECONDS = 60  # more than any of this takes


class Sink:
    """A writer that keeps what it accepts, one batch after another."""

    def __init__(self) -> None:
        self.loop = LoopThread.shared()
        self.segments = SEGMENTS
        self.lanes: defaultdict[int, list[bytes]] = defaultdict(list)
        self.batches: list[int] = []
        self.at_once = 0
        self.accepted = threading.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None
        self.queue = EventQueue(self.loop, self._current, self._accept)

    def _current(self) -> SegmentMap:
        if self.segments is not SEGMENTS:
            raise PravegaError("the writer is not open")
        return self.segments

    async def _accept(self, blocks: list[tuple[int, FramedBlock]], segments: SegmentMap) -> None:
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        self.at_once = max(self.at_once, len(self.queue._batches))
        self.batches.append(sum(block.events for _, block in blocks))
        for lane, block in blocks:
            starts, end = wire.scan_frames(block.payload, 0, block.size)
            for (a, b), position in zip(pairwise([*starts, end]), block.positions or (), strict=True):
                assert segments.index_for(position) == lane
                self.lanes[lane].append(bytes(block.payload[a + wire.EVENT_HEADER : b]))
        self.accepted.set()

    def close_gate(self) -> None:
        self.loop.call_soon(self.gate.clear)

    def open_gate(self) -> None:
        self.loop.call_soon(self.gate.set)

    def add(self, data: bytes, key: str | None = "key") -> None:
        self.queue.add(data, key)

    def finish(self) -> None:
        self.loop.run(self.queue.written())

    @property
    def events(self) -> list[bytes]:
        return [event for lane in self.lanes.values() for event in lane]


@pytest.fixture
def sink() -> Iterator[Sink]:
    made = Sink()
    yield made
    made.loop.run(made.queue.drop())


def numbered(count: int, name: str = "") -> list[bytes]:
    return [f"{name}{number:09}".encode() for number in range(count)]


def test_events_of_one_key_come_in_order_over_many_batches(sink):
    events = numbered(3 * BATCH_EVENTS + 1)
    for event in events:
        sink.add(event)
    sink.finish()
    assert sink.events == events
    assert max(sink.batches) <= BATCH_EVENTS


def test_events_go_to_the_segment_of_their_key_or_to_any(sink):
    for number in range(200):
        sink.add(b"%d" % number, f"customer-{number}" if number % 2 else None)
    sink.finish()
    for number in range(1, 200, 2):
        assert b"%d" % number in sink.lanes[SEGMENTS.index_for(key_position(f"customer-{number}"))]
    assert sorted(sink.lanes) == [0, 1]
    assert len(sink.events) == 200


def test_every_thread_has_its_events_in_order(sink):
    names = "abcd"
    events = {name: numbered(2 * BATCH_EVENTS, name) for name in names}

    def write(name: str) -> None:
        for event in events[name]:
            sink.add(event)

    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    sink.finish()
    for name in names:
        assert [event for event in sink.events if event.startswith(name.encode())] == events[name]


def test_a_single_event_is_sent_without_a_full_batch(sink):
    sink.add(b"alone")
    assert sink.accepted.wait(SECONDS)
    assert sink.events == [b"alone"]


def test_the_queue_of_waiting_batches_is_bounded(sink):
    sink.close_gate()
    blocked = threading.Thread(target=lambda: [sink.add(bytes(BLOCK_BYTES)) for _ in range(20)])
    blocked.start()
    sink.open_gate()
    blocked.join(SECONDS)
    sink.finish()
    assert sink.batches == [1] * 20
    assert sink.at_once <= MOST_BATCHES


def test_an_event_keeps_its_bytes_from_the_time_of_its_write(sink):
    buffer = bytearray(b"before")
    sink.queue.add(buffer, None)
    buffer[:] = b"after!"
    sink.queue.add(memoryview(buffer)[:5], None)
    sink.finish()
    assert sorted(sink.events) == [b"after", b"before"]


def test_an_event_that_cannot_be_one_is_refused_at_once(sink):
    sink.add(b"good")
    with pytest.raises(EventTooLargeError):
        sink.add(bytes(wire.MAX_EVENT + 1))
    with pytest.raises(TypeError):
        sink.add("text")
    with pytest.raises(AttributeError):
        sink.queue.add(b"bad key", 1)
    sink.finish()
    assert sink.events == [b"good"]


def test_an_error_is_raised_by_what_comes_next_and_by_all_after_it(sink):
    sink.error = StreamSealedError("examples/orders takes no more events")
    sink.add(b"lost")
    with pytest.raises(StreamSealedError):
        sink.finish()
    sink.error = None
    with pytest.raises(StreamSealedError):
        sink.add(b"later")
    with pytest.raises(StreamSealedError):
        sink.finish()
    assert sink.events == []


def test_an_error_is_raised_in_a_thread_that_waits_for_room(sink):
    sink.close_gate()
    sink.error = PravegaError("no server answers")
    raised: list[Exception] = []

    def write() -> None:
        try:
            for _ in range(20):
                sink.add(bytes(BLOCK_BYTES))
        except PravegaError as error:
            raised.append(error)

    writing = threading.Thread(target=write)
    writing.start()
    sink.open_gate()
    writing.join(SECONDS)
    assert raised == [sink.error]


def test_a_writer_that_takes_no_events_says_so_at_the_first_one(sink):
    sink.segments = None
    with pytest.raises(PravegaError, match="is not open"):
        sink.add(b"late")


def test_waiting_ends_when_the_earlier_events_are_written(sink):
    sink.close_gate()
    sink.add(b"first")
    waiting = threading.Thread(target=sink.finish)
    waiting.start()
    sink.open_gate()
    while waiting.is_alive():
        sink.add(b"more")
    assert sink.events[0] == b"first"


def test_callers_that_wait_for_dropped_events_get_an_error(sink):
    sink.close_gate()
    sink.add(b"dropped")
    waits = asyncio.run_coroutine_threadsafe(sink.queue.written(), sink.loop._loop)
    sink.loop.run(sink.queue.drop())
    with pytest.raises(PravegaError, match="another thread has closed their writer"):
        waits.result(SECONDS)
    sink.open_gate()
    sink.add(b"kept")
    sink.finish()
    assert sink.events == [b"kept"]


def test_events_are_written_after_their_wait_was_cancelled(sink):
    sink.close_gate()
    sink.add(b"event")
    waits = asyncio.run_coroutine_threadsafe(sink.queue.written(), sink.loop._loop)
    waits.cancel()
    sink.open_gate()
    sink.finish()
    assert sink.events == [b"event"]


def test_the_thread_of_the_loop_cannot_wait_for_itself(sink):
    async def write() -> None:
        sink.add(b"event")

    with pytest.raises(PravegaError, match="from inside the event loop"):
        sink.loop.run(write())
