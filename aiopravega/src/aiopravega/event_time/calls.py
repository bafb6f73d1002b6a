"""The client's calls about event time: a part of `aiopravega.client.PravegaClient`."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

from aiopravega.control import Controller
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, NoWatermarksError, StreamNotFoundError, StreamTruncatedError
from aiopravega.event_time.answers import CutAt, Reach, TimeBounds, answer, first_later, passed_mark, time_bounds
from aiopravega.event_time.log import MarkLog
from aiopravega.event_time.marks import Watermark
from aiopravega.names import StreamName
from aiopravega.read.arithmetic import Arithmetic
from aiopravega.read.given_cuts import GivenCuts
from aiopravega.read.history import Order
from aiopravega.read.plan import Planner
from aiopravega.store import SegmentStore
from aiopravega.stream_argument import takes_stream
from aiopravega.times import EventTime, TimeUnit

# Pravega makes a mark every 10 s by default.
_POLL_SECONDS: Final = 1.0


class TimeCalls:
    """Part of `PravegaClient`. `unit` is the unit of a datetime as a number; a number is used as it is."""

    controller: Controller
    store: SegmentStore
    arithmetic: Arithmetic
    _planner: Planner
    _given_cuts: GivenCuts

    @takes_stream
    async def note_time(
        self,
        stream: StreamName | str,
        writer_id: str,
        time: EventTime,
        cut: StreamCut | None = None,
        *,
        unit: TimeUnit = TimeUnit.MS,
    ) -> None:
        """Note that a writer writes nothing older than `time` after `cut`; None: after the tail as it is now.

        Pravega makes the stream's watermarks from such notes. A note is honest if the writer writes nothing older than
        its time any more, and has written nothing after its cut. Pravega takes any note. It answers SUCCESS to a note
        with a segment that the stream does not have, and then makes no watermark for the stream any more. From a note
        that leaves out segments it makes watermarks that promise too much. So each note is checked against the stream
        first.

        Raises:
            InvalidStreamCutError: the cut does not fit the stream, or lies before one that this writer has noted.
            StreamTruncatedError: the cut lies before the head.
            ConfigurationError: the time has no zone, or lies before one that this writer has noted, or the writer does
                not have a name.
            StreamNotFoundError: the stream does not exist.
        """
        name, number = StreamName.of(stream), unit.number(time)
        if not writer_id:
            raise ConfigurationError(f"cannot note time {number} of stream {name}: the writer needs a name")
        located = await (self._planner.tail(name) if cut is None else self._given_cuts.located(name, cut))
        await self.controller.note_time(name, writer_id, number, located.positions)

    @takes_stream
    async def watermarks(
        self,
        stream: StreamName | str,
        *,
        since: EventTime | None = None,
        follow: bool = False,
        unit: TimeUnit = TimeUnit.MS,
    ) -> AsyncIterator[Watermark]:
        """The marks of a stream, from the first whose lower time is at least `since` (None: all marks).

        With `follow` it continues with those that are made later, until the stream is sealed or deleted.

        Raises:
            StreamNotFoundError: the stream does not exist.
        """
        name = StreamName.of(stream)
        log = await self._marks(name)
        first = None if since is None else unit.first_number(since)
        alive = True
        while alive:
            # Asked before the marks are read: a stream that is sealed gets no more marks.
            alive = follow and bool(await self.controller.current_segments(name)) and await log.refresh()
            async for mark in log.read(lambda mark: first is not None and mark.lower < first):
                yield mark
            if alive:
                await asyncio.sleep(_POLL_SECONDS)

    @takes_stream
    async def cut_at(self, stream: StreamName | str, time: EventTime, *, unit: TimeUnit = TimeUnit.MS) -> CutAt:
        """The first cut that is known to be complete up to an event time, or the reason why it is not known.

        Raises:
            NoWatermarksError: no writer has noted a time, and the stream is not sealed.
            StreamNotFoundError: the stream does not exist.
            ConfigurationError: the time has no zone.
        """
        number = unit.first_number(time)
        name = StreamName.of(stream)
        return await self._answer(name, await self._marks(name), number)

    @takes_stream
    async def range_for(
        self,
        stream: StreamName | str,
        interval: tuple[EventTime, EventTime],
        *,
        ahead: int | timedelta | None = None,
        clip: bool = False,
        from_head: bool = False,
        unit: TimeUnit = TimeUnit.MS,
    ) -> StreamCutRange:
        """The smallest range that surely holds every event of the times `[start, end)`; it may hold other events too.

        A reader keeps the events with `start <= time < end`: then neighbouring intervals share no event and miss none.

        Args:
            stream: a StreamName, or a text `scope/stream`.
            interval: the start, which is included, and the end, which is not.
            ahead: how much newer an event may be than the time that its writer notes next: 0 if each writer writes in
                the order of event times. None: this is not known, so the range starts at the head.
            clip: take the events that are left, if retention or a truncation may have removed some of the interval.
            from_head: if the interval ends before the first watermark, take what lies before that watermark, from the
                head: no event after it is older.
            unit: what datetimes are counted in.

        Raises:
            NotYetError: events of the interval may still be written.
            BeforeHistoryError: the interval ends before the first watermark, and `from_head` is false.
            NoWatermarksError: no writer has noted a time.
            StreamTruncatedError: events of the interval may have been removed.
            ConfigurationError: a time has no zone, or the interval ends before it starts.
        """
        # Rounded so that nothing of the interval is outside, where the unit is coarser than the times.
        start, end = unit.number(interval[0]), unit.first_number(interval[1])
        if not start < end:
            raise ConfigurationError(f"the interval from {start} to {end} is empty: it must start before it ends")
        name = StreamName.of(stream)
        marks = await self._marks(name)
        known = await self._answer(name, marks, end)
        if from_head and known.reach is Reach.BEFORE_HISTORY and known.lower is not None:
            known = await self._answer(name, marks, known.lower)
        behind = known.required()
        first = None if ahead is None else await passed_mark(marks, start, _margin(ahead, unit))
        wanted = StreamCutRange(first.cut if first else StreamCut.unbounded(), behind)
        left = await self.arithmetic.clip(wanted, name)
        whole = _is_beginning(left.start) if first is None else await self._is_same(left.start, first.cut)
        if not (whole or clip):
            raise StreamTruncatedError(
                f"events of the times {start} to {end} may have been removed from {name}: for all of them a range must "
                f"start at {first.cut if first else 'its beginning'}, but the head is {left.start}. Ask for a later "
                "time, give a smaller 'ahead', or read what is left with clip=True"
            )
        return left

    async def time_bounds(self, wanted: StreamCutRange) -> TimeBounds:
        """The bounds of the event times in a range, by the stream's watermarks; see `aiopravega.event_time.answers`."""
        resolved = await self._planner.resolve(wanted)
        stream = resolved.start.stream
        return await time_bounds(await MarkLog.open(self.controller, self.store, stream) if stream else None, resolved)

    async def time_span(
        self, wanted: StreamCutRange, *, ahead: int | timedelta, unit: TimeUnit = TimeUnit.MS
    ) -> tuple[int | None, int | None]:
        """The times `[start, end)` between which all events of a range lie; None: the marks do not show it.

        The end is known some marks after the range was written, and does not change from then on. See `range_for` for
        `ahead`, and `aiopravega.event_time.answers` for the rule.
        """
        resolved = await self._planner.resolve(wanted)
        stream = resolved.start.stream
        marks = await MarkLog.open(self.controller, self.store, stream) if stream else None
        if marks is None:
            return None, None
        bounds = await time_bounds(marks, resolved)
        return bounds.lower, await first_later(marks, resolved.end, _margin(ahead, unit))

    async def _is_same(self, one: StreamCut, other: StreamCut) -> bool:
        return await self.arithmetic.compare(one, other) is Order.SAME

    async def _answer(self, stream: StreamName, marks: MarkLog, time: int) -> CutAt:
        before, at = await marks.search(lambda mark: mark.lower < time)
        sealed = at is None and not await self.controller.current_segments(stream)
        if before is None and at is None and not sealed:
            raise NoWatermarksError(
                f"stream {stream} has no watermarks, so its cuts at event times are not known: have its writers "
                "note times (note_time); Pravega makes marks of them every 10 s by default"
            )
        return answer(time, before, at, await self._planner.tail(stream) if sealed else None)

    async def _marks(self, stream: StreamName) -> MarkLog:
        log = await MarkLog.open(self.controller, self.store, stream)
        if log is None:
            raise StreamNotFoundError(f"cannot read the watermarks of stream {stream}: it does not exist")
        return log


def _margin(ahead: int | timedelta, unit: TimeUnit) -> int:
    margin = -(-ahead // timedelta(microseconds=1) * 1000 // unit) if isinstance(ahead, timedelta) else ahead
    if margin < 0:
        raise ConfigurationError(f"'ahead' is {ahead}, but cannot be negative")
    return margin


def _is_beginning(cut: StreamCut) -> bool:
    return all(segment.epoch == 0 and offset == 0 for segment, offset in cut.positions.items())
