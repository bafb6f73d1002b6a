"""Where a chain of intervals continues: after its last range, if the stream is readable there and that range is done.

Two things can prevent this. The events after the last range may be gone; and its interval may not be done: its run
failed, was killed, or is still at work.
"""

import contextlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import LedgerError, TableConflictError
from aiopravega.intervals.chain.losses import OnTruncated, what_is_left
from aiopravega.ledger import CutLedger, CutRecord, Interval, IntervalState, SkippedPart, StoredRange

# The empty interval that begins a chain which does not start at the head.
BEGINNING: Final = "beginning"


class OnOpen(StrEnum):
    """What the next interval does about one that is not done."""

    WAIT = "wait"
    TAKE_OVER = "take_over"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class NextStart:
    """Where the next range starts; `after` and `skipped` are for `CutLedger.record`.

    `waits_for` is the last interval of the chain if it is not done: another run may have taken it a moment ago.
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
    """Where the range of a new interval starts: where its chain continues; at `first` if it has no chain.

    Raises:
        StreamTruncatedError: a part of what follows is gone, and must not be skipped.
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
    """Have a chain that has no range yet begin at the tail as it is now, for all who ask."""
    stream = interval.stream
    tail = await client.tail(stream)
    beginning = Interval(interval.consumer, stream, BEGINNING)
    with contextlib.suppress(TableConflictError):  # another run was first
        await ledger.record(beginning, StreamCutRange(tail, tail), after=None, state=IntervalState.DONE)


async def waited_for(ledger: CutLedger, interval: Interval) -> CutRecord | None:
    """The last interval of the chain, if it is a different one and is not done: the next interval waits for it."""
    last = await ledger.last(interval)
    return None if last is None else _not_done_of_another(last, interval)


def _not_done_of_another(last: StoredRange, interval: Interval) -> CutRecord | None:
    return last.record if last.record.is_waiting and last.interval != interval.name else None


async def take_over(ledger: CutLedger, interval: Interval, record: CutRecord, *, by: str | None = None) -> None:
    """Have the last interval of the chain, which is not done, give its range back: the next range starts where it does.

    If it is done by now, or another run has a range after it, it keeps its range: call `next_start` again in any case.
    """
    with contextlib.suppress(TableConflictError):
        if (await ledger.find(record.identity)) == record:
            await ledger.give_back(record.identity, f"taken over by {interval.name!r}", by=by)


def not_done(record: CutRecord) -> LedgerError:
    """The error for an interval that has waited long enough for another one."""
    since = record.state_since.isoformat(timespec="seconds")
    why = f" ({record.reason})" if record.state is IntervalState.FAILED else ""
    return LedgerError(
        f"{record.identity} is not done: it is {record.state.value} since {since}, by "
        f"{record.changed_by or record.recorded_by}{why}. Run it again, have the next run take its range over "
        "(on_open='take_over'), continue without it (on_open='skip'), or decide with pravega cuts skip"
    )
