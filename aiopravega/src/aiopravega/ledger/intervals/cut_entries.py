"""The records of a cut ledger as they are in its table: found, put in order, changed one at a time.

The last interval of a chain has two records: the record of the consumer's last range, which decides the range, and its
own record, which has its state. The newer one of them is the interval's valid record.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import LedgerError, TableConflictError
from aiopravega.ledger.intervals.cut_record import CutRecord, Interval, IntervalState, chain_key_of, first_key, last_key
from aiopravega.names import StreamName
from aiopravega.tables import KeyValueTable


@dataclass(frozen=True, slots=True)
class StoredRange:
    """A consumer's last range as it was found, with the `version` that a conditional update has to meet."""

    record: CutRecord
    version: int

    @property
    def interval(self) -> str:
        """The name of the interval that has the range."""
        return self.record.interval

    @property
    def range(self) -> StreamCutRange:
        """The range."""
        return self.record.range

    @property
    def end(self) -> StreamCut:
        """The cut at which the chain continues: after the range, or at its start if it was given back."""
        return self.range.start if self.record.state is IntervalState.GIVEN_BACK else self.range.end


@dataclass(frozen=True, slots=True)
class ConsumerKeys:
    """The keys of the records of one consumer of a stream, without the records, which have the names.

    Attributes:
        chain: the key of the record of its last range; None: it has no chain.
        intervals: the keys of the intervals' own records, the one that was changed last first. A record that a server
            has moved, when it compacted the table, counts as changed then.
    """

    chain: bytes | None
    intervals: Sequence[bytes]

    @property
    def count(self) -> int:
        """The number of its intervals; one less if the process that took the last one died before its own record."""
        return max(len(self.intervals), 1)

    def newest(self, most: int) -> list[bytes]:
        """The key of the chain, and of the `most` intervals that were changed last."""
        return [*([self.chain] if self.chain else []), *self.intervals[:most]]


@dataclass(frozen=True, slots=True)
class NewestRecords:
    """Records of one consumer of a stream, in the order of the stream, and the error about the first unreadable one."""

    records: Sequence[CutRecord]
    error: LedgerError | None = None


