"""The commands about key-value tables: numbers and layouts as in Pravega's `WireCommands.java`, 0.13.0."""

from typing import Annotated

from aiopravega.wire import fields
from aiopravega.wire.command import Reply, Request, command
from aiopravega.wire.commands import ABSENT, Data, Int, Long, Text
from aiopravega.wire.fields import TableEntry, TableKey

Keys = Annotated[tuple[TableKey, ...], fields.KEYS]
Entries = Annotated[tuple[TableEntry, ...], fields.ENTRIES]
Longs = Annotated[tuple[int, ...], fields.LONGS]


@command(74)
class UpdateTableEntries(Request):
    """Puts entries, each if its key has the version that it names."""

    request_id: Long
    segment: Text
    delegation_token: Text
    entries: Entries
    table_segment_offset: Long = ABSENT


@command(75)
class TableEntriesUpdated(Reply):
    """The new versions, in the order of the entries."""

    request_id: Long
    updated_versions: Longs


@command(76)
class RemoveTableKeys(Request):
    """Removes keys, each if it has the version that it names."""

    request_id: Long
    segment: Text
    delegation_token: Text
    keys: Keys
    table_segment_offset: Long = ABSENT


@command(77)
class TableKeysRemoved(Reply):
    """The keys are gone."""

    request_id: Long
    segment: Text


@command(78)
class ReadTable(Request):
    """Asks for the entries of keys."""

    request_id: Long
    segment: Text
    delegation_token: Text
    keys: Keys


@command(79)
class TableRead(Reply):
    """The entries, in the order of the keys; one that does not exist has the version -1."""

    request_id: Long
    segment: Text
    entries: Entries


@command(83)
class ReadTableKeys(Request):
    """Asks for a page of all keys, after `continuation_token`; the other three bound it by keys."""

    request_id: Long
    segment: Text
    delegation_token: Text
    suggested_key_count: Int
    continuation_token: Data = b""
    prefix_filter: Data = b""
    from_key: Data = b""
    to_key: Data = b""


@command(84)
class TableKeysRead(Reply):
    """A page of keys with their versions, and where the next one starts; the last page is empty."""

    request_id: Long
    segment: Text
    keys: Keys
    continuation_token: Data
