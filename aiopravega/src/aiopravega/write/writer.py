# long because: all events (batched, in blocks, large) share the code for a scaling of the stream
"""The event writer: routes events by key, survives scaling, keeps the order of every key.

`write` returns when the event is accepted; it is durable after `flush`. Events are batched: a batch is sent when it is
full or a few milliseconds old.
"""

import asyncio
import random
import uuid
from collections.abc import Iterable, Sequence
from itertools import repeat
from types import TracebackType
from typing import Self

from aiopravega import wire
from aiopravega.control import Controller
from aiopravega.errors import PravegaError, SegmentNotFoundError, SegmentSealedError, StreamSealedError
from aiopravega.names import SegmentId, StreamName
from aiopravega.routing import SegmentMap, key_position
from aiopravega.store import SegmentStore
from aiopravega.times import EventTime, TimeUnit
from aiopravega.write.batch import FramedBlock, check_event, keyless_blocks, split_block
from aiopravega.write.lanes import Lanes
from aiopravega.write.large_event import LargeEvent

# How long an event may wait for others in its batch, in seconds.
_LINGER = 0.005
# Used while a scaling has sealed a segment, but the controller does not name its successors yet.
_SCALING_PAUSE = 0.1


class EventWriter:
    """Writes to one stream; made by `PravegaClient.writer`, used with `async with`.

    `writer_id` is the name under which it notes times, by default a new name. With `large_events` it takes events over
    8 MiB too, and merges them into the stream one by one.
    """

    def __init__(
        self,
        controller: Controller,
        store: SegmentStore,
        stream: StreamName,
        writer_id: str | None = None,
        *,
        large_events: bool = False,
    ) -> None:
        self.stream = stream
        self._largest = wire.LARGEST_EVENT if large_events else wire.MAX_EVENT
        self.writer_id = writer_id or str(uuid.uuid4())
        self._controller = controller
        self._store = store
        self._lanes: Lanes | None = None
        self._changing = asyncio.Lock()
        # Blocks for a sealed segment, in order; they are sent before anything that is batched later.
        self._homeless: list[FramedBlock] = []
        self._linger: asyncio.TimerHandle | None = None
        self._background: asyncio.Task[None] | None = None
        self._failure: PravegaError | None = None

    async def __aenter__(self) -> Self:
        self._lanes = await self._current_lanes()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.close()
        else:
            await self._stop()

    async def write(self, data: bytes | bytearray | memoryview, routing_key: str | None = None) -> None:
        """Accept one event; waits while too many bytes are in flight. An event of more than 8 MiB is durable then.

        Raises:
            EventTooLargeError: more than 8 MiB, and the writer was opened without `large_events`; nothing is sent.
            StreamSealedError: the stream takes no more events.
        """
        check_event(data, self._largest)
        position = random.random() if routing_key is None else key_position(routing_key)
        if len(data) > wire.MAX_EVENT:
            await self._write_large(data, position)
            return
        full = self._opened().add(data, position)
        if full is not None:
            await self._emit(full)
        elif self._linger is None:
            self._linger = asyncio.get_running_loop().call_later(_LINGER, self._emit_later)

    async def write_many(self, events: Iterable[bytes], routing_keys: Iterable[str | None] | None = None) -> None:
        """Accept many events; like `write` for each, with less work per event.

        Raises:
            EventTooLargeError: an event is too long, as for `write`; the ones before it are accepted.
            ValueError: the numbers of events and keys differ; the pairs before that are accepted.
        """
        if self._largest > wire.MAX_EVENT:
            keys = repeat(None) if routing_keys is None else routing_keys
            for data, key in zip(events, keys, strict=routing_keys is not None):
                await self.write(data, key)
            return
        if routing_keys is None:
            for block in keyless_blocks(events):
                await self._send(None, block)
            return
        for data, key in zip(events, routing_keys, strict=True):
            check_event(data)
            full = self._opened().add(data, random.random() if key is None else key_position(key))
            if full is not None:
                await self._emit(full)
        await self._emit_all()

    async def _write_large(self, data: bytes | bytearray | memoryview, position: float) -> None:
        """Merge an event into the stream, after all events that were accepted earlier."""
        event = LargeEvent(self._store, data)
        while True:
            await self.flush()
            lanes = self._opened()
            try:
                await event.write_to(lanes.map.segments[lanes.map.index_for(position)])
            except (SegmentSealedError, SegmentNotFoundError):
                await asyncio.sleep(_SCALING_PAUSE)
                await self._follow_scaling(lanes)
            else:
                return

    @property
    def segments(self) -> SegmentMap:
        """The segments that it writes to now; a scaling of the stream changes them."""
        return self._opened().map

    async def write_blocks(self, blocks: Sequence[FramedBlock], grouped_by: SegmentMap) -> None:
        """Accept whole framed events; waits while too many bytes are in flight.

        The order of each routing key's events is kept, also across calls.

        Args:
            blocks: in each block, all events belong to one segment of `grouped_by`, or have no positions.
            grouped_by: an earlier value of `segments`. If other segments have replaced them, the blocks are taken
                apart.

        Raises:
            StreamSealedError: the stream takes no more events.
        """
        await self._wait_for_move()
        lanes = self._opened()
        if lanes.map is grouped_by:
            parts = [(_lane_of(block, lanes), block) for block in blocks]
        else:
            parts = [part for block in blocks for part in split_block(block, lanes.map)]
        for lane, part in parts:  # nothing runs between these two: the lanes stay as they are
            self._homeless += [block for block in (lanes.emit(lane), lanes.enqueue(lane, part)) if block is not None]
        for lane in {lane for lane, _ in parts}:
            await self._room(lanes, lane)

    async def flush(self) -> None:
        """Wait until every accepted event is durable.

        Raises:
            PravegaError: why some are not.
        """
        while True:
            await self._emit_all()
            lanes = self._opened()
            try:
                await lanes.drained()
            except SegmentSealedError:
                await self._follow_scaling(lanes)
            if lanes is self._lanes:
                break
        if self._failure is not None:
            raise self._failure

    async def note_time(self, time: EventTime, *, unit: TimeUnit = TimeUnit.MS) -> None:
        """Flush, then note that this writer writes nothing older than `time` from now on.

        Pravega makes the stream's watermarks from the notes of its writers: see `aiopravega.event_time`.

        Args:
            time: a number, which is noted as it is, or a datetime with a zone.
            unit: what a datetime is counted in.

        Raises:
            ConfigurationError: the time lies before one that was noted already, or has no zone.
            PravegaError: some events are not durable, so that nothing was noted.
        """
        number = unit.number(time)
        await self.flush()
        try:
            positions = await self._positions(self._opened())
        except SegmentNotFoundError:  # replaced, and removed since: its successors exist
            await self._follow_scaling(self._opened())
            positions = await self._positions(self._opened())
        await self._controller.note_time(self.stream, self.writer_id, number, positions)

    async def _positions(self, lanes: Lanes) -> dict[SegmentId, int]:
        """The ends of the segments that it writes to: nothing that it has written lies after them."""
        segments = lanes.map.segments
        infos = await asyncio.gather(*(self._store.info(segment) for segment in segments))
        return {segment: info.write_offset for segment, info in zip(segments, infos, strict=True)}

    async def close(self) -> None:
        """Wait until every accepted event is durable, then stop writing; a writer may be closed already.

        Raises:
            PravegaError: why some events are not durable.
        """
        if self._lanes is None:
            return
        try:
            await self.flush()
        finally:
            await self._stop()

    async def _stop(self) -> None:
        """Stop writing; events that are under way may be lost."""
        if self._linger is not None:
            self._linger.cancel()
        if self._background is not None:
            self._background.cancel()
            await asyncio.gather(self._background, return_exceptions=True)
        if self._lanes is not None:
            await self._lanes.close()
            self._lanes = None

    def _opened(self) -> Lanes:
        if self._failure is not None:
            raise self._failure
        if self._lanes is None:
            raise PravegaError(f"the writer of {self.stream} is not open: use it with 'async with'")
        return self._lanes

    async def _current_lanes(self) -> Lanes:
        segments = await self._controller.current_segments(self.stream)
        if not segments:
            raise StreamSealedError(f"{self.stream} is sealed: it takes no more events")
        return Lanes(self._store, segments)

    def _emit_later(self) -> None:
        self._linger = None
        if self._background is None or self._background.done():
            self._background = asyncio.create_task(self._emit_in_background())
        else:
            self._linger = asyncio.get_running_loop().call_later(_LINGER, self._emit_later)

    async def _emit_in_background(self) -> None:
        try:
            await self._emit_all()
        except PravegaError as error:
            self._failure = error  # the next write or flush raises it

    async def _emit_all(self) -> None:
        for lane in range(len(self._opened().builders)):
            await self._emit(lane)

    async def _emit(self, lane: int) -> None:
        """Send the lane's batch, and wait until there is room for more."""
        await self._send(lane, None)

    async def _send(self, lane: int | None, block: FramedBlock | None) -> None:
        """Send a block, or by default the lane's batch, and wait until there is room for more.

        Without a lane the block goes to any.
        """
        await self._wait_for_move()
        lanes = self._opened()
        if lane is None:
            lane = lanes.next_lane()
        elif lane >= len(lanes.appenders):
            return  # the lanes have changed meanwhile; the batch has moved to the new ones
        rejected = lanes.emit(lane) if block is None else lanes.enqueue(lane, block)
        if rejected is not None:
            self._homeless.append(rejected)
        await self._room(lanes, lane)

    async def _wait_for_move(self) -> None:
        """Wait while events of old segments are moved: new batches have to wait."""
        if self._changing.locked():
            async with self._changing:
                pass

    async def _room(self, lanes: Lanes, lane: int) -> None:
        """Wait until a lane takes more; move to other segments if its own has been sealed."""
        try:
            appender = lanes.appenders[lane]
            if appender.error is not None:
                raise appender.error
            await appender.room()
        except SegmentSealedError:
            await self._follow_scaling(lanes)

    async def _follow_scaling(self, old: Lanes) -> None:
        """Move to the stream's current segments, with all events that are not in the old ones.

        The events of all old segments are moved before new events are sent: otherwise an event could overtake an
        earlier one of its key. Events that are written meanwhile are batched for the new lanes, and wait.
        """
        async with self._changing:
            if old is not self._lanes:
                return  # another caller has done it
            try:
                fresh = self._lanes = await self._current_lanes()
                batched = [block for builder in old.builders if (block := builder.next_block()) is not None]
                leftovers: list[FramedBlock] = []
                for appender in old.appenders:
                    try:
                        await appender.drained()
                    except SegmentSealedError:
                        leftovers += appender.leftovers
                await old.close()
            except PravegaError as error:
                self._failure = error
                raise
            homeless = [*leftovers, *self._homeless, *batched]
            self._homeless.clear()
            for block in homeless:
                for lane, part in split_block(block, fresh.map):
                    fresh.appenders[lane].enqueue(part)


def _lane_of(block: FramedBlock, lanes: Lanes) -> int:
    return lanes.next_lane() if block.positions is None else lanes.map.index_for(block.positions[0])
