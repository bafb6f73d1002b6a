"""A reader without an end: the events of a stream as they are written, with the cut to continue from.

One segment is read at a time, and only when the consumer asks: a slow consumer stops the reading. How it waits at the
tails is in `aiopravega.read.tail_waits`, which segments come next after a scaling in `aiopravega.read.succession`.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Final, Self

from aiopravega import wire
from aiopravega.bounded import each
from aiopravega.control import Controller
from aiopravega.cuts import END_OF_SEGMENT, UNBOUNDED, SegmentRange, StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, InvalidStreamCutError, PravegaError, SegmentNotFoundError
from aiopravega.names import SegmentId, StreamName
from aiopravega.positions import NamedCut, Position
from aiopravega.read.events import Event, read_segment
from aiopravega.read.plan import Planner, check_not_made_again
from aiopravega.read.succession import Succession
from aiopravega.read.tail_waits import News, TailWaits
from aiopravega.store import SegmentStore

# Segments that are asked for at a time when the reading begins.
_AT_ONCE: Final = 32
# Events that wait for the consumer; the bytes after which another segment with data has its turn.
_MOST_READY: Final = 500
_TURN_BYTES: Final = 16 * 1024 * 1024
# The controller is asked again for successors that it does not know yet.
_LOOK_SECONDS: Final = 1.0


@dataclass(slots=True)
class _Turn:
    part: SegmentRange
    events: AsyncGenerator[Event, None]
    size: int = 0


class Follower:
    """Gives the events of a stream as they are written; made by `PravegaClient.follow`, used with `async for`.

    Events of one routing key come in the order of their writing, also across scalings. The end of a sealed stream ends
    it. After an error, or a time limit of its caller, it continues where it was; another reader can do so from `cut`.
    At the end of an `async with` block its open requests are dropped; `close` does the same. Its errors are those that
    `PravegaClient.follow` names.
    """

    def __init__(
        self, controller: Controller, store: SegmentStore, planner: Planner, stream: StreamName, since: Position
    ) -> None:
        self._controller, self._store, self._planner = controller, store, planner
        self._stream = stream
        self._since = since
        self._positions: dict[SegmentId, int] = {}
        self._succession = Succession(self._positions, controller.successors, lambda segment: segment in self._over)
        # A segment of the cut is over, or it waits for its turn, or for news, or it has its turn.
        self._over: set[SegmentId] = set()
        self._queue: deque[SegmentId] = deque()
        self._waits = TailWaits(store)
        self._turn: _Turn | None = None
        self._looks = True  # successors may be known that have not entered
        self._begun = self._closed = False
        self._events: deque[Event] = deque()
        self._filling = asyncio.Lock()

    async def __aenter__(self) -> Self:
        async with self._filling:
            await self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if not await self.fill():
            raise StopAsyncIteration
        return self.take()

    @property
    def stream(self) -> StreamName:
        """The stream that it reads."""
        return self._stream

    @property
    def cut(self) -> StreamCut:
        """The cut after the last event that it gave: `since=` of a reader that is to continue.

        Raises:
            ConfigurationError: it has not begun, and begins at a cut that is looked up then.
        """
        if self._positions:
            return StreamCut(self._stream, self._positions)
        if isinstance(self._since, NamedCut) or self._since.is_unbounded:
            raise ConfigurationError(
                f"the cut of a reader of {self._stream} is not known before it begins: ask after its first event, or "
                "inside its `with` block"
            )
        return self._since

    @property
    def ready(self) -> int:
        """The number of events that it can give without waiting."""
        return len(self._events)

    async def batch(self) -> list[Event]:
        """The next events, all of one segment, as many as have come, up to 500; waits for the first.

        It is empty at the end of a sealed stream. `cut` is then after the last of them.
        """
        await self.fill()
        return [self.take() for _ in range(len(self._events))]

    async def close(self) -> None:
        """Drop the requests at the tails, and what has been read ahead; it gives no more events."""
        self._closed = True
        await self._waits.close()
        await self._drop_turn()
        self._events.clear()

    async def fill(self) -> bool:
        """Wait until an event is ready; returns False at the end of a sealed stream."""
        if self._events:
            return True
        async with self._filling:
            await self._begin()
            try:
                while not self._events:
                    if self._turn is None and not await self._next_turn():
                        return False
                    await self._read_on()
            except PravegaError:
                await self._drop_turn()
                if not self._events:  # otherwise they come first, and the reading fails again
                    raise
            except BaseException:
                await self._drop_turn()
                raise
        return True

    def take(self) -> Event:
        """The next event that is ready; `cut` is after it then."""
        event = self._events.popleft()
        self._positions[event.segment] = event.offset + wire.EVENT_HEADER + len(event.data)
        return event

    async def _begin(self) -> None:
        if self._closed:
            raise ConfigurationError(f"this reader of {self._stream} is closed: make another one")
        if self._begun:
            return
        if not self._positions:
            self._positions.update((await self._start()).positions)
        over = {segment for segment, offset in self._positions.items() if offset == END_OF_SEGMENT}
        parts = await each(self._part, [segment for segment in self._positions if segment not in over], _AT_ONCE)
        self._over.update(over)
        for part in parts:
            if part.size:
                self._queue.append(part.segment)
            else:
                self._waits.wait(part.segment, part.start)
        self._begun = True

    async def _start(self) -> StreamCut:
        if self._since is NamedCut.TAIL:
            return await self._planner.tail(self._stream)
        if isinstance(self._since, NamedCut) or self._since.is_unbounded:
            return await self._planner.head(self._stream)
        return (await self._planner.resolve(StreamCutRange(self._since, self._since), self._stream)).start

    async def _part(self, segment: SegmentId) -> SegmentRange:
        """The bytes of a segment that can be read now, checked like any range."""
        here = StreamCut(self._stream, {segment: self._positions[segment]})
        try:
            return await self._planner.segment_range(segment, StreamCutRange(here, UNBOUNDED))
        except InvalidStreamCutError:
            await self._planner.tail(self._stream)  # a deletion may be under way: it is named when it is done
            raise

    async def _next_turn(self) -> bool:
        """Begin to read a segment that has data; returns False at the end of a sealed stream."""
        while True:
            self._collect()
            if self._looks:
                await self._let_enter()
            if self._queue:
                part = await self._part(self._queue[0])
                self._queue.popleft()
                if part.size:
                    self._turn = _Turn(part, read_segment(self._store, part))
                    return True
                self._waits.wait(part.segment, part.start)
                continue
            if self._over >= self._positions.keys():
                # In this order: after the seal no segment is added.
                is_sealed = not await self._controller.current_segments(self._stream)
                if await self._let_enter():
                    continue
                await check_not_made_again(self._controller, self._store, [self.cut])
                if is_sealed:
                    return False
            unsettled = not self._waits or self._succession.is_unsettled()
            self._looks |= not await self._waits.answered(_LOOK_SECONDS if unsettled else None)

    def _collect(self) -> None:
        """Take the answers of the requests at the tails."""
        for segment, news in self._waits.answers():
            if news is News.END:
                self._over.add(segment)
                self._looks = True
            elif news is News.NOTHING:
                self._waits.wait(segment, self._positions[segment])
            else:
                self._queue.append(segment)
            if isinstance(news, PravegaError):
                raise news

    async def _let_enter(self) -> bool:
        """Continue in the successors of segments that are over; returns whether there were any."""
        try:
            entered = await self._succession.enter()
        except SegmentNotFoundError:
            await check_not_made_again(self._controller, self._store, [self.cut])
            await self._planner.tail(self._stream)  # the stream may have been deleted
            raise
        self._over &= self._positions.keys()
        self._queue += entered
        self._looks = False
        return bool(entered)

    async def _read_on(self) -> None:
        turn = self._turn
        assert turn is not None
        segment = turn.part.segment
        try:
            async for event in turn.events:
                self._events.append(event)
                turn.size += len(event.data)
                if len(self._events) >= _MOST_READY:
                    break
            else:
                self._turn = None
                self._waits.wait(segment, turn.part.end)
        except SegmentNotFoundError:
            await self._part(segment)  # names the reason
            raise
        if self._turn is not None and turn.size >= _TURN_BYTES and (self._queue or self._waits.have_answers):
            await self._drop_turn()
            self._queue.rotate(-1)

    async def _drop_turn(self) -> None:
        """Give up the turn of a segment, which is the next one to read."""
        turn, self._turn = self._turn, None
        if turn is not None:
            self._queue.appendleft(turn.part.segment)
            await turn.events.aclose()
