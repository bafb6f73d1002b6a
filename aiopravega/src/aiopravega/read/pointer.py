"""Pointers to single events, and how to fetch an event by its pointer.

The text form is that of the Java client's `EventPointer.toString()` (`EventPointerImpl` in Pravega), which its
`fromString` reads: `scope/stream/0.#epoch.0:4096-108`, the segment, the offset of the event's frame and the frame's
length, both in bytes.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from aiopravega import wire
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
    segment, start, end = pointer.segment, pointer.offset, pointer.offset + pointer.length
    size = pointer.length - wire.EVENT_HEADER
    if size > store.max_event_bytes:
        raise too_large(segment, start, size, store.max_event_bytes)
    try:
        info = await store.info(segment)
        if start < info.start_offset:
            raise StreamTruncatedError(
                f"{pointer} cannot be fetched: {segment} starts at offset {info.start_offset}; retention or a "
                "truncation removed the event"
            )
        if end > info.write_offset:
            raise _no_event(pointer, f"the segment ends at offset {info.write_offset}")
        # Checked before all of a long event is read.
        glance = min(end, start + _GLANCE)
        beginning = b"".join(await read_bytes(store, segment, start, glance))
        header = beginning[: wire.EVENT_HEADER]
        if header != wire.event_header(size):
            raise _no_event(pointer, f"the bytes there are {header.hex(' ')}")
        data = b"".join([beginning[wire.EVENT_HEADER :], *await read_bytes(store, segment, glance, end)])
    except SegmentNotFoundError as error:
        raise await _missing(controller, store, pointer) from error
    return Event(data, segment, start)


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
