"""The range of an interval of a chain: its recorded range, or the next one, which the first caller records.

The next range starts by the cut ledger, and ends by the conditions. All schedulers claim their ranges here.
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
# The beginning of a chain without ranges, by the words of the schedulers' options.
SINCE: Final[Mapping[str, NamedCut]] = {"last": NamedCut.HEAD, "latest": NamedCut.TAIL}


@dataclass(frozen=True, slots=True)
class ChainRules:
    """Rules of a chain.

    Attributes:
        first: the beginning of a chain without ranges: the head, or the tail at the first call.
        on_open: the choice for a last interval that is not done. It is taken over if it has failed, or after the wait.
        open_timeout: the wait, from the last change of that interval's state.
        on_truncated: the choice for a loss.
        deadline: the end of the wait, instead of `open_timeout`; with `OnOpen.WAIT`, reaching it is an error.
    """

    first: NamedCut = NamedCut.HEAD
    on_open: OnOpen = OnOpen.WAIT
    open_timeout: timedelta = _SIX_HOURS
    on_truncated: OnTruncated = OnTruncated.FAIL
    deadline: datetime | None = None


@dataclass(frozen=True, slots=True)
class NotNow:
    """The reason why there is no next range now.

    `waits_for` is the interval that has to be done first. If it is None, the stream has not moved far enough since
    `start`.
    """

    reason: str
    waits_for: CutRecord | None = None
    start: StreamCut = field(default_factory=StreamCut.unbounded)


async def what_remains(
    client: PravegaClient, ledger: CutLedger, record: CutRecord, on_truncated: OnTruncated, *, by: str
) -> CutRecord:
    """The record of an interval that is to be processed, maybe again; a loss is removed from its range first.

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
    """The record of an interval; if it has none, the next range of the chain is recorded, once the conditions hold.

    `seen` is a range for which another process saw the conditions hold.

    Raises:
        LedgerError: another interval was not done within the time of the rules; or this interval is skipped.
        StreamTruncatedError: a part of the range, or events after the last range, are gone and must not be skipped.
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
            continue  # another run has claimed a range since `_may_continue` asked the ledger
        if seen is not None and seen.start == begins.cut:
            end: StreamCut | None = seen.end
        else:
            end = await watch.end_if_moved(client, begins.cut, check=True)
        if end is None:
            return NotNow(f"{stream} since {begins.cut}: not yet {watch.condition}", start=begins.cut)
        try:
            range_ = StreamCutRange(begins.cut, end)
            return await ledger.record(
                interval, range_, after=begins.after, chained=True, by=by, skipped=begins.skipped
            )
        except TableConflictError:
            continue  # another caller has claimed a range meanwhile: ours starts after it


async def _may_continue(ledger: CutLedger, interval: Interval, rules: ChainRules, by: str) -> CutRecord | None:
    """The interval that has to be done first; None: there is none, or it was taken over."""
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
