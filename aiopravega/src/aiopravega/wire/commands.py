"""The commands that this client speaks: numbers and layouts as in Pravega's `WireCommands.java`, 0.13.0."""

import uuid
from dataclasses import dataclass
from typing import Annotated, ClassVar

from aiopravega.wire import fields
from aiopravega.wire.command import Reply, Request, register
from aiopravega.wire.fields import TableEntry, TableKey

Int = Annotated[int, fields.INT]
Long = Annotated[int, fields.LONG]
Bool = Annotated[bool, fields.BOOL]
Text = Annotated[str, fields.TEXT]
Uuid = Annotated[uuid.UUID, fields.UUID]
Data = Annotated[bytes | memoryview, fields.DATA]
Rest = Annotated[bytes | memoryview, fields.REST]
Keys = Annotated[tuple[TableKey, ...], fields.KEYS]
Entries = Annotated[tuple[TableEntry, ...], fields.ENTRIES]
Longs = Annotated[tuple[int, ...], fields.LONGS]

# Where Pravega leaves out a number.
_ABSENT = -1


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
    request_id: Long = _ABSENT


@register
@dataclass(frozen=True, slots=True)
class DataAppended(Reply):
    """All events up to `event_number` are durable."""

    TYPE: ClassVar[int] = 7
    writer_id: Uuid
    event_number: Long
    previous_event_number: Long = _ABSENT
    request_id: Long = _ABSENT
    current_segment_write_offset: Long = _ABSENT


@register
@dataclass(frozen=True, slots=True)
class InvalidEventNumber(Reply):
    """An append whose event number does not follow the last one."""

    TYPE: ClassVar[int] = 55
    writer_id: Uuid
    request_id: Long
    server_stack_trace: Text = ""
    event_number: Long = _ABSENT


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
    request_id: Long = _ABSENT


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


# --- key-value tables ---------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, slots=True)
class UpdateTableEntries(Request):
    """Puts entries, each if its key has the version that it names."""

    TYPE: ClassVar[int] = 74
    request_id: Long
    segment: Text
    delegation_token: Text
    entries: Entries
    table_segment_offset: Long = _ABSENT


@register
@dataclass(frozen=True, slots=True)
class TableEntriesUpdated(Reply):
    """The new versions, in the order of the entries."""

    TYPE: ClassVar[int] = 75
    request_id: Long
    updated_versions: Longs


@register
@dataclass(frozen=True, slots=True)
class RemoveTableKeys(Request):
    """Removes keys, each if it has the version that it names."""

    TYPE: ClassVar[int] = 76
    request_id: Long
    segment: Text
    delegation_token: Text
    keys: Keys
    table_segment_offset: Long = _ABSENT


@register
@dataclass(frozen=True, slots=True)
class TableKeysRemoved(Reply):
    """The keys are gone."""

    TYPE: ClassVar[int] = 77
    request_id: Long
    segment: Text


@register
@dataclass(frozen=True, slots=True)
class ReadTable(Request):
    """Asks for the entries of keys."""

    TYPE: ClassVar[int] = 78
    request_id: Long
    segment: Text
    delegation_token: Text
    keys: Keys


@register
@dataclass(frozen=True, slots=True)
class TableRead(Reply):
    """The entries, in the order of the keys; one that does not exist has the version -1."""

    TYPE: ClassVar[int] = 79
    request_id: Long
    segment: Text
    entries: Entries


@register
@dataclass(frozen=True, slots=True)
class ReadTableKeys(Request):
    """Asks for a page of all keys, after `continuation_token`; the other three bound it by keys."""

    TYPE: ClassVar[int] = 83
    request_id: Long
    segment: Text
    delegation_token: Text
    suggested_key_count: Int
    continuation_token: Data = b""
    prefix_filter: Data = b""
    from_key: Data = b""
    to_key: Data = b""


@register
@dataclass(frozen=True, slots=True)
class TableKeysRead(Reply):
    """A page of keys with their versions, and where the next one starts; the last page is empty."""

    TYPE: ClassVar[int] = 84
    request_id: Long
    segment: Text
    keys: Keys
    continuation_token: Data