class CutEntries:
    """Part of `CutLedger`: it reads and changes entries."""

    _table: KeyValueTable

    async def find(self, interval: Interval) -> CutRecord | None:
        """The valid record of an interval, or None: it has no range yet."""
        return (await self._current(interval))[0]

    async def find_first(self, interval: Interval, former: Interval) -> tuple[CutRecord | None, CutRecord | None]:
        """The valid records of an interval, and of another one of the same consumer and stream, by one request.

        `former` is the name by which an older release knew the interval.
        """
        keys = [interval.last_key, interval.key, former.key]
        entries = {entry.key: CutRecord.from_json(entry.value) for entry in await self._table.get_all(keys)}
        last = entries.get(interval.last_key)

        def valid(name: Interval) -> CutRecord | None:
            own = entries.get(name.key)
            is_last = last is not None and last.interval == name.name
            return last if is_last and last is not None and (own is None or is_newer(last, own)) else own

        return valid(interval), valid(former)

    async def find_each(self, intervals: Sequence[Interval]) -> list[CutRecord]:
        """The own records of those intervals that have one, of any consumers; for many intervals at once."""
        entries = await self._table.get_all([each.key for each in intervals])
        return [CutRecord.from_json(entry.value) for entry in entries]

    async def lasts(self, consumers: Sequence[str], stream: StreamName) -> list[StoredRange]:
        """The last ranges of those consumers of a stream that have one; for many consumers at once."""
        entries = await self._table.get_all([first_key(consumer, stream) for consumer in consumers])
        identities = [CutRecord.from_json(entry.value).identity for entry in entries]
        return [last for each in identities if (last := await self.last(each)) is not None]

    async def recorded(self, interval: Interval) -> StreamCutRange | None:
        """The range of an interval, or None: it has none yet."""
        found = await self.find(interval)
        return None if found is None else found.range

    async def last(self, interval: Interval) -> StoredRange | None:
        """The last range in the chain of the interval's consumer, in whatever interval; None: it has none."""
        found = await self._deciding(interval)
        if found is None:
            return None
        entry = await self._table.get(found.record.identity.key)
        own = None if entry is None else CutRecord.from_json(entry.value)
        return found if own is None or not is_newer(own, found.record) else StoredRange(own, found.version)

    async def records(self, consumer: str, stream: StreamName) -> list[CutRecord]:
        """All intervals of a consumer of a stream, in the order of the stream."""
        entries = self._table.entries(first_key(consumer, stream), last_key(consumer, stream))
        return _in_order([CutRecord.from_json(entry.value) async for entry in entries])

    async def consumers(self) -> dict[tuple[StreamName, str], list[CutRecord]]:
        """All intervals of all consumers, by stream and consumer."""
        found: dict[tuple[StreamName, str], list[CutRecord]] = {}
        async for entry in self._table.entries():
            record = CutRecord.from_json(entry.value)
            found.setdefault((record.stream, record.consumer), []).append(record)
        return {key: _in_order(found[key]) for key in sorted(found)}

    async def consumer_keys(self) -> list[ConsumerKeys]:
        """The keys of all consumers, without reading any record: for ledgers of many intervals."""
        versions: dict[bytes, dict[bytes, int]] = {}
        async for page in self._table.key_versions():
            for key, version in page.items():
                versions.setdefault(chain_key_of(key), {})[key] = version
        found = []
        for chain, own in versions.items():
            is_chain = own.pop(chain, None) is not None
            # The table has one partition, so that a later change, or a later move, has the greater version.
            newest = sorted(own, key=own.__getitem__, reverse=True)
            found.append(ConsumerKeys(chain if is_chain else None, newest))
        return found

    async def newest(self, consumers: Sequence[ConsumerKeys], most: int) -> list[NewestRecords]:
        """The records of each of these consumers that were changed last, at most so many of each, and its last range.

        A record that cannot be read is an error of its consumer only.
        """
        wanted = [keys.newest(most) for keys in consumers]
        entries = await self._table.get_all([key for keys in wanted for key in keys])
        values = {entry.key: entry.value for entry in entries}
        return [_readable([values[key] for key in keys if key in values]) for keys in wanted]

    async def _deciding(self, interval: Interval) -> StoredRange | None:
        """The record of the consumer's last range; its state is in the interval's own record."""
        entry = await self._table.get(interval.last_key)
        return None if entry is None else StoredRange(CutRecord.from_json(entry.value), entry.version)

    async def _current(self, interval: Interval) -> tuple[CutRecord | None, int | None]:
        """The valid record of an interval, and the version of the interval's own record, if it exists."""
        last = await self._deciding(interval)
        entry = await self._table.get(interval.key)
        own = None if entry is None else CutRecord.from_json(entry.value)
        version = None if entry is None else entry.version
        if last is not None and last.interval == interval.name and (own is None or is_newer(last.record, own)):
            return last.record, version
        return own, version

    async def _change(self, interval: Interval, change: Callable[[CutRecord], CutRecord]) -> CutRecord:
        """Change an interval's record by `change`; again, if another process has changed it meanwhile."""
        while True:
            record, version = await self._current(interval)
            if record is None:
                raise LedgerError(f"{interval} has no range: take one first")
            changed = change(record)
            if changed == record:
                return record
            try:
                if version is None:
                    await self._table.put_if_absent(interval.key, changed.to_json())
                else:
                    await self._table.replace(interval.key, changed.to_json(), version)
            except TableConflictError:
                continue
            return changed


def _readable(values: Iterable[bytes]) -> NewestRecords:
    """The records in values of the table that can be read."""
    records: list[CutRecord] = []
    first: LedgerError | None = None
    for value in values:
        try:
            records.append(CutRecord.from_json(value))
        except LedgerError as error:
            first = first or error
    return NewestRecords(_in_order(records), first)


def is_newer(record: CutRecord, other: CutRecord) -> bool:
    """True if a record of an interval is newer than another one, or the same one after more changes."""
    return (record.number, record.changes) > (other.number, other.changes)


def _in_order(records: Iterable[CutRecord]) -> list[CutRecord]:
    """The valid record of each interval, in the order of the stream."""
    found: dict[str, CutRecord] = {}
    for record in records:
        known = found.get(record.interval)
        if known is None or is_newer(record, known):
            found[record.interval] = record
    return sorted(found.values(), key=lambda record: record.sort_key)
