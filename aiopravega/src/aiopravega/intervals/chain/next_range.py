"""The range of an interval of a chain: the one that it has, or the next one, for the first caller that asks.

The cut ledger says where the next one starts, the conditions say where it ends. Every scheduler takes its ranges here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import TableConflictError
from aiopravega.intervals.chain.losses import OnTruncated, left_to_process
from aiopravega.intervals.chain.next_start import (
    OnOpen,
    begin_at_tail,
    next_start,
    not_done,
    take_over,
    waited_for,
)
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from aiopravega.ledger import CutLedger, CutRecord, Interval, IntervalState
from aiopravega.positions import NamedCut

_SIX_HOURS: Final = timedelta(hours=6)
# Where a chain without ranges begins, as users of schedulers say it.
SINCE: Final[Mapping[str, NamedCut]] = {"last": NamedCut.HEAD, "latest": NamedCut.TAIL}


@dataclass(frozen=True, slots=True)
class ChainRules:
    """How a chain continues.

    `first` is where it begins: at the head, or at the tail as the first caller finds it. `on_open` says what to do
    about an interval that is not done: to take it over needs that it has failed, or that it was waited for long enough,
    which is `open_timeout` after it was recorded; for a caller that does not wait longer than to `deadline`, it is
    then, and with `OnOpen.WAIT` that is an error.
    """

    first: NamedCut = NamedCut.HEAD
    on_open: OnOpen = OnOpen.WAIT
    open_timeout: timedelta = _SIX_HOURS
    on_truncated: OnTruncated = OnTruncated.FAIL
    deadline: datetime | None = None


@dataclass(frozen=True, slots=True)
class NotNow:
    """Why there is no next range now: an interval has to be done first, or the stream has not moved since `start`."""

    reason: str
    waits_for: CutRecord | None = None
    start: StreamCut = field(default_factory=StreamCut.unbounded)


async def what_remains(
    client: PravegaClient, ledger: CutLedger, record: CutRecord, on_truncated: OnTruncated, *, by: str
) -> CutRecord:
    """The range of an interval that is to be processed, maybe again; a part that is gone is taken out of its record.

    Raises:
        LedgerError: somebody has decided that the interval is skipped.
        StreamTruncatedError: a part of the range is gone, and must not be skipped.
        StreamMadeAgainError: the range is of a stream that was deleted, and nothing must be skipped.
    """
    left = await left_to_process(client, record, on_truncated)
    if left is None or left.gone is None:
        return record
    return await ledger.replace(record, left.range, left.gone, by=by)


async def take_next(
    client: PravegaClient,
    ledger: CutLedger,
    interval: Interval,
    rules: ChainRules,
    watch: StreamWatch,
    *,
    by: str,
    seen: StreamCutRange | None = None,
) -> CutRecord | NotNow:
    """The range that an interval has; else the next one of the chain is recorded, if the stream has moved far enough.

    `seen` is a range that the conditions hold for, as another process saw it.

    Raises:
        LedgerError: an interval that is not done was waited for long enough; or this one is skipped.
        StreamTruncatedError: a part of the range, or of what follows the last one, is gone and must not be skipped.
        StreamMadeAgainError: the stream was deleted and made again, and nothing must be skipped.
        StreamSealedError: the stream is sealed, and too little is left.
        PravegaError: the ledger or the stream cannot be asked.
    """
    stream = interval.stream
    while True:
        taken = await ledger.find(interval)
        if taken is not None and taken.state is not IntervalState.GIVEN_BACK:
            return await what_remains(client, ledger, taken, rules.on_truncated, by=by)
        waits_for = await _may_continue(ledger, interval, rules, by)
        if waits_for is not None:
            return NotNow(_waiting(waits_for), waits_for)
        if rules.first is NamedCut.TAIL and await ledger.last(interval) is None:
            await begin_at_tail(client, ledger, interval)
        head = await client.head(stream)
        begins = await next_start(client, ledger, interval, head, rules.on_truncated)
        if begins.waits_for is not None and rules.on_open is not OnOpen.SKIP:
            continue  # another run has taken a range since `_may_continue` asked the ledger
        if seen is not None and seen.start == begins.cut:
            end: StreamCut | None = seen.end
        else:
            end = await watch.end_if_moved(client, begins.cut, check=True)
        if end is None:
            return NotNow(f"{stream} since {begins.cut}: not yet {watch.condition}", start=begins.cut)
        try:
            found = StreamCutRange(begins.cut, end)
            return await ledger.record(interval, found, after=begins.after, chained=True, by=by, skipped=begins.skipped)
        except TableConflictError:
            continue  # another caller has taken a range meanwhile: ours starts after it


async def _may_continue(ledger: CutLedger, interval: Interval, rules: ChainRules, by: str) -> CutRecord | None:
    """The interval that has to be done first; None: there is none (any more)."""
    while rules.on_open is not OnOpen.SKIP and (open_ := await waited_for(ledger, interval)) is not None:
        is_over = datetime.now(UTC) >= (rules.deadline or open_.state_since + rules.open_timeout)
        if rules.on_open is OnOpen.TAKE_OVER and (is_over or open_.state is IntervalState.FAILED):
            await take_over(ledger, interval, open_, by=by)
        elif is_over and rules.deadline is not None:
            raise not_done(open_)
        else:
            return open_
    return None


def _waiting(record: CutRecord) -> str:
    why = f" ({record.reason})" if record.state is IntervalState.FAILED else ""
    since = record.state_since.isoformat(timespec="seconds")
    return f"waiting for {record.identity}, which is {record.state.value} since {since}{why}"
