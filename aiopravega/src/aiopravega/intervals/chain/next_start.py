"""The chain of a consumer's intervals: the next range starts at the end of the last one.

Two things can prevent this. The events after the last range may be gone; and the last interval may not be done: its run
failed, was killed, or is still at work.
"""

import contextlib
from dataclasses import dataclass
from enum import StrEnum

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import TableConflictError
from aiopravega.intervals.chain.losses import OnTruncated, what_is_left
from aiopravega.ledger import BEGINNING, CutLedger, CutRecord, Interval, IntervalState, SkippedPart, StoredRange


class OnOpen(StrEnum):
    """Choices for the next interval if the last one is not done."""

    WAIT = "wait"
    TAKE_OVER = "take_over"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class NextStart:
    """The start of the next range; `after` and `skipped` are arguments for `CutLedger.record`.

    `waits_for` is the last interval of the chain if it is not done: another run may have claimed it a moment ago.
    """

    cut: StreamCut
    after: StoredRange | None = None
    skipped: SkippedPart | None = None
    waits_for: CutRecord | None = None


async def next_start(
    client: PravegaClient,
    ledger: CutLedger,
    interval: Interval,
    first: StreamCut,
    on_truncated: OnTruncated = OnTruncated.FAIL,
) -> NextStart:
    """The start of a new interval's range: the end of the chain's last range, or `first` if there is no chain.

    Raises:
        StreamTruncatedError: events after the last range are gone, and must not be skipped.
        StreamMadeAgainError: the stream was deleted and made again, and nothing must be skipped.
        PravegaError: the ledger or the stream cannot be asked.
    """
    last = await ledger.last(interval)
    if last is None:
        return NextStart(first)
    left = await what_is_left(client, last.end)
    if left.gone is not None and on_truncated is OnTruncated.FAIL:
        raise left.refusal(last.record.identity, follows=True)
    return NextStart(left.range.start, last, left.gone, _not_done_of_another(last, interval))


async def begin_at_tail(client: PravegaClient, ledger: CutLedger, interval: Interval) -> None:
    """Record the present tail as the beginning of a chain without ranges: all later callers start there."""
    await begin_at(ledger, interval, await client.tail(interval.stream))


async def begin_at(ledger: CutLedger, interval: Interval, cut: StreamCut) -> None:
    """Record a cut as the beginning of a chain without ranges: all later callers start there."""
    beginning = Interval(interval.consumer, interval.stream, BEGINNING)
    with contextlib.suppress(TableConflictError):  # another run was first
        await ledger.record(beginning, StreamCutRange(cut, cut), after=None, state=IntervalState.DONE)


async def waited_for(ledger: CutLedger, interval: Interval) -> CutRecord | None:
    """The last interval of the chain, if it is another interval and is not done: the next interval waits for it."""
    last = await ledger.last(interval)
    return None if last is None else _not_done_of_another(last, interval)


def _not_done_of_another(last: StoredRange, interval: Interval) -> CutRecord | None:
    return last.record if last.record.is_waiting and last.interval != interval.name else None
