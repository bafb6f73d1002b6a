"""The commands about key-value tables: numbers and layouts as in Pravega's `WireCommands.java`, 0.13.0."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from aiopravega.wire import fields
from aiopravega.wire.command import Reply, Request, register
from aiopravega.wire.commands import ABSENT, Data, Int, Long, Text
from aiopravega.wire.fields import TableEntry, TableKey

Keys = Annotated[tuple[TableKey, ...], fields.KEYS]
Entries = Annotated[tuple[TableEntry, ...], fields.ENTRIES]
Longs = Annotated[tuple[int, ...], fields.LONGS]


@register
@dataclass(frozen=True, slots=True)
class UpdateTableEntries(Request):
    """Puts entries, each if its key has the version that it names."""

    TYPE: ClassVar[int] = 74
    request_id: Long
    segment: Text
    delegation_token: Text
    entries: Entries
    table_segment_offset: Long = ABSENT


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
    table_segment_offset: Long = ABSENT


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
