"""Bounded reads for asyncio: the events of a range, one by one, with their offsets.

Bytes are asked for ahead and out of order; events come in the order of the segment. For bulk work in blocks see
`aiopravega.read.bulk`.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from dataclasses import dataclass

from aiopravega import wire
from aiopravega.control import Access
from aiopravega.cuts import SegmentRange
from aiopravega.errors import EventTooLargeError, MalformedEventError
from aiopravega.names import SegmentId
from aiopravega.store import SegmentStore

# Bytes asked for by one request, and requests under way: 4 keep one connection busy when the data is in the
# server's cache, and bound the memory of a reader to about 4 MiB.
_REQUEST_BYTES = 1024 * 1024
_READ_AHEAD = 4


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its bytes, the segment it is in, and the offset in bytes of its frame there."""

    data: bytes
    segment: SegmentId
    offset: int


async def read_bytes(store: SegmentStore, segment: SegmentId, start: int, end: int) -> list[bytes | memoryview]:
    """All bytes of `[start, end)`; the server may answer with less than asked, so this asks again."""
    parts: list[bytes | memoryview] = []
    while start < end:
        offset, length = start, end - start
        reply = await store.request(
            segment,
            Access.READ,
            lambda request_id, token: wire.ReadSegment(str(segment), offset, length, token, request_id),  # noqa: B023 - called before the loop continues
            wire.SegmentRead,
        )
        if not reply.data:
            if reply.end_of_segment:
                raise MalformedEventError(f"{segment} ends at offset {start}, but the range continues to {end}")
            continue
        parts.append(reply.data)
        start += len(reply.data)
    return parts


async def read_windows(store: SegmentStore, wanted: SegmentRange) -> AsyncGenerator[bytes, None]:
    """The bytes of a range in order, in windows of `_REQUEST_BYTES`, with `_READ_AHEAD` requests under way."""
    starts = iter(range(wanted.start, wanted.end, _REQUEST_BYTES))
    waiting: deque[asyncio.Task[list[bytes | memoryview]]] = deque()

    def ask() -> None:
        start = next(starts, None)
        if start is not None:
            end = min(start + _REQUEST_BYTES, wanted.end)
            waiting.append(asyncio.create_task(read_bytes(store, wanted.segment, start, end)))

    try:
        for _ in range(_READ_AHEAD):
            ask()
        while waiting:
            parts = await waiting[0]
            waiting.popleft()
            ask()
            yield b"".join(parts)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def read_segment(store: SegmentStore, wanted: SegmentRange) -> AsyncGenerator[Event, None]:
    """The events of one segment's range; a long event may be in memory twice.

    Raises:
        MalformedEventError: the range starts or ends inside an event.
        EventTooLargeError: an event has more bytes than the store's configuration accepts.
    """
    carried: list[bytes] = []
    size = needed = 0  # carried bytes, and the size of the event that they begin
    position = wanted.start  # of the first byte that is carried
    async with aclosing(read_windows(store, wanted)) as windows:
        async for window in windows:
            carried.append(window)
            size += len(window)
            if size < needed:
                continue
            data = b"".join(carried)
            carried.clear()
            try:
                frames, whole = wire.scan_frames(data, 0, len(data), store.max_event_bytes)
            except MalformedEventError as error:
                raise no_event(wanted, position + error.at) from error
            except EventTooLargeError as error:
                raise too_large(wanted.segment, position + error.at, error.size, store.max_event_bytes) from error
            ends = [*frames[1:], whole]
            for start, end in zip(frames, ends, strict=False):
                yield Event(data[start + wire.EVENT_HEADER : end], wanted.segment, position + start)
            rest = data[whole:]
            carried.append(rest)
            size, needed = len(rest), wire.frame_size(rest)
            position += whole
            if position + needed > wanted.end:
                break
    if size:
        raise cut_off(wanted, position)


async def read_ranges(store: SegmentStore, ranges: Iterable[SegmentRange]) -> AsyncIterator[Event]:
    """The events of several ranges, one range after another."""
    for wanted in ranges:
        async for event in read_segment(store, wanted):
            yield event


def no_event(wanted: SegmentRange, offset: int) -> MalformedEventError:
    """No event starts where one should."""
    return MalformedEventError(
        f"{wanted.segment}: no event starts at offset {offset}, in the range from {wanted.start} to {wanted.end}: "
        "a StreamCut lies inside an event, or a program that is not an event writer wrote the stream. "
        "Use StreamCuts that lie between events",
        at=offset,
    )


def cut_off(wanted: SegmentRange, offset: int) -> MalformedEventError:
    """The event at an offset ends after the range."""
    return MalformedEventError(
        f"{wanted.segment}: the range from {wanted.start} to {wanted.end} ends inside the event at {offset}, or "
        "starts inside one: use StreamCuts that lie between events",
        at=offset,
        cut_off=True,
    )


def too_large(segment: SegmentId, offset: int, size: int, limit: int) -> EventTooLargeError:
    """The event at an offset is larger than the reader accepts."""
    return EventTooLargeError(
        f"{segment}: the event at offset {offset} has {size:,} bytes, but this reader accepts at most "
        f"max_event_bytes={limit:,}: it was not read. Give a larger max_event_bytes, if there is memory for the "
        "event; if nobody wrote such an event, a StreamCut lies inside one",
        offset,
        size,
    )
