"""The commands that this client speaks: numbers and layouts as in Pravega's `WireCommands.java`, 0.13.0."""

import uuid
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from aiopravega.wire import fields
from aiopravega.wire.command import Reply, Request, register
from aiopravega.wire.fields import AttributeUpdate

Int = Annotated[int, fields.INT]
Long = Annotated[int, fields.LONG]
Bool = Annotated[bool, fields.BOOL]
Text = Annotated[str, fields.TEXT]
Uuid = Annotated[uuid.UUID, fields.UUID]
Data = Annotated[bytes | memoryview, fields.DATA]
Rest = Annotated[bytes | memoryview, fields.REST]
Updates = Annotated[tuple[AttributeUpdate, ...], fields.UPDATES]

# Where Pravega leaves out a number.
ABSENT = -1
_EVENT = 0


@register
@dataclass(frozen=True, slots=True)
class Hello(Request, Reply):
    """First on every connection, each way: the protocol versions that a side speaks."""

    TYPE: ClassVar[int] = -127
    high_version: Int
    low_version: Int


@register
@dataclass(frozen=True, slots=True)
class KeepAlive(Request, Reply):
    """Says that a silent side still lives."""

    TYPE: ClassVar[int] = 100


# --- appends ------------------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, slots=True)
class SetupAppend(Request):
    """Announces a writer of a segment; answered by `AppendSetup`."""

    TYPE: ClassVar[int] = 1
    request_id: Long
    writer_id: Uuid
    segment: Text
    delegation_token: Text


@register
@dataclass(frozen=True, slots=True)
class AppendSetup(Reply):
    """The writer may append; `last_event_number` is the last one that is durable (-2^63: none)."""

    TYPE: ClassVar[int] = 2
    request_id: Long
    segment: Text
    writer_id: Uuid
    last_event_number: Long


@register
@dataclass(frozen=True, slots=True)
class AppendBlock(Request):
    """Whole framed events; takes effect with the `AppendBlockEnd` after it."""

    TYPE: ClassVar[int] = 3
    writer_id: Uuid
    data: Rest


@register
@dataclass(frozen=True, slots=True)
class AppendBlockEnd(Request):
    """Closes a block: bytes of whole events in it, their number, and the number of the last one."""

    TYPE: ClassVar[int] = 4
    writer_id: Uuid
    size_of_whole_events: Int
    data: Data
    num_events: Int
    last_event_number: Long
    request_id: Long = ABSENT


@register
@dataclass(frozen=True, slots=True)
class ConditionalAppend(Request):
    """One event, if the segment ends at an offset; see `DataAppended` and `ConditionalCheckFailed`."""

    TYPE: ClassVar[int] = 5
    writer_id: Uuid
    event_number: Long
    expected_offset: Long
    event_type: Int
    event: Data
    request_id: Long = ABSENT

    @classmethod
    def of(cls, writer_id: uuid.UUID, event_number: int, expected_offset: int, event: bytes, request_id: int) -> Self:
        """With the type that every event has."""
        return cls(writer_id, event_number, expected_offset, _EVENT, event, request_id)


@register
@dataclass(frozen=True, slots=True)
class ConditionalCheckFailed(Reply):
    """The segment did not end there; nothing was written."""

    TYPE: ClassVar[int] = 8
    writer_id: Uuid
    event_number: Long
    request_id: Long = ABSENT


@register
@dataclass(frozen=True, slots=True)
class DataAppended(Reply):
    """All events up to `event_number` are durable."""

    TYPE: ClassVar[int] = 7
    writer_id: Uuid
    event_number: Long
    previous_event_number: Long = ABSENT
    request_id: Long = ABSENT
    current_segment_write_offset: Long = ABSENT


@register
@dataclass(frozen=True, slots=True)
class InvalidEventNumber(Reply):
    """An append whose event number does not follow the last one."""

    TYPE: ClassVar[int] = 55
    writer_id: Uuid
    request_id: Long
    server_stack_trace: Text = ""
    event_number: Long = ABSENT


# --- events that are too long for an append: their own segment, which is merged ------------------------


@register
@dataclass(frozen=True, slots=True)
class CreateTransientSegment(Request):
    """Makes a segment to be merged into another one; it ends with the connection. See `SegmentCreated`."""

    TYPE: ClassVar[int] = 40
    request_id: Long
    writer_id: Uuid
    parent_segment: Text
    delegation_token: Text


@register
@dataclass(frozen=True, slots=True)
class SegmentCreated(Reply):
    """The segment exists now, under this name."""

    TYPE: ClassVar[int] = 21
    request_id: Long
    segment: Text


@register
@dataclass(frozen=True, slots=True)
class MergeSegments(Request):
    """Moves all of one segment to the end of a target, if attributes of the target have the given values."""

    TYPE: ClassVar[int] = 58
    request_id: Long
    target: Text
    source: Text
    delegation_token: Text
    attribute_updates: Updates = ()


@register
@dataclass(frozen=True, slots=True)
class SegmentsMerged(Reply):
    """The source is a part of the target now."""

    TYPE: ClassVar[int] = 59
    request_id: Long
    target: Text
    source: Text
    new_target_write_offset: Long = ABSENT


# --- reads --------------------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, slots=True)
class ReadSegment(Request):
    """Asks for bytes of a segment; the server may answer with less, and held back until there are any."""

    TYPE: ClassVar[int] = 9
    segment: Text
    offset: Long
    suggested_length: Int
    delegation_token: Text
    request_id: Long


@register
@dataclass(frozen=True, slots=True)
class SegmentRead(Reply):
    """Bytes of a segment. `data` is a view into the frame."""

    TYPE: ClassVar[int] = 10
    segment: Text
    offset: Long
    at_tail: Bool
    end_of_segment: Bool
    data: Data
    request_id: Long = ABSENT


@register
@dataclass(frozen=True, slots=True)
class GetStreamSegmentInfo(Request):
    """Asks for the state of a segment."""

    TYPE: ClassVar[int] = 11
    request_id: Long
    segment: Text
    delegation_token: Text


@register
@dataclass(frozen=True, slots=True)
class StreamSegmentInfo(Reply):
    """State of a segment; offsets in bytes."""

    TYPE: ClassVar[int] = 12
    request_id: Long
    segment: Text
    exists: Bool
    is_sealed: Bool
    is_deleted: Bool
    last_modified: Long
    write_offset: Long
    start_offset: Long = 0
