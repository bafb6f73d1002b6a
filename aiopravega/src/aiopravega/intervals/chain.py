"""Where a chain of intervals goes on: behind its last range, if that can be read on and nobody is to wait for it.

Two things can be in the way. What follows the last range may be gone; and the interval that has it may not be done, in
a run that failed, or was killed, or is still at work.
"""

from dataclasses import dataclass
from enum import StrEnum

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut
from aiopravega.errors import LedgerError, TableConflictError
from aiopravega.intervals.losses import OnTruncated, what_is_left
from aiopravega.ledger import CutLedger, CutRecord, Interval, IntervalState, SkippedPart, StoredRange


class OnOpen(StrEnum):
    """What the next interval does about one that is not done."""

    WAIT = "wait"
    TAKE_OVER = "take_over"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class NextStart:
    """Where the next range starts; `after` and `skipped` are for `CutLedger.record`."""

    cut: StreamCut
    after: StoredRange | None = None
    skipped: SkippedPart | None = None


async def next_start(
    client: PravegaClient,
    ledger: CutLedger,
    interval: Interval,
    first: StreamCut,
    on_truncated: OnTruncated = OnTruncated.FAIL,
) -> NextStart:
    """Where the range of an interval starts that has none: where its chain goes on, or at `first`.

    Raises:
        StreamTruncatedError: what follows is gone, in part, and must not be passed over.
        StreamMadeAgainError: the stream was deleted and made again, and nothing must be passed over.
        PravegaError: the ledger or the stream cannot be asked.
    """
    last = await ledger.last(interval)
    if last is None:
        return NextStart(first)
    left = await what_is_left(client, last.end)
    if left.gone is not None and on_truncated is OnTruncated.FAIL:
        raise left.refusal(last.record.identity)
    return NextStart(left.range.start, last, left.gone)


async def waiting_before(ledger: CutLedger, interval: Interval) -> list[CutRecord]:
    """The consumer's other intervals that are not done: open ones, and those that have failed."""
    records = await ledger.records(interval.consumer, interval.stream)
    return [record for record in records if record.is_waiting and record.interval != interval.name]


async def take_over(ledger: CutLedger, interval: Interval, waiting: list[CutRecord], by: str | None = None) -> bool:
    """Have the interval that is not done give its range back, so that the next range starts where it does.

    Returns False if somebody has taken a range behind it meanwhile, or it is done: look again.

    Raises:
        LedgerError: more than one is not done, or it is not the last one of the chain.
    """
    if len(waiting) > 1:
        raise LedgerError(f"{interval} can take over one interval, but these are not done: {told(waiting)}. {WAYS}")
    [record] = waiting
    try:
        await ledger.give_back(record.identity, f"taken over by {interval.name!r}", by=by)
    except TableConflictError:
        return False
    return True


def told(waiting: list[CutRecord]) -> str:
    """Intervals that are not done, for a message."""
    return "; ".join(
        f"{record.interval!r} is {record.state.value} since {record.state_since.isoformat(timespec='seconds')}"
        + (f" ({record.reason})" if record.state is IntervalState.FAILED else "")
        for record in waiting
    )


WAYS = (
    "Run it again, have the next run take its range over (on_open='take_over'), go on without it "
    "(on_open='skip'), or decide with pravega cuts skip"
)
