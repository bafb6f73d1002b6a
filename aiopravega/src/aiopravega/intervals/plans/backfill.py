"""A backfill: processes the intervals of a stream that are not done, many at a time.

The cut ledger remembers its intervals: a backfill that was stopped continues with those that are not done, each with
the same range. The caller gives the work.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError, PravegaError, TableConflictError
from aiopravega.ledger import CutLedger, CutRecord, Interval
from aiopravega.names import StreamName

_LOG: Final = logging.getLogger(__name__)
# Records that are put at the same time.
_AT_A_TIME: Final = 64


@dataclass(frozen=True, slots=True)
class PlannedInterval:
    """An interval of a backfill: its range, and its bytes, event headers included, if they are known.

    `since` and `until` are event times, if it is an interval of time: the events with `since <= time < until` count.
    """

    name: str
    range: StreamCutRange
    size: int | None
    since: datetime | None = None
    until: datetime | None = None
    is_done: bool = False
    is_recorded: bool = False

    @property
    def times(self) -> tuple[datetime, datetime] | None:
        """The event times, if it is an interval of time."""
        return None if self.since is None or self.until is None else (self.since, self.until)


@dataclass(frozen=True, slots=True)
class BackfillPlan:
    """What a backfill would do. `events` is an estimate for what is to be read, from a sample of events."""

    stream: StreamName
    consumer: str
    intervals: Sequence[PlannedInterval]
    events: int | None = None

    @property
    def waiting(self) -> list[PlannedInterval]:
        """The intervals that are not done: each is one task."""
        return [interval for interval in self.intervals if not interval.is_done]

    @property
    def size(self) -> int:
        """Bytes that are to be read."""
        return sum(interval.size or 0 for interval in self.waiting)

    def interval(self, name: str) -> Interval:
        """The interval of a name, as the cut ledger knows it."""
        return Interval(self.consumer, self.stream, name)


Work = Callable[[PlannedInterval], Awaitable[None]]


async def record_plan(ledger: CutLedger, plan: BackfillPlan, *, by: str | None = None) -> list[CutRecord]:
    """Record the range of every interval of a plan that has none yet; returns the records of all intervals.

    Raises:
        TableConflictError: another run has recorded another plan of this consumer meanwhile: plan again.
        PravegaError: the ledger cannot be reached.
    """
    await ledger.create()
    if plan.intervals[0].times is None:
        await _decide(ledger, plan, by)
    known = {record.interval: record for record in await ledger.records(plan.consumer, plan.stream)}
    gate = asyncio.Semaphore(_AT_A_TIME)

    async def claim(number: int, planned: PlannedInterval) -> CutRecord:
        if planned.name in known:
            return known[planned.name]
        async with gate:
            return await ledger.claim(
                plan.interval(planned.name),
                planned.range,
                number=number,
                follows=number > 0 and planned.times is None,
                times=planned.times,
                by=by,
            )

    return list(await asyncio.gather(*(claim(number, each) for number, each in enumerate(plan.intervals))))


async def _decide(ledger: CutLedger, plan: BackfillPlan, by: str | None) -> None:
    """Record the ends of a plan in parts, the last one first, as the consumer's last range: only one run can.

    If a crash has recorded only a part of the plan, the next run makes the same plan again from its ends.
    """
    last, first = plan.intervals[-1], plan.intervals[0]
    interval = plan.interval(last.name)
    if await ledger.last(interval) is None:
        with contextlib.suppress(TableConflictError):  # another run was first, maybe with the same plan
            await ledger.record(interval, last.range, after=None, number=len(plan.intervals) - 1, by=by)
    decided = await ledger.last(interval)
    if decided is None or (decided.interval, decided.range) != (last.name, last.range):
        raise _other_plan(plan)
    if first is not last and (await ledger.claim(plan.interval(first.name), first.range, by=by)).range != first.range:
        raise _other_plan(plan)


def _other_plan(plan: BackfillPlan) -> TableConflictError:
    return TableConflictError(
        f"another run of {plan.consumer!r} on {plan.stream} has recorded another plan meanwhile: plan again"
    )


async def run_backfill(
    client: PravegaClient,
    plan: BackfillPlan,
    work: Work,
    *,
    parallel: int = 4,
    ledger: CutLedger | None = None,
    by: str | None = None,
) -> dict[str, Exception]:
    """Process the intervals of a plan that are not done; returns the error of each that failed, by its name.

    An interval is done when `work` has returned for it. One that failed does not stop the others; the next run has it
    again, with the same range.

    Args:
        client: a connected client.
        plan: what to do; see `aiopravega.intervals.plans.planning`.
        work: processes one interval. It may be called for an interval again, after a crash.
        parallel: how many intervals are worked on at the same time.
        ledger: where the intervals are recorded; None: the cut ledger in the stream's scope.
        by: who does it; None: the user and the host of this process.

    Raises:
        ConfigurationError: `parallel` is less than one.
        TableConflictError: another run has recorded another plan of this consumer meanwhile: plan again.
        PravegaError: the ledger cannot be reached.
    """
    if parallel < 1:
        raise ConfigurationError(f"cannot process {parallel} intervals at the same time: give at least one")
    ledger = ledger or client.cut_ledger(plan.stream.scope)
    records = await record_plan(ledger, plan, by=by)
    gate = asyncio.Semaphore(parallel)
    failures: dict[str, Exception] = {}

    async def process(planned: PlannedInterval, record: CutRecord) -> None:
        # Somebody else may have recorded it first, and their range counts.
        recorded = PlannedInterval(planned.name, record.range, planned.size, record.since, record.until)
        async with gate:
            try:
                await work(recorded)
                await ledger.finish(plan.interval(planned.name), recorded.range, by=by)
            except Exception as error:  # noqa: BLE001 - the caller's work may raise anything, and others continue
                _LOG.warning("%s failed: %s", plan.interval(planned.name), error)
                failures[planned.name] = error
                with contextlib.suppress(PravegaError):  # the error that matters is the other one
                    await ledger.fail(plan.interval(planned.name), f"{type(error).__name__}: {error}", by=by)

    pairs = zip(plan.intervals, records, strict=True)
    await asyncio.gather(*(process(planned, record) for planned, record in pairs if record.is_waiting))
    return failures
