"""The blocking form of `aiopravega.intervals`: the functions take a blocking client and a blocking ledger.

Functions of its modules that schedulers need, such as `take_next` and `lag_of`, are here beside them. The `work` of a
backfill blocks: `run_backfill` calls it in `parallel` threads.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from aiopravega import intervals as aio
from aiopravega.blocking.bridge import OpenFace, iterates, resembles, shows, waits, waits_for, waits_with
from aiopravega.blocking.client import PravegaClient
from aiopravega.blocking.ledger import CutLedger
from aiopravega.cuts import UNBOUNDED, StreamCutRange
from aiopravega.intervals import (
    BackfillPlan,
    ChainRules,
    FindingKind,
    IntervalFinding,
    Left,
    MoveCondition,
    NextStart,
    OnOpen,
    OnTruncated,
    PlannedInterval,
    Skips,
    interval_name,
)
from aiopravega.intervals.chain import claims, losses, next_range
from aiopravega.intervals.conditions import bounded_ends
from aiopravega.intervals.plans import backfill
from aiopravega.intervals.reports import freshness, lag
from aiopravega.ledger import Claimant, CutRecord
from aiopravega.names import StreamName
from aiopravega.positions import Position
from aiopravega.times import TimeUnit

__all__ = [
    "BackfillPlan",
    "ChainRules",
    "FindingKind",
    "IntervalFinding",
    "Left",
    "MoveCondition",
    "NextStart",
    "OnOpen",
    "OnTruncated",
    "PlannedInterval",
    "Skips",
    "TakenRange",
    "claim_times",
    "claim_times_again",
    "count_events",
    "find_skips",
    "freshness_of",
    "group_freshness_of",
    "interval_name",
    "lag_of",
    "left_to_process",
    "next_start",
    "plan_parts",
    "plan_times",
    "record_plan",
    "run_backfill",
    "skip",
    "take",
    "take_next",
    "take_recorded",
    "verify",
    "what_is_left",
]

# --- chains of ranges ---------------------------------------------------------------------------------------


class TakenRange(OpenFace[aio.TakenRange]):
    """A range for `with`: at the end of the block its interval is done; if the block raises, it has failed.

    Made by `take` and `take_recorded`.
    """

    start = shows(aio.TakenRange.start)
    end = shows(aio.TakenRange.end)
    consumer = shows(aio.TakenRange.consumer)
    interval = shows(aio.TakenRange.interval)
    events = iterates(aio.TakenRange.events)

    @property
    def client(self) -> PravegaClient:
        """The client that has taken it."""
        return PravegaClient.of(self.loop, self.asynchronous.client)

    @property
    def stream(self) -> StreamName:
        """The stream."""
        return self.asynchronous.stream

    @property
    def range(self) -> StreamCutRange:
        """Both cuts."""
        return self.asynchronous.range

    @property
    def times(self) -> tuple[datetime, datetime] | None:
        """The event times that the range was taken for; it also has events of other times."""
        return self.asynchronous.times


take = waits(aio.take, TakenRange)
take_recorded = waits(aio.take_recorded, TakenRange)

next_start = waits_with(aio.next_start)
take_next = waits_with(next_range.take_next)
what_is_left = waits(aio.what_is_left)
left_to_process = waits(losses.left_to_process)
find_skips = waits_with(aio.find_skips)
skip = waits(aio.skip)
verify = waits(aio.verify)

# --- intervals of event times -------------------------------------------------------------------------------

claim_times_again = waits(claims.claim_times_again)


@waits_for(aio.claim_times)
def claim_times(
    client: PravegaClient,
    /,
    stream: StreamName,
    consumer: str,
    times: tuple[datetime, datetime],
    *,
    ahead: int | timedelta | None = None,
    clip: bool = False,
    from_head: bool = False,
    unit: TimeUnit = TimeUnit.MS,
    ledger: CutLedger | None = None,
    by: str | None = None,
    on_truncated: OnTruncated = OnTruncated.FAIL,
    claimant: Claimant | None = None,
) -> CutRecord:
    raise NotImplementedError


# --- how far a consumer is ----------------------------------------------------------------------------------

count_events = waits(bounded_ends.count_events)
freshness_of = waits(freshness.freshness_of)
group_freshness_of = waits(freshness.group_freshness_of)


@waits_for(lag.lag_of)
def lag_of(
    client: PravegaClient,
    /,
    stream: StreamName,
    consumer: str,
    *,
    count_to: int = 0,
    ledger: CutLedger | None = None,
) -> lag.Lag:
    raise NotImplementedError


# --- backfills ----------------------------------------------------------------------------------------------

record_plan = waits(backfill.record_plan)


@waits_for(aio.plan_parts)
def plan_parts(
    client: PravegaClient,
    /,
    stream: StreamName,
    consumer: str,
    *,
    start: Position = UNBOUNDED,
    end: Position = UNBOUNDED,
    parts: int | None = None,
    max_bytes: int | None = None,
    ledger: CutLedger | None = None,
) -> BackfillPlan:
    raise NotImplementedError


@waits_for(aio.plan_times)
def plan_times(
    client: PravegaClient,
    /,
    stream: StreamName,
    consumer: str,
    times: Sequence[datetime],
    *,
    ahead: int | timedelta | None = None,
    clip: bool = False,
    unit: TimeUnit = TimeUnit.MS,
    ledger: CutLedger | None = None,
) -> BackfillPlan:
    raise NotImplementedError


@resembles(aio.run_backfill)
def run_backfill(
    client: PravegaClient,
    /,
    plan: BackfillPlan,
    work: Callable[[PlannedInterval], object],
    *,
    parallel: int = 4,
    ledger: CutLedger | None = None,
    by: str | None = None,
) -> dict[str, Exception]:
    with ThreadPoolExecutor(max(parallel, 1), "backfill") as threads:

        async def work_in_thread(interval: PlannedInterval) -> None:
            await asyncio.wrap_future(threads.submit(work, interval))

        return client.run(
            aio.run_backfill(
                client.asynchronous,
                plan,
                work_in_thread,
                parallel=parallel,
                ledger=None if ledger is None else ledger.asynchronous,
                by=by,
            )
        )
