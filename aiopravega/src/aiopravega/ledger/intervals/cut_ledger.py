"""The cut ledger: the ranges of a stream that the intervals of a consumer have, in a key-value table.

A consumer takes a stream range by range, one for each interval that its scheduler names. An interval that comes again
finds its range. Intervals get ranges in one of two ways. In a *chain*, a new one starts where the last one ended: the
record of the consumer's last range is put first and decides, and the next caller completes the interval's own record,
so that a crash between the two puts loses nothing. Or ranges are *claimed*, each for itself, where event times or a
plan decide them. Then an interval is done, or has failed, or is skipped on purpose, or gives its range back to the next
interval of its chain. This module knows no scheduler.
"""

import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from aiopravega.control import Controller
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import LedgerError, TableConflictError
from aiopravega.ledger.intervals.claimant import Claimant, Part, Sink
from aiopravega.ledger.intervals.cut_entries import CutEntries, StoredRange, is_newer
from aiopravega.ledger.intervals.cut_record import KEY_LENGTH, CutRecord, Interval, IntervalState, SkippedPart
from aiopravega.names import StreamName
from aiopravega.store import SegmentStore
from aiopravega.tables import KeyValueTable

CUT_TABLE: Final = "cut-ledger"


class CutLedger(CutEntries):
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

    # --- ranges ---------------------------------------------------------------------------------------------

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

    # --- claims ---------------------------------------------------------------------------------------------

    async def expect(self, interval: Interval, names: Sequence[str], *, claimant: Claimant | None = None) -> CutRecord:
        """Record who processes an interval, and the parts that have to be done before the interval is done.

        To repeat it changes nothing. Another claimant, such as a later run of a partition, begins with new parts. An
        interval that is done keeps its record.

        Args:
            interval: the interval.
            names: the names of the parts: outputs of a step, or tasks that read the range.
            claimant: the task that processes it.

        Raises:
            LedgerError: the interval has no range, or is not to be processed any more.
        """

        def change(record: CutRecord) -> CutRecord:
            return record if record.is_done else _still_claimed(record).expecting(names, claimant)

        return await self._change(interval, change)

    async def declare(self, interval: Interval, part: str, sink: Sink) -> CutRecord:
        """Record into what a part of a claim is written, before the first request of its write.

        A take-over asks the sink. After a take-over this call is refused, so that the old claimant does not write. To
        repeat it makes another record: a take-over that has judged the one before begins anew.

        Raises:
            LedgerError: the interval has no range, or is not to be processed any more.
        """

        def change(record: CutRecord) -> CutRecord:
            if record.is_done:  # processed again
                return record
            return _still_claimed(record).with_part(Part(name=part, sink=sink))

        return await self._change(interval, change)

    # --- states ---------------------------------------------------------------------------------------------

    async def finish(
        self,
        interval: Interval,
        processed: StreamCutRange | None = None,
        *,
        by: str | None = None,
        part: str | None = None,
    ) -> CutRecord:
        """Record that an interval, or a part of its claim, has been processed; to repeat it changes nothing.

        Args:
            interval: the interval.
            processed: the range that was processed; refused if the interval has got another one meanwhile.
            by: the author of the change.
            part: the name of a part. The interval is done when all of its parts are.

        Raises:
            LedgerError: the interval has no range, or another one, or was skipped, or has given its range back.
        """

        def change(record: CutRecord) -> CutRecord:
            if processed is not None and processed != record.range:
                raise LedgerError(f"{interval} has got another range than the one that was processed: process it again")
            if record.is_done:
                return record
            record = _still_claimed(record)
            if part is not None:
                if not record.part(part).done:
                    record = record.with_part(record.part(part).model_copy(update={"done": True}))
                if not all(each.done for each in record.parts):
                    return record
            return record.changed(IntervalState.DONE, by)

        return await self._change(interval, change)

    async def fail(self, interval: Interval, reason: str, *, by: str | None = None) -> CutRecord:
        """Record why an interval could not be processed; an interval that is not open keeps its state.

        Raises:
            LedgerError: the interval has no range.
        """

        def change(record: CutRecord) -> CutRecord:
            return record.changed(IntervalState.FAILED, by, reason) if record.is_waiting else record

        return await self._change(interval, change)

    async def skip(self, interval: Interval, reason: str, *, by: str | None = None) -> CutRecord:
        """Record that an interval is not to be processed, and why.

        Raises:
            LedgerError: the interval has no range, or is done.
        """
        return await self._change(interval, _waiting_to(IntervalState.SKIPPED, interval, reason, by))

    async def give_back(
        self, interval: Interval, reason: str, *, by: str | None = None, judged: CutRecord | None = None
    ) -> CutRecord:
        """Record that the range of the last interval of a chain belongs to the next one, and why.

        Args:
            interval: the interval.
            reason: the reason.
            by: the author of the change.
            judged: the record on which the decision stands; it must still be the record of the interval.

        Raises:
            LedgerError: the interval has no range, or is done, or is not the last one of a chain.
            TableConflictError: somebody has taken a range after it meanwhile, or its record is not `judged` any more:
                it keeps its range. Ask again.
        """
        last = await self._deciding(interval)
        if last is None or last.interval != interval.name:
            raise LedgerError(f"{interval} cannot give its range back: it is not the last one of a chain")
        give_back = _waiting_to(IntervalState.GIVEN_BACK, interval, reason, by)
        while True:
            record, version = await self._current(interval)
            if judged is not None and record != judged:
                raise TableConflictError(f"the record of {interval} has changed meanwhile")
            given = give_back(record or last.record)
            if given == record:
                return given
            # Its own record decides its state; the record of the chain decides the next range. Both change at once: if
            # one changed without the other, and this process died, no interval would have the range.
            value = given.to_json()
            try:
                await self._table.replace_all(
                    {interval.key: (value, version), interval.last_key: (value, last.version)}
                )
            except TableConflictError:
                if (await self._deciding(interval)) != last:
                    raise
                continue
            return given

    async def reopen(self, interval: Interval, reason: str, *, by: str | None = None) -> CutRecord:
        """Record that an interval is to be processed, whatever its state is; it keeps its range.

        Raises:
            LedgerError: the interval has no range, or has given it back.
        """

        def change(record: CutRecord) -> CutRecord:
            if record.state is IntervalState.GIVEN_BACK:
                raise LedgerError(f"{interval} has given its range back ({record.reason}): it belongs to another one")
            return record.changed(IntervalState.OPEN, by, reason, parts=())

        return await self._change(interval, change)

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


def _still_claimed(record: CutRecord) -> CutRecord:
    """The record, if its claimant may go on.

    Raises:
        LedgerError: the interval is skipped, or its range belongs to another interval.
    """
    if not record.is_waiting:
        raise LedgerError(
            f"{record.identity} cannot be done, because it is {record.state.value}, by {record.changed_by}: "
            f"{record.reason}. Reopen it first, if no other job has processed its range"
        )
    return record


def _waiting_to(
    state: IntervalState, interval: Interval, reason: str, by: str | None
) -> Callable[[CutRecord], CutRecord]:
    def change(record: CutRecord) -> CutRecord:
        if record.is_done:
            raise LedgerError(f"{interval} is done since {record.state_since.isoformat()}, by {record.changed_by}")
        return record if record.state is state else record.changed(state, by, reason)

    return change
