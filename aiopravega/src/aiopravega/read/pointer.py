"""Pointers to single events, and how to fetch events by their pointers.

The text form is that of the Java client's `EventPointer.toString()` (`EventPointerImpl` in Pravega), which its
`fromString` reads: `scope/stream/0.#epoch.0:4096-108`, the segment, the offset of the event's frame and the frame's
length, both in bytes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Self

from aiopravega import wire
from aiopravega.bounded import each
from aiopravega.control import Controller
from aiopravega.errors import ConfigurationError, MalformedEventError, SegmentNotFoundError, StreamTruncatedError
from aiopravega.names import SegmentId, StreamName
from aiopravega.read.events import Event, read_bytes, too_large
from aiopravega.read.plan import Reason, why_absent
from aiopravega.store import SegmentStore

_TEXT: Final = re.compile(
    r"(?P<scope>[^/]+)/(?P<stream>[^/]+)/(?P<number>\d{1,10})\.#epoch\.(?P<epoch>\d{1,10})"
    r":(?P<offset>\d{1,19})-(?P<length>\d{1,10})",
    re.ASCII,
)
# Error messages quote this many characters of a text that is not a pointer.
_LONGEST_SHOWN: Final = 80
# Read first; the rest of a longer event is read only if an event begins there.
_GLANCE: Final = 1024 * 1024
# Bytes between two events up to which one request for both is faster than two.
_GAP: Final = 64 * 1024
# Requests at a time, each of up to `_GLANCE` bytes.
_READS: Final = 8


@dataclass(frozen=True, slots=True)
class EventPointer:
    """The position of one event: its segment, the offset and the length of its frame there (header included)."""

    segment: SegmentId
    offset: int
    length: int

    @classmethod
    def of(cls, event: Event) -> Self:
        """The pointer to an event that was read."""
        return cls(event.segment, event.offset, wire.EVENT_HEADER + len(event.data))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the Java client's text form.

        Raises:
            ConfigurationError: the text is not such a form.
        """
        matched = _TEXT.fullmatch(text.strip())
        shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
        if matched is None:
            raise ConfigurationError(
                f"{shown!r} is not an event pointer: expected scope/stream/segment.#epoch.epoch:offset-length, as in "
                "the column event_pointer, EventPointer.to_text() and Java's EventPointer.toString()"
            )
        stream = StreamName.parse(f"{matched['scope']}/{matched['stream']}")
        length = int(matched["length"])
        if not wire.EVENT_HEADER <= length <= wire.EVENT_HEADER + wire.LARGEST_EVENT:
            raise ConfigurationError(f"event pointer {shown!r} has the length {length}, which no event can have")
        return cls(SegmentId(stream, int(matched["number"]), int(matched["epoch"])), int(matched["offset"]), length)

    def to_text(self) -> str:
        """The Java client's text form."""
        return f"{self.segment}:{self.offset}-{self.length}"

    def __str__(self) -> str:
        return self.to_text()


async def fetch_event(controller: Controller, store: SegmentStore, pointer: EventPointer) -> Event:
    """The event that a pointer points to.

    Raises:
        StreamNotFoundError: the stream was deleted.
        StreamTruncatedError: retention or a truncation removed the event.
        SegmentNotFoundError: the stream has no such segment.
        MalformedEventError: no event of this length starts there; `at` is the offset.
        EventTooLargeError: the event has more bytes than the store's configuration accepts.
    """
    return (await fetch_events(controller, store, [pointer]))[0]


