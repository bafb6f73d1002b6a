"""The commands about a segment's attributes and its head: numbers and layouts as in Pravega's `WireCommands.java`."""

import uuid
from dataclasses import dataclass
from typing import ClassVar

from aiopravega.wire.command import Reply, Request, register
from aiopravega.wire.commands import Long, Text, Uuid

# The attribute with the time of a segment's making, in milliseconds (Pravega's `Attributes.CREATION_TIME`).
CREATION_TIME = uuid.UUID(int=1 << 127)
# The attribute with the offset from which a state is read that several clients share (Pravega's `SegmentAttribute`).
REVISION_MARK = uuid.UUID("7df9a874-246c-c9d6-9397-cdd19ead68c5")
# The attribute of this package with the mark of the commit ledger that remembers the writes to a segment's stream.
LEDGER_MARK = uuid.UUID("5fe280d0-64ed-576e-b2ee-9b99118aa5a4")


@register
@dataclass(frozen=True, slots=True)
class GetSegmentAttribute(Request):
    """Asks for one of the numbers that a segment store keeps of a segment, by its id."""

    TYPE: ClassVar[int] = 34
    request_id: Long
    segment: Text
    attribute: Uuid
    delegation_token: Text


@register
@dataclass(frozen=True, slots=True)
class SegmentAttribute(Reply):
    """The number; `NO_VALUE` where the segment has none."""

    TYPE: ClassVar[int] = 35
    request_id: Long
    value: Long


@register
@dataclass(frozen=True, slots=True)
class UpdateSegmentAttribute(Request):
    """Sets such a number if it has the `expected` value; `NO_VALUE` stands for none."""

    TYPE: ClassVar[int] = 36
    request_id: Long
    segment: Text
    attribute: Uuid
    value: Long
    expected: Long
    delegation_token: Text


@register
@dataclass(frozen=True, slots=True)
class TruncateSegment(Request):
    """Removes all bytes of a segment before an offset."""

    TYPE: ClassVar[int] = 38
    request_id: Long
    segment: Text
    offset: Long
    delegation_token: Text


@register
@dataclass(frozen=True, slots=True)
class SegmentTruncated(Reply):
    """They are removed."""

    TYPE: ClassVar[int] = 39
    request_id: Long
    segment: Text
