"""Blocking forms of the client's calls about event time."""

from collections.abc import Iterator
from datetime import timedelta

from aiopravega import client as asynchronous
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.event_time import CutAt, TimeBounds, Watermark
from aiopravega.loop import LoopThread
from aiopravega.times import EventTime, TimeUnit


class TimeCalls:
    """Part of the blocking `PravegaClient`; see `aiopravega.event_time.calls.TimeCalls`."""

    _loop: LoopThread
    _client: asynchronous.PravegaClient

    def note_time(
        self,
        scope: str,
        stream: str,
        writer_id: str,
        time: EventTime,
        cut: StreamCut | None = None,
        *,
        unit: TimeUnit = TimeUnit.MS,
    ) -> None:
        """Note that a writer writes nothing older than `time` behind `cut` (None: behind the tail)."""
        self._loop.run(self._client.note_time(scope, stream, writer_id, time, cut, unit=unit))

    def watermarks(
        self,
        scope: str,
        stream: str,
        *,
        since: EventTime | None = None,
        follow: bool = False,
        unit: TimeUnit = TimeUnit.MS,
    ) -> Iterator[Watermark]:
        """The marks of a stream, from the first with at least the lower time `since` on, and later ones."""
        marks = self._client.watermarks(scope, stream, since=since, follow=follow, unit=unit)
        return self._loop.iterate(marks, hop=1) if follow else self._loop.iterate(marks)

    def cut_at(self, scope: str, stream: str, time: EventTime, *, unit: TimeUnit = TimeUnit.MS) -> CutAt:
        """The first cut that is known to be complete up to an event time, or why there is none."""
        return self._loop.run(self._client.cut_at(scope, stream, time, unit=unit))

    def range_for(
        self,
        scope: str,
        stream: str,
        interval: tuple[EventTime, EventTime],
        *,
        ahead: int | timedelta | None = None,
        clip: bool = False,
        unit: TimeUnit = TimeUnit.MS,
    ) -> StreamCutRange:
        """The smallest range that surely holds every event of the times `[start, end)`, and others."""
        return self._loop.run(self._client.range_for(scope, stream, interval, ahead=ahead, clip=clip, unit=unit))

    def time_bounds(self, wanted: StreamCutRange) -> TimeBounds:
        """What the stream's watermarks say of the times in a range."""
        return self._loop.run(self._client.time_bounds(wanted))
