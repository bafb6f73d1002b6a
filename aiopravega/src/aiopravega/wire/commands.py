"""The commands that this client speaks: numbers and layouts as in Pravega's `WireCommands.java`, 0.13.0."""

import uuid
from typing import Annotated, Final, Self

from aiopravega.errors import ProtocolError
from aiopravega.wire import fields
from aiopravega.wire.command import Command, Reply, Request, command
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
# The attribute with the time of a segment's making, in milliseconds (Pravega's `Attributes.CREATION_TIME`).
CREATION_TIME = uuid.UUID(int=1 << 127)
# The attribute with the offset from which a state is read that several clients share (Pravega's `SegmentAttribute`).
REVISION_MARK = uuid.UUID("7df9a874-246c-c9d6-9397-cdd19ead68c5")
# The attribute of this package with the mark of the commit ledger that remembers the writes to a segment's stream.
LEDGER_MARK = uuid.UUID("5fe280d0-64ed-576e-b2ee-9b99118aa5a4")


@command(-127)
class Hello(Request, Reply):
    """First on every connection, each way: the protocol versions that a side speaks."""

    high_version: Int
    low_version: Int


@command(100)
class KeepAlive(Request, Reply):
    """Says that a silent side still lives."""


# --- appends ------------------------------------------------------------------------------------------------


@command(1)
class SetupAppend(Request):
    """Announces a writer of a segment; answered by `AppendSetup`."""

    request_id: Long
    writer_id: Uuid
    segment: Text
    delegation_token: Text


@command(2)
class AppendSetup(Reply):
    """The writer may append; `last_event_number` is the last one that is durable (-2^63: none)."""

    request_id: Long
    segment: Text
    writer_id: Uuid
    last_event_number: Long


@command(3)
class AppendBlock(Request):
    """Whole framed events; takes effect with the `AppendBlockEnd` after it."""

    writer_id: Uuid
    data: Rest


@command(4)
class AppendBlockEnd(Request):
    """Closes a block: bytes of whole events in it, their number, and the number of the last one."""

    writer_id: Uuid
    size_of_whole_events: Int
    data: Data
    num_events: Int
    last_event_number: Long
    request_id: Long = ABSENT


@command(5)
class ConditionalAppend(Request):
    """One event, if the segment ends at an offset; see `DataAppended` and `ConditionalCheckFailed`."""

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


@command(8)
class ConditionalCheckFailed(Reply):
    """The segment did not end there; nothing was written."""

    writer_id: Uuid
    event_number: Long
    request_id: Long = ABSENT


@command(7)
class DataAppended(Reply):
    """All events up to `event_number` are durable."""

    writer_id: Uuid
    event_number: Long
    previous_event_number: Long = ABSENT
    request_id: Long = ABSENT
    current_segment_write_offset: Long = ABSENT


@command(55)
class InvalidEventNumber(Reply):
    """An append whose event number does not follow the last one."""

    writer_id: Uuid
    request_id: Long
    server_stack_trace: Text = ""
    event_number: Long = ABSENT


# --- events that are too long for an append: their own segment, which is merged ------------------------


@command(40)
class CreateTransientSegment(Request):
    """Makes a segment to be merged into another one; it ends with the connection. See `SegmentCreated`."""

    request_id: Long
    writer_id: Uuid
    parent_segment: Text
    delegation_token: Text


@command(21)
class SegmentCreated(Reply):
    """The segment exists now, under this name."""

    request_id: Long
    segment: Text


@command(58)
class MergeSegments(Request):
    """Moves all of one segment to the end of a target, if attributes of the target have the given values."""

    request_id: Long
    target: Text
    source: Text
    delegation_token: Text
    attribute_updates: Updates = ()


@command(59)
class SegmentsMerged(Reply):
    """The source is a part of the target now."""

    request_id: Long
    target: Text
    source: Text
    new_target_write_offset: Long = ABSENT


# --- reads --------------------------------------------------------------------------------------------------


@command(9)
class ReadSegment(Request):
    """Asks for bytes of a segment; the server may answer with less, and held back until there are any."""

    segment: Text
    offset: Long
    suggested_length: Int
    delegation_token: Text
    request_id: Long


@command(10)
class SegmentRead(Reply):
    """Bytes of a segment. `data` is a view into the frame."""

    segment: Text
    offset: Long
    at_tail: Bool
    end_of_segment: Bool
    data: Data
    request_id: Long = ABSENT


@command(11)
class GetStreamSegmentInfo(Request):
    """Asks for the state of a segment."""

    request_id: Long
    segment: Text
    delegation_token: Text


@command(12)
class StreamSegmentInfo(Reply):
    """State of a segment; offsets in bytes."""

    request_id: Long
    segment: Text
    exists: Bool
    is_sealed: Bool
    is_deleted: Bool
    last_modified: Long
    write_offset: Long
    start_offset: Long = 0


# --- attributes of segments, and their heads -----------------------------------------------------------------


@command(34)
class GetSegmentAttribute(Request):
    """Asks for one of the numbers that a segment store keeps of a segment, by its id."""

    request_id: Long
    segment: Text
    attribute: Uuid
    delegation_token: Text


@command(35)
class SegmentAttribute(Reply):
    """The number; `NO_VALUE` where the segment has none."""

    request_id: Long
    value: Long


@command(36)
class UpdateSegmentAttribute(Request):
    """Sets such a number if it has the `expected` value; `NO_VALUE` stands for none."""

    request_id: Long
    segment: Text
    attribute: Uuid
    value: Long
    expected: Long
    delegation_token: Text


@command(38)
class TruncateSegment(Request):
    """Removes all bytes of a segment before an offset."""

    request_id: Long
    segment: Text
    offset: Long
    delegation_token: Text


@command(39)
class SegmentTruncated(Reply):
    """They are removed."""

    request_id: Long
    segment: Text


# --- the greeting of every connection: the versions of the protocol that each side speaks ---------------------

# Pravega 0.13.0 answers (16, 5); main, of 2025, speaks up to 17.
HELLO: Final = Hello(high_version=18, low_version=5)


def check_hello(answer: Command, server: object) -> None:
    """See that `server` answered our `HELLO` with versions that overlap ours.

    Raises:
        ProtocolError: they do not, or the answer is another command.
    """
    if not isinstance(answer, Hello):
        raise ProtocolError(
            f"{server} began with {type(answer).__name__} and not with Hello: it is not a segment store"
        )
    if answer.low_version > HELLO.high_version or answer.high_version < HELLO.low_version:
        raise ProtocolError(
            f"{server} speaks versions {answer.low_version} to {answer.high_version} of Pravega's protocol, this "
            f"client {HELLO.low_version} to {HELLO.high_version}: they do not fit together"
        )