async def fetch_events(controller: Controller, store: SegmentStore, pointers: Sequence[EventPointer]) -> list[Event]:
    """The events that pointers point to, in their order. Those that are near each other are read by one request.

    Raises:
        PravegaError: as `fetch_event`, of the first pointer in its segment that has no event.
    """
    by_segment: dict[SegmentId, list[EventPointer]] = {}
    for pointer in pointers:
        if pointer.length - wire.EVENT_HEADER > store.max_event_bytes:
            size = pointer.length - wire.EVENT_HEADER
            raise too_large(pointer.segment, pointer.offset, size, store.max_event_bytes)
        by_segment.setdefault(pointer.segment, []).append(pointer)
    wanted = [sorted(set(its), key=lambda one: (one.offset, one.length)) for its in by_segment.values()]
    await each(partial(_check_bounds, controller, store), wanted, _READS)
    near = [run for its in wanted for run in _near_each_other(its)]
    read = await each(partial(_read, controller, store), near, _READS)
    found = {pointer: event for events in read for pointer, event in events.items()}
    return [found[pointer] for pointer in pointers]


async def _check_bounds(controller: Controller, store: SegmentStore, ordered: Sequence[EventPointer]) -> None:
    """Check that events of one segment are between its ends."""
    segment = ordered[0].segment
    try:
        info = await store.info(segment)
    except SegmentNotFoundError as error:
        raise await _missing(controller, store, ordered[0]) from error
    for pointer in ordered:
        if pointer.offset < info.start_offset:
            raise StreamTruncatedError(
                f"{pointer} cannot be fetched: {segment} starts at offset {info.start_offset}; retention or a "
                "truncation removed the event"
            )
        if pointer.offset + pointer.length > info.write_offset:
            raise _no_event(pointer, f"the segment ends at offset {info.write_offset}")


def _near_each_other(ordered: Sequence[EventPointer]) -> list[list[EventPointer]]:
    """Pointers of a segment whose events are read together: with what is between them, at most `_GLANCE` bytes."""
    runs: list[list[EventPointer]] = []
    start = end = 0
    for pointer in ordered:
        its_end = pointer.offset + pointer.length
        if runs and pointer.offset - end <= _GAP and max(end, its_end) - start <= _GLANCE:
            runs[-1].append(pointer)
            end = max(end, its_end)
        else:
            runs.append([pointer])
            start, end = pointer.offset, its_end
    return runs


async def _read(controller: Controller, store: SegmentStore, near: Sequence[EventPointer]) -> dict[EventPointer, Event]:
    """Read events that are near each other; a long one is alone, and checked before all of it is read."""
    segment, start = near[0].segment, near[0].offset
    end = max(one.offset + one.length for one in near)
    glance = min(end, start + _GLANCE)
    try:
        data = memoryview(b"".join(await read_bytes(store, segment, start, glance)))
        for pointer in near:
            at = pointer.offset - start
            header = bytes(data[at : at + wire.EVENT_HEADER])
            if header != wire.event_header(pointer.length - wire.EVENT_HEADER):
                raise _no_event(pointer, f"the bytes there are {header.hex(' ')}")
        if glance < end:
            data = memoryview(b"".join([data, *await read_bytes(store, segment, glance, end)]))
    except SegmentNotFoundError as error:
        raise await _missing(controller, store, near[0]) from error
    frames = {one: data[one.offset - start :][: one.length] for one in near}
    return {one: Event(bytes(frame[wire.EVENT_HEADER :]), segment, one.offset) for one, frame in frames.items()}


def _no_event(pointer: EventPointer, reason: str) -> MalformedEventError:
    return MalformedEventError(
        f"{pointer} points to no event: no frame of {pointer.length} bytes starts at offset {pointer.offset} of "
        f"{pointer.segment}, {reason}. Use unchanged pointers of this stream, not of a deleted stream of "
        "the same name",
        at=pointer.offset,
    )


async def _missing(controller: Controller, store: SegmentStore, pointer: EventPointer) -> Exception:
    """The error for a pointer into a missing segment; for a deleted stream, `why_absent` raises."""
    absence = await why_absent(controller, store, pointer.segment)
    kind = SegmentNotFoundError if absence.reason is Reason.NEVER_WAS else StreamTruncatedError
    return kind(f"{pointer} cannot be fetched: {absence.text}")
