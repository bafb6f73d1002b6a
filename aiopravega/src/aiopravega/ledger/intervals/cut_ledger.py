"""The cut ledger: the ranges of a stream that the intervals of a consumer have, in a key-value table.

A consumer takes a stream range by range, one for each interval that its scheduler names. An interval that comes again
finds its range. Intervals get ranges in one of two ways. In a *chain*, a new one starts where the last one ended: the
record of the consumer's last range is put first and decides, and the next caller completes the interval's own record,
so that a crash between the two puts loses nothing. Or ranges are *claimed*, each for itself, where event times or a
plan decide them. How an interval ends is recorded by `cut_states`. This module knows no scheduler.
"""

import contextlib
from datetime import datetime
from typing import Final

from aiopravega.control import Controller
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import LedgerError, TableConflictError
from aiopravega.ledger.intervals.claimant import Claimant
from aiopravega.ledger.intervals.cut_entries import StoredRange, is_newer
from aiopravega.ledger.intervals.cut_record import KEY_LENGTH, CutRecord, Interval, IntervalState, SkippedPart
from aiopravega.ledger.intervals.cut_states import CutStates
from aiopravega.names import StreamName
from aiopravega.store import SegmentStore
from aiopravega.tables import KeyValueTable

CUT_TABLE: Final = "cut-ledger"


class CutLedger(CutStates):
    """The ranges of intervals in the table `scope/table`.

    Every call raises TableNotFoundError if the table does not exist, and LedgerError if it meets a record of
    another version. `by` is the author of a record or change; None is the user and the host of this process.
    """

    def __init__(self, controller: Controller, store: SegmentStore, scope: str, table: str = CUT_TABLE) -> None:
        self.scope = scope
        self.table = table
        self._table = KeyValueTable(controller, store, scope, table)

    async def create(self) -> bool:
        """Make the table; returns False if it exists already.

        Raises:
            ScopeNotFoundError: the scope does not exist.
        """
        return await self._table.create_if_missing(KEY_LENGTH)

    async def record(
        self,
        interval: Interval,
        taken: StreamCutRange,
        after: StoredRange | None,
        *,
        chained: bool = False,
        number: int = 0,
        by: str | None = None,
        skipped: SkippedPart | None = None,
        state: IntervalState = IntervalState.OPEN,
        claimant: Claimant | None = None,
    ) -> CutRecord:
        """Record the range of an interval; it becomes the last of the chain. An older range of the interval is dropped.

        Args:
            interval: the interval.
            taken: its range.
            after: what `last` found before the range was chosen.
            chained: refuse a range that does not start where the chain continues.
            number: its least position among the consumer's intervals; it is always greater than the number of `after`.
            by: its author.
            skipped: the part between the last range and this one, if it is gone.
            state: SKIPPED if it is not to be processed.
            claimant: the task that processes it.

        Raises:
            TableConflictError: the consumer took another range meanwhile: nothing is recorded. Ask again.
            LedgerError: the range leaves a gap, or overlaps, and must not.
        """
        again = after is not None and after.interval == interval.name
        expected = None if after is None else after.range.start if again else after.end
        start = taken.start if skipped is None else skipped.start
        if chained and expected is not None and start != expected:
            raise LedgerError(
                f"{interval} would start at {start}, but the last range of this consumer ends at {expected}: "
                "that leaves a gap, or overlaps"
            )
        follows = after is not None and taken.start == expected and (after.record.follows or not again)
        if after is not None:
            number = max(number, after.record.number + 1)
        record = CutRecord.new(
            interval, taken, by=by, number=number, follows=follows, skipped=skipped, claimant=claimant
        )
        record = record.model_copy(update={"state": state})
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
        claimant: Claimant | None = None,
    ) -> CutRecord:
        """Record a range for an interval that has none, outside of any chain; returns the interval's record then.

        The first claim decides: the same interval has the same range for all callers.
        """
        record = CutRecord.new(interval, taken, by=by, number=number, follows=follows, times=times, claimant=claimant)
        while True:
            found = await self.find(interval)
            if found is not None:
                return found
            try:
                await self._table.put_if_absent(interval.key, record.to_json())
            except TableConflictError:
                continue
            return record

    async def replace(
        self, record: CutRecord, taken: StreamCutRange, skipped: SkippedPart, *, by: str | None = None
    ) -> CutRecord:
        """Give an interval another range, because a part of its range is gone; it is open then.

        Args:
            record: the interval's record.
            taken: the range that it is to have.
            skipped: the part that is gone.
            by: the author of the change.

        Raises:
            LedgerError: the interval has another range than `record` meanwhile.
        """
        cuts = {"start": taken.start.to_text(), "end": taken.end.to_text(), "follows": False, "parts": ()}

        def change(found: CutRecord) -> CutRecord:
            if (found.start, found.end) != (record.start, record.end):
                raise LedgerError(f"{record.identity} has got another range meanwhile: ask again")
            return found.changed(IntervalState.OPEN, by, None, **cuts, **skipped.fields)

        return await self._change(record.identity, change)

    async def forget(self, consumer: str, stream: StreamName, interval: str | None = None) -> list[CutRecord]:
        """Remove the records of a consumer of a stream, or of one interval that it claimed; returns them.

        Raises:
            LedgerError: the interval is the last one of a chain, which cannot go without the others.
        """
        found = await self.records(consumer, stream)
        if interval is None:
            # The last range first: a reader meanwhile finds no chain, rather than one with holes.
            keys = [Interval(consumer, stream, record.interval) for record in found]
            await self._table.remove_all([each.last_key for each in keys[:1]])
            await self._table.remove_all([each.key for each in keys])
            return found
        named = Interval(consumer, stream, interval)
        last = await self._deciding(named)
        if last is not None and last.interval == interval:
            raise LedgerError(f"{named} is the last one of a chain: forget all of the consumer, or skip the interval")
        await self._table.remove(named.key)
        return [record for record in found if record.interval == interval]

    async def _complete(self, last: CutRecord) -> None:
        """Put the own record of the interval that has the last range: the process that took it may have died before."""
        interval = last.identity
        entry = await self._table.get(interval.key)
        if entry is not None and not is_newer(last, CutRecord.from_json(entry.value)):
            return  # another process has put it, and the interval may be done by now
        with contextlib.suppress(TableConflictError):  # or is here just now
            if entry is None:
                await self._table.put_if_absent(interval.key, last.to_json())
            else:
                await self._table.replace(interval.key, last.to_json(), entry.version)
