"""The states of intervals that have ranges, and the claims of the tasks that process them.

A claim names its task, its parts, and the sinks of the parts. An interval is done when all parts are, or has failed, or
is skipped on purpose, or gives its range back to the next interval of its chain.
"""

from collections.abc import Callable, Sequence
from typing import Final

from aiopravega.cuts import StreamCutRange
from aiopravega.errors import LedgerError, TableConflictError
from aiopravega.ledger.intervals.claimant import Claimant, Part, Sink
from aiopravega.ledger.intervals.cut_entries import CutEntries
from aiopravega.ledger.intervals.cut_record import CutRecord, Interval, IntervalState

_LONGEST_REASON: Final = 1000  # characters


class CutStates(CutEntries):
    """Part of `CutLedger`: it records who processes an interval, and how that ends."""

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
        repeat it makes another record: a take-over that has judged the one before starts again.

        Raises:
            LedgerError: the interval has no range, or is not to be processed any more.
        """

        def change(record: CutRecord) -> CutRecord:
            if record.is_done:  # processed again
                return record
            return _still_claimed(record).with_part(Part(name=part, sink=sink))

        return await self._change(interval, change)

    async def begin(self, interval: Interval, taken: StreamCutRange, parts: Sequence[str] = ()) -> CutRecord:
        """Check that a range may still be processed, and record the parts that are not known yet.

        Raises:
            LedgerError: the interval has no range, or another one, or is not to be processed any more.
        """

        def change(record: CutRecord) -> CutRecord:
            if _with_range(record, taken).is_done:  # processed again
                return record
            record = _still_claimed(record)
            for name in parts:
                if name not in {part.name for part in record.parts}:
                    record = record.with_part(Part(name=name))
            return record

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
            if processed is not None:
                record = _with_range(record, processed)
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

        Of a long reason, such as the traceback of another program, the beginning is recorded.

        Raises:
            LedgerError: the interval has no range.
        """

        def change(record: CutRecord) -> CutRecord:
            return record.changed(IntervalState.FAILED, by, reason[:_LONGEST_REASON]) if record.is_waiting else record

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


def _with_range(record: CutRecord, taken: StreamCutRange) -> CutRecord:
    """The record, if its range is this one.

    Raises:
        LedgerError: the interval has got another range.
    """
    if taken != record.range:
        raise LedgerError(f"{record.identity} has got another range than this one: process the range that it has now")
    return record


def _still_claimed(record: CutRecord) -> CutRecord:
    """The record, if its claimant may continue.

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
