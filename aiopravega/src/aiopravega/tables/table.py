"""One key-value table. Every update can demand a version; the ledgers are built on that.

Keys have the length that the table was made with (Pravega's fixed-key-length tables): a primary part and, in some
tables, a secondary one after it. A partition is chosen by the hash of the primary part, as in `KeyValueTableSegments`
of the Java client: so keys with the same primary part are in one partition, in the order of their secondary parts.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence

from aiopravega import wire
from aiopravega.bounded import each
from aiopravega.control import Access, Controller, TableConfiguration
from aiopravega.errors import ConfigurationError, TableNotFoundError
from aiopravega.names import SegmentId
from aiopravega.routing import SegmentMap, table_key_position
from aiopravega.store import SegmentStore
from aiopravega.tables.conditional import ABSENT, ANY, TableEntry, conditionally

# Keys asked for at a time when the whole table is read, and removed at a time.
_PAGE = 500
# Values requested at a time: so many of the largest size, 1 MiB, fit into a frame. Several requests are under way.
_VALUES = 15
_READS_AT_ONCE = 4
# Updates are not conditional on the length of the table's segment.
_ANY_OFFSET = -1
# Error messages quote so many bytes of a wrong key.
_LONGEST_SHOWN = 40


def _key_after(key: bytes) -> bytes | None:
    """The next key of the same length; None after the last one."""
    number = int.from_bytes(key, "big") + 1
    return None if number >> (8 * len(key)) else number.to_bytes(len(key), "big")


class KeyValueTable:
    """Access to one key-value table; made by `PravegaClient.table`.

    A key is its primary and secondary part, one after the other.

    Raises:
        TableNotFoundError: on the first call, if the table does not exist.
        ConfigurationError: a key does not have the table's length.
    """

    def __init__(self, controller: Controller, store: SegmentStore, scope: str, table: str) -> None:
        self._controller = controller
        self._store = store
        self._scope = scope
        self._table = table
        self._map: SegmentMap | None = None
        self._configuration: TableConfiguration | None = None

    async def create_if_missing(self, key_length: int) -> bool:
        """Make the table with one partition and without secondary keys; returns False if it exists already.

        It is read first: a controller needs 0.1 s to say that a table exists.

        Raises:
            ScopeNotFoundError: the scope does not exist.
        """
        try:
            await self.get(bytes(key_length))
        except TableNotFoundError:
            return await self._controller.create_table(self._scope, self._table, 1, key_length)
        return False

    async def get(self, key: bytes) -> TableEntry | None:
        """The entry of a key, or None."""
        entries = await self._read(await self._segment(key), [key])
        return entries[0] if entries else None

    async def put(self, key: bytes, value: bytes) -> int:
        """Set a key without a condition; returns the new version."""
        return await self._update(key, value, ANY)

    async def put_if_absent(self, key: bytes, value: bytes) -> int:
        """Set a key that must not exist; returns its version.

        Raises:
            TableConflictError: the key exists.
        """
        return await self._update(key, value, ABSENT)

    async def replace(self, key: bytes, value: bytes, version: int) -> int:
        """Set a key that must have `version`; returns the new one.

        Raises:
            TableConflictError: it has another version, or does not exist.
        """
        return await self._update(key, value, version)

    async def replace_all(self, entries: Mapping[bytes, tuple[bytes, int | None]]) -> None:
        """Set the values of some keys, all of them or none. Each key must have the version beside its value.

        None as a version: the key must not exist. The keys must be in one partition of the table.

        Raises:
            TableConflictError: a key has another version; nothing is changed.
            ConfigurationError: the keys are in several partitions.
        """
        await self._update_all(
            {key: (value, ABSENT if version is None else version) for key, (value, version) in entries.items()}
        )

    async def remove(self, key: bytes, version: int | None = None) -> None:
        """Remove a key; if a version is given, only in that version.

        Raises:
            TableConflictError: it has another version.
        """
        expected = ANY if version is None else version
        segment = await self._segment(key)

        async def attempt(versions: Mapping[bytes, int]) -> Sequence[int]:
            await self._store.request_once(
                segment,
                Access.READ_WRITE,
                lambda request_id, token: wire.RemoveTableKeys(
                    request_id, str(segment), token, (wire.TableKey(key, versions[key]),), _ANY_OFFSET
                ),
                wire.TableKeysRemoved,
            )
            return ()

        await self._conditionally(attempt, {key: (None, expected)}, "removal from")

    async def remove_all(self, keys: Iterable[bytes]) -> None:
        """Remove keys, whatever their versions, with few requests; keys that do not exist are fine."""
        by_segment: defaultdict[SegmentId, list[wire.TableKey]] = defaultdict(list)
        for key in keys:
            by_segment[await self._segment(key)].append(wire.TableKey(key, ANY))
        for segment, all_keys in by_segment.items():
            for start in range(0, len(all_keys), _PAGE):
                await self._remove(segment, tuple(all_keys[start : start + _PAGE]))

    async def _remove(self, segment: SegmentId, keys: tuple[wire.TableKey, ...]) -> None:
        await self._store.request(
            segment,
            Access.READ_WRITE,
            lambda request_id, token: wire.RemoveTableKeys(request_id, str(segment), token, keys, _ANY_OFFSET),
            wire.TableKeysRemoved,
        )

    async def entries(self, first: bytes = b"", last: bytes = b"") -> AsyncIterator[TableEntry]:
        """All entries, or those with keys from `first` to `last`; changes during the call may or may not be seen.

        The entries of one partition come in the order of their keys; the partitions come in no order.
        """
        async for keys in self.key_pages(first, last):
            for entry in await self.get_all(keys):
                yield entry

    async def key_pages(self, first: bytes = b"", last: bytes = b"") -> AsyncIterator[list[bytes]]:
        """All keys, or those from `first` to `last`, some hundreds at a time."""
        async for versions in self.key_versions(first, last):
            yield list(versions)

    async def key_versions(self, first: bytes = b"", last: bytes = b"") -> AsyncIterator[dict[bytes, int]]:
        """All keys, or those from `first` to `last`, with their versions in the index, some hundreds at a time.

        In one partition a later change has the greater version. But a server that compacts the table gives the entries
        that it moves new versions there, which reads of these entries do not show.
        """
        for segment in (await self._segments()).segments:
            start: bytes | None = first
            while start is not None and (not last or start <= last):  # beyond it, a server refuses the question
                versions = await self._keys(segment, start, last)
                if versions:
                    yield versions
                start = _key_after(next(reversed(versions))) if versions else None

    async def get_all(self, keys: Sequence[bytes]) -> list[TableEntry]:
        """The entries of keys, in their order; those that do not exist are left out.

        The server sends each page of entries as one frame of any size, but clients take at most 16 MiB. So entries are
        read by their keys, few enough at a time that even the largest values fit.
        """
        by_segment: defaultdict[SegmentId, list[bytes]] = defaultdict(list)
        for key in keys:
            by_segment[await self._segment(key)].append(key)
        parts = [
            (segment, own[start : start + _VALUES])
            for segment, own in by_segment.items()
            for start in range(0, len(own), _VALUES)
        ]
        gate = asyncio.Semaphore(_READS_AT_ONCE)

        async def read(segment: SegmentId, part: list[bytes]) -> list[TableEntry]:
            async with gate:
                return await self._read(segment, part)

        found = await asyncio.gather(*(read(segment, part) for segment, part in parts))
        by_key = {entry.key: entry for entries in found for entry in entries}
        return [by_key[key] for key in keys if key in by_key]

    async def _keys(self, segment: SegmentId, first: bytes, last: bytes) -> dict[bytes, int]:
        """Keys from `first` on with their versions, in their order; tables of fixed key length page by keys."""
        page = await self._store.request(
            segment,
            Access.READ,
            lambda request_id, token: wire.ReadTableKeys(
                request_id, str(segment), token, _PAGE, from_key=first, to_key=last
            ),
            wire.TableKeysRead,
        )
        return {key.data: key.version for key in page.keys}

    async def _read(self, segment: SegmentId, keys: Sequence[bytes]) -> list[TableEntry]:
        wanted = tuple(wire.TableKey(key, ANY) for key in keys)
        reply = await self._store.request(
            segment,
            Access.READ,
            lambda request_id, token: wire.ReadTable(request_id, str(segment), token, wanted),
            wire.TableRead,
        )
        return [
            TableEntry(key, value, found.version)
            for key, (found, value) in zip(keys, reply.entries, strict=True)
            if found.version != ABSENT
        ]

    async def _segments(self) -> SegmentMap:
        if self._map is None:
            self._map = SegmentMap(await self._controller.table_segments(self._scope, self._table))
        return self._map

    async def _lengths(self) -> TableConfiguration:
        if self._configuration is None:
            self._configuration = await self._controller.table_configuration(self._scope, self._table)
        return self._configuration

    async def _segment(self, key: bytes) -> SegmentId:
        if self._map is None or self._configuration is None:
            # At once, since a controller may take 0.03 s for each answer. Of two errors that of the segments is raised.
            asked: tuple[Callable[[], Awaitable[object]], ...] = (self._segments, self._lengths)
            await each(lambda ask: ask(), asked, len(asked))
        segments, lengths = await self._segments(), await self._lengths()
        if len(key) != lengths.total_key_length:
            secondary = f" ({lengths.key_length} for the primary part)" if lengths.secondary_key_length else ""
            raise ConfigurationError(
                f"{key[:_LONGEST_SHOWN]!r} is not a key of table {self._scope}/{self._table}: it has {len(key)} "
                f"bytes, but the table's keys have {lengths.total_key_length}{secondary}"
            )
        return segments.segment_for(table_key_position(key[: lengths.key_length]))

    async def _update(self, key: bytes, value: bytes, version: int) -> int:
        return (await self._update_all({key: (value, version)}))[0]

    async def _update_all(self, entries: Mapping[bytes, tuple[bytes, int]]) -> Sequence[int]:
        segment, *others = {await self._segment(key) for key in entries}
        if others:
            raise ConfigurationError(
                f"{len(entries)} keys of {self._scope}/{self._table} are in {len(others) + 1} partitions of the table: "
                "only keys of one partition can be changed at once. Make the table with one partition"
            )

        async def attempt(versions: Mapping[bytes, int]) -> Sequence[int]:
            wanted = tuple((wire.TableKey(key, versions[key]), value) for key, (value, _) in entries.items())
            reply, _ = await self._store.request_once(
                segment,
                Access.READ_WRITE,
                lambda request_id, token: wire.UpdateTableEntries(request_id, str(segment), token, wanted, _ANY_OFFSET),
                wire.TableEntriesUpdated,
            )
            return reply.updated_versions

        return await self._conditionally(attempt, entries, "update of")

    async def _conditionally(
        self,
        attempt: Callable[[Mapping[bytes, int]], Awaitable[Sequence[int]]],
        wanted: Mapping[bytes, tuple[bytes | None, int]],
        what: str,
    ) -> Sequence[int]:
        async def read() -> dict[bytes, TableEntry]:
            return {entry.key: entry for entry in await self.get_all(list(wanted))}

        async def position(key: bytes) -> dict[bytes, int]:
            return await self._keys(await self._segment(key), key, key)

        async def positions(keys: Sequence[bytes]) -> dict[bytes, int]:
            return {
                key: version for found in await each(position, keys, _READS_AT_ONCE) for key, version in found.items()
            }

        name = f"{what} table {self._scope}/{self._table}"
        return await conditionally(attempt, read, positions, wanted, self._store.retry_policy, name)
