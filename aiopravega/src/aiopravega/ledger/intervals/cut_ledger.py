"""The cut ledger: which range of a stream belongs to which interval of a consumer, in a key-value table.

A consumer takes a stream range by range, one for each interval that its scheduler names. An interval that comes again
finds its range. Intervals get ranges in one of two ways. In a *chain*, a new one starts where the last one ended: the
record of the consumer's last range is put first and decides, and whoever comes next completes the interval's own
record, so that a crash between the two puts loses nothing. Or ranges are *claimed*, each for itself, where something
else says which they are, such as event times or a plan. Schedulers are not known here.
"""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from aiopravega.control import Controller
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import LedgerError, TableConflictError
from aiopravega.ledger.intervals.cut_record import KEY_LENGTH, CutRecord, Interval, first_key, last_key
from aiopravega.names import StreamName
from aiopravega.store import SegmentStore
from aiopravega.tables import KeyValueTable

CUT_TABLE: Final = "cut-ledger"
# A ledger sees a few updates per run of a task: one partition is plenty.
_PARTITIONS: Final = 1


@dataclass(frozen=True, slots=True)
class StoredRange:
    """A consumer's last range as it was found; `version` is what a conditional update has to meet."""

    record: CutRecord
    version: int

    @property
    def interval(self) -> str:
        """The name of the interval that has it."""
        return self.record.interval

    @property
    def range(self) -> StreamCutRange:
        """The range."""
        return self.record.range


class CutLedger:
    """The ranges of intervals in the table `scope/table`.

    Every call raises TableNotFoundError if there is no such table, and LedgerError if it meets a record of
    another version. `by` says in a record who made it; None is the user and the host of this process.
    """

    def __init__(self, controller: Controller, store: SegmentStore, scope: str, table: str = CUT_TABLE) -> None:
        self.scope = scope
        self.table = table
        self._controller = controller
        self._table = KeyValueTable(controller, store, scope, table)

    async def create(self) -> bool:
        """Make the table; returns False if it exists already.

        Raises:
            ScopeNotFoundError: there is no such scope.
        """
        return await self._controller.create_table(self.scope, self.table, _PARTITIONS, KEY_LENGTH)

    # --- what is there --------------------------------------------------------------------------------------

    async def find(self, interval: Interval) -> CutRecord | None:
        """What is known of an interval, or None: it has no range yet."""
        return (await self._current(interval))[0]

    async def recorded(self, interval: Interval) -> StreamCutRange | None:
        """The range of an interval, or None: it has none yet."""
        found = await self.find(interval)
        return None if found is None else found.range

    async def last(self, interval: Interval) -> StoredRange | None:
        """The range that the interval's consumer took last in its chain, in whatever interval; None: it has none."""
        entry = await self._table.get(interval.last_key)
        return None if entry is None else StoredRange(CutRecord.from_json(entry.value), entry.version)

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

    # --- what is recorded -----------------------------------------------------------------------------------

    async def record(
        self,
        interval: Interval,
        taken: StreamCutRange,
        after: StoredRange | None,
        *,
        chained: bool = False,
        number: int = 0,
        by: str | None = None,
    ) -> CutRecord:
        """Record the range of an interval; it becomes the last one of the chain. An older one of the interval goes.

        Args:
            interval: the interval.
            taken: its range.
            after: what `last` found before the range was chosen.
            chained: refuse a range that does not start where the last one ended.
            number: its position among the consumer's intervals, at least; after `after` in any case.
            by: who records it.

        Raises:
            TableConflictError: the consumer took another range meanwhile: nothing is recorded. Look again.
            LedgerError: the range leaves a gap, or overlaps, and must not.
        """
        again = after is not None and after.interval == interval.name
        expected = None if after is None else after.range.start if again else after.range.end
        if chained and expected is not None and taken.start != expected:
            raise LedgerError(
                f"{interval} would start at {taken.start}, but the last range of this consumer leads to {expected}: "
                "that leaves a gap, or overlaps"
            )
        follows = after is not None and taken.start == expected and (after.record.follows or not again)
        if after is not None:
            number = max(number, after.record.number + 1)
        record = CutRecord.new(interval, taken, by=by, number=number, follows=follows)
        if after is not None and not again:
            await self._complete(after.record)
        if after is None:
            await self._table.put_if_absent(interval.last_key, record.to_json())
        else:
            await self._table.replace(interval.last_key, record.to_json(), after.version)
        await self._complete(record)
        return record

    async def claim(
        self,
        interval: Interval,
        taken: StreamCutRange,
        *,
        number: int = 0,
        follows: bool = False,
        times: tuple[datetime, datetime] | None = None,
        by: str | None = None,
    ) -> CutRecord:
        """Record a range for an interval that has none, outside of any chain; returns what the interval has then.

        If somebody was first, that is theirs: the same interval has the same range for all.
        """
        record = CutRecord.new(interval, taken, by=by, number=number, follows=follows, times=times)
        while True:
            found = await self.find(interval)
            if found is not None:
                return found
            try:
                await self._table.put_if_absent(interval.key, record.to_json())
            except TableConflictError:
                continue
            return record

    async def finish(
        self, interval: Interval, processed: StreamCutRange | None = None, *, by: str | None = None
    ) -> CutRecord:
        """Record that an interval has been processed; to repeat it changes nothing.

        Args:
            interval: the interval.
            processed: the range that was; refused if the interval has got another one meanwhile.
            by: who has.

        Raises:
            LedgerError: the interval has no range, or another one.
        """
        while True:
            record, version = await self._current(interval)
            if record is None:
                raise LedgerError(f"{interval} has no range that could be done: take one first")
            if processed is not None and processed != record.range:
                raise LedgerError(f"{interval} has got another range than the one that was processed: process it again")
            if record.is_done:
                return record
            done = record.done(by)
            try:
                if version is None:
                    await self._table.put_if_absent(interval.key, done.to_json())
                else:
                    await self._table.replace(interval.key, done.to_json(), version)
            except TableConflictError:
                continue
            return done

    async def _current(self, interval: Interval) -> tuple[CutRecord | None, int | None]:
        """The record that counts of an interval, and the version of its own one if there is one."""
        last = await self.last(interval)
        entry = await self._table.get(interval.key)
        own = None if entry is None else CutRecord.from_json(entry.value)
        version = None if entry is None else entry.version
        if last is not None and last.interval == interval.name and (own is None or _counts_more(last.record, own)):
            return last.record, version
        return own, version

    async def _complete(self, last: CutRecord) -> None:
        """Put the own record of an interval whose range is the last one: who took it may have died before that."""
        interval = Interval(last.consumer, last.stream, last.interval)
        entry = await self._table.get(interval.key)
        if entry is not None and not _counts_more(last, CutRecord.from_json(entry.value)):
            return  # somebody else was here, and the interval may be done by now
        with contextlib.suppress(TableConflictError):  # or is here just now
            if entry is None:
                await self._table.put_if_absent(interval.key, last.to_json())
            else:
                await self._table.replace(interval.key, last.to_json(), entry.version)


def _counts_more(record: CutRecord, other: CutRecord) -> bool:
    """Whether a record of an interval is newer than another one, or the same one and further on."""
    return (record.number, record.is_done) > (other.number, other.is_done)


def _in_order(records: Iterable[CutRecord]) -> list[CutRecord]:
    """The record that counts of each interval: the last range of a chain has two, of which its own has the state."""
    found: dict[str, CutRecord] = {}
    for record in records:
        known = found.get(record.interval)
        if known is None or _counts_more(record, known):
            found[record.interval] = record
    return sorted(found.values(), key=lambda record: record.sort_key)
