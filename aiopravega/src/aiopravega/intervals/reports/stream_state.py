"""The state of a stream, found again and again with few requests, so that one process can observe hundreds.

No event is read, unless it is to be counted. As long as a stream is not scaled, one request for each segment of its
tail is enough to see that nothing was written.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import (
    InvalidRangeError,
    InvalidStreamCutError,
    NoWatermarksError,
    SegmentNotFoundError,
    StreamMadeAgainError,
    StreamTruncatedError,
    TableNotFoundError,
)
from aiopravega.intervals.chain.losses import bytes_between
from aiopravega.intervals.conditions.bounded_ends import count_events
from aiopravega.intervals.reports.freshness import Freshness, freshness_of
from aiopravega.intervals.reports.lag import Lag, lag_after
from aiopravega.names import SegmentId, StreamName
from aiopravega.store import SegmentInfo
from aiopravega.times import TimeUnit


@dataclass(frozen=True, slots=True)
class StreamState:
    """The end of a stream at some moment.

    Attributes:
        tail: the cut after the last event.
        is_sealed: no event follows the tail.
        seen_at: the time before the servers were asked, by this machine's clock.
        written_at: the time of the last write. Segment stores note it only from time to time, so it is the later one
            of theirs and of the time at which the stream was last seen without the write.
    """

    tail: StreamCut
    is_sealed: bool
    seen_at: datetime
    written_at: datetime

    def to_json(self) -> list[Any]:
        """A short form for a store; `from_json` reads it."""
        positions = [[segment.number, segment.epoch, offset] for segment, offset in self.tail.positions.items()]
        return [positions, self.is_sealed, self.seen_at.timestamp(), self.written_at.timestamp()]

    @classmethod
    def from_json(cls, stream: StreamName, value: Sequence[Any]) -> Self:
        """Read what `to_json` has made of the state of a stream."""
        positions, is_sealed, *times = value
        tail = StreamCut(stream, {SegmentId(stream, number, epoch): offset for number, epoch, offset in positions})
        seen_at, written_at = (datetime.fromtimestamp(time, UTC) for time in times)
        return cls(tail, is_sealed, seen_at, written_at)


@dataclass(frozen=True, slots=True)
class Observation:
    """A stream as it was seen, and what has changed since it was last seen.

    Attributes:
        state: its end.
        head: the first cut that can be read.
        readable: bytes from the head to the tail, event headers included.
        new: the range that was written since it was last seen; None: it was not seen before, or was made again.
        new_bytes: of `new`; None: not known, because retention has removed a part.
        new_events: of `new`; None: not counted.
        counted_to: the number at which counting stopped: if `new_events` equals it, there may be more.
        freshness: of its event times; None: not asked, or its writers note none.
        lags: of consumers by their names.
    """

    state: StreamState
    head: StreamCut
    readable: int
    new: StreamCutRange | None
    new_bytes: int | None
    new_events: int | None
    counted_to: int
    freshness: Freshness | None
    lags: Mapping[str, Lag]


async def look_at(client: PravegaClient, stream: StreamName, last: StreamState | None = None) -> StreamState:
    """The state of a stream; if `last` is given, with two requests for each segment: where it is, and its end.

    Raises:
        StreamNotFoundError: there is no such stream.
    """
    now = datetime.now(UTC)
    infos = None if last is None else await _infos(client, list(last.tail.positions))
    if last is not None and infos is not None and _has_not_ended(infos, last):
        return _state(stream, infos, last, now, is_sealed=last.is_sealed)
    current = [entry.segment for entry in await client.controller.current_segments(stream)]
    infos = await _infos(client, current) if current else None
    if infos is not None and not any(info.sealed for info in infos.values()):
        return _state(stream, infos, last, now, is_sealed=False)
    # Asked before the tail: no event follows the tail of a sealed stream.
    is_sealed = await client.is_sealed(stream)
    tail = await client.tail(stream)
    changed = [info.changed_at for info in (await _infos(client, list(tail.positions)) or {}).values()]
    return StreamState(tail, is_sealed, now, _written_at(tail, max(changed, default=now), last))


async def observe(
    client: PravegaClient,
    stream: StreamName,
    last: StreamState | None = None,
    *,
    consumers: Sequence[str] = (),
    count_to: int = 0,
    unit: TimeUnit | None = None,
) -> Observation:
    """A stream with its numbers, and what is new since `last`.

    Args:
        client: a connected client.
        stream: the stream.
        last: its state when it was last seen; None: it is seen for the first time.
        consumers: consumers of the cut ledger in the stream's scope, whose lag is wanted.
        count_to: the most new events that are counted, by reading them.
        unit: of the event times that its writers note; None: they are not asked for.

    Raises:
        StreamNotFoundError: there is no such stream.
        PravegaError: the ledger or the stream cannot be asked.
    """
    ledger = client.cut_ledger(stream.scope)
    records = {}
    for consumer in consumers:  # read before the tail, so that it is not before a consumer's position
        try:
            records[consumer] = await ledger.records(consumer, stream)
        except TableNotFoundError:
            records[consumer] = []
    state = await look_at(client, stream, last)
    head = await client.head(stream)
    if any(offset < head.positions.get(segment, 0) for segment, offset in state.tail.positions.items()):
        state = await look_at(client, stream, last)  # truncated at a later tail meanwhile
    whole = StreamCutRange(head, state.tail)
    lags = {name: await lag_after(client, stream, found, ends=whole) for name, found in records.items()}
    new, new_bytes, new_events = await _new(client, state, last, count_to)
    return Observation(
        state,
        head,
        await _size(client, whole),
        new,
        new_bytes,
        new_events,
        count_to,
        await _freshness(client, stream, unit) if unit is not None else None,
        lags,
    )


async def _infos(client: PravegaClient, segments: Sequence[SegmentId]) -> dict[SegmentId, SegmentInfo] | None:
    """Infos of segments; None: one of them is gone."""
    try:
        infos = await asyncio.gather(*(client.store.info(segment) for segment in segments))
    except SegmentNotFoundError:
        return None
    return dict(zip(segments, infos, strict=True))


def _has_not_ended(infos: Mapping[SegmentId, SegmentInfo], last: StreamState) -> bool:
    """True if the tail still has these segments: a segment at the tail is sealed when it is scaled or sealed."""
    if not last.is_sealed:
        return not any(info.sealed for info in infos.values())
    return all(info.sealed and info.write_offset == last.tail.positions[s] for s, info in infos.items())


def _state(
    stream: StreamName,
    infos: Mapping[SegmentId, SegmentInfo],
    last: StreamState | None,
    now: datetime,
    *,
    is_sealed: bool,
) -> StreamState:
    tail = StreamCut(stream, {segment: info.write_offset for segment, info in infos.items()})
    return StreamState(tail, is_sealed, now, _written_at(tail, max(i.changed_at for i in infos.values()), last))


def _written_at(tail: StreamCut, changed: datetime, last: StreamState | None) -> datetime:
    """A tail that has moved was written after it was last seen. The time of one that stands does not go back."""
    if last is None:
        return changed
    return max(changed, last.written_at if tail == last.tail else last.seen_at)


async def _new(
    client: PravegaClient, state: StreamState, last: StreamState | None, count_to: int
) -> tuple[StreamCutRange | None, int | None, int | None]:
    """The range that was written since a stream was last seen, its bytes, and its events."""
    if last is None:
        return None, None, None
    try:
        new = StreamCutRange(last.tail, state.tail)
        size = await bytes_between(client, new)
    except (InvalidRangeError, InvalidStreamCutError, StreamMadeAgainError):
        return None, None, None
    if not count_to or size is None:
        return new, size, None
    try:
        return new, size, await count_events(client, new, count_to)
    except StreamTruncatedError:
        return new, size, None


async def _size(client: PravegaClient, whole: StreamCutRange) -> int:
    start, end = whole.start.positions, whole.end.positions
    if start.keys() == end.keys():
        return sum(max(0, offset - start[segment]) for segment, offset in end.items())
    return await client.distance(whole.start, whole.end)


async def _freshness(client: PravegaClient, stream: StreamName, unit: TimeUnit) -> Freshness | None:
    try:
        return await freshness_of(client, stream, unit=unit)
    except NoWatermarksError:
        return None
