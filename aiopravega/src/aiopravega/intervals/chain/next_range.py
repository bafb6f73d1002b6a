"""The range of an interval of a chain: its recorded range, or the next one, which the first caller records.

The next range starts by the cut ledger, and ends by the conditions. All schedulers claim their ranges here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import TableConflictError
from aiopravega.intervals.chain.losses import OnTruncated, left_to_process
from aiopravega.intervals.chain.next_start import OnOpen, begin_at_tail, next_start, waited_for
from aiopravega.intervals.chain.take_over import AskSink, Judge, close, explain_wait, not_done, take_over
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from aiopravega.ledger import Claimant, ClaimantState, CutLedger, CutRecord, Interval, IntervalState
from aiopravega.positions import NamedCut

_SIX_HOURS: Final = timedelta(hours=6)
# The beginning of a chain without ranges, by the words of the schedulers' options.
SINCE: Final[Mapping[str, NamedCut]] = {"last": NamedCut.HEAD, "latest": NamedCut.TAIL}


@dataclass(frozen=True, slots=True)
class ChainRules:
    """Rules of a chain.

    Attributes:
        first: the beginning of a chain without ranges: the head, or the tail at the first call.
        on_open: the choice for a last interval that is not done. With WAIT it is waited for as long as its claimant can
            process it, and taken over if the claimant has failed and is not tried again, or is gone. With TAKE_OVER it
            is also taken over as soon as its record says that it has failed, and, if the host of its claimant cannot be
            asked, after the wait.
        open_timeout: the wait, from the last change of that interval's state.
        on_truncated: the choice for a loss.
        deadline: the end of the wait, instead of `open_timeout`; with `OnOpen.WAIT`, reaching it is an error.
        judge: asks the host of a claimant for its state; None: no host can be asked.
        ask_sink: asks the sinks of a claim that is taken over.
    """

    first: NamedCut = NamedCut.HEAD
    on_open: OnOpen = OnOpen.WAIT
    open_timeout: timedelta = _SIX_HOURS
    on_truncated: OnTruncated = OnTruncated.FAIL
    deadline: datetime | None = None
    judge: Judge | None = None
    ask_sink: AskSink | None = None


@dataclass(frozen=True, slots=True)
class NotNow:
    """The reason why there is no next range now.

    `waits_for` is the interval that has to be done first, and `state` the state of its claimant. If it is None, the
    stream has not moved far enough since `start`.
    """

    reason: str
    waits_for: CutRecord | None = None
    state: ClaimantState = ClaimantState.UNKNOWN
    start: StreamCut = field(default_factory=StreamCut.unbounded)


@dataclass(frozen=True, slots=True)
class FormerName:
    """The name of an interval in an older release; its record is the interval's if `is_same` says so.

    A name of an older release could mean two intervals: the record shows which one it is.
    """

    interval: Interval
    is_same: Callable[[CutRecord], bool]


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
    claimant: Claimant | None = None,
    former: FormerName | None = None,
) -> CutRecord | NotNow:
    """The record of an interval; if it has none, the next range of the chain is recorded, once the conditions hold.

    Args:
        client: a connected client.
        ledger: the cut ledger.
        interval: the interval.
        rules: the rules of the chain.
        watch: the conditions.
        by: the author of a record.
        seen: a range for which another process saw the conditions hold.
        claimant: the task that is to process the interval.
        former: the name of the same interval in an older release.

    Raises:
        HalfDoneError: the last interval is processed in part, and its claimant has ended.
        LedgerError: another interval was not done within the time of the rules; or this interval is skipped.
        StreamTruncatedError: a part of the range, or events after the last range, are gone and must not be skipped.
        StreamMadeAgainError: the stream was deleted and made again, and nothing must be skipped.
        StreamSealedError: the stream is sealed, and too little is left.
        PravegaError: the ledger or the stream cannot be asked.
    """
    stream = interval.stream
    while True:
        taken = await find_own(ledger, interval, former)
        if taken is not None and taken.state is not IntervalState.GIVEN_BACK:
            left = await left_to_process(client, taken, rules.on_truncated)
            if left is None or left.gone is None:
                return taken
            if left.made_again is None:
                return await ledger.replace(taken, left.range, left.gone, by=by)
            # The interval gets a range of the stream that has the name now.
        waits = await _may_continue(ledger, interval, rules, by)
        if waits is not None:
            return waits
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
            is_new = taken is None or taken.state is IntervalState.GIVEN_BACK
            return await ledger.record(
                interval,
                range_,
                after=begins.after,
                chained=is_new,
                by=by,
                skipped=begins.skipped,
                claimant=claimant,
            )
        except TableConflictError:
            continue  # another caller has claimed a range meanwhile: ours starts after it


async def find_own(ledger: CutLedger, interval: Interval, former: FormerName | None) -> CutRecord | None:
    """The valid record of an interval, also under its former name; None: it has no range yet."""
    if former is None:
        return await ledger.find(interval)
    own, other = await ledger.find_first(interval, former.interval)
    return own if own is not None or other is None or not former.is_same(other) else other


async def _may_continue(ledger: CutLedger, interval: Interval, rules: ChainRules, by: str) -> NotNow | None:
    """The reason to wait for the last interval; None: there is none, or it is settled."""
    while rules.on_open is not OnOpen.SKIP and (open_ := await waited_for(ledger, interval)) is not None:
        state = ClaimantState.UNKNOWN if rules.judge is None else await rules.judge(open_)
        is_over = datetime.now(UTC) >= (rules.deadline or open_.state_since + rules.open_timeout)
        if state is ClaimantState.DONE:
            await close(ledger, open_, by=by)
        elif state.is_over or (rules.on_open is OnOpen.TAKE_OVER and _is_given_up(open_, state, is_over)):
            await take_over(ledger, interval, open_, rules.ask_sink, by=by)
        elif is_over and rules.deadline is not None:
            raise not_done(open_, state)
        else:
            return NotNow(explain_wait(open_, state), open_, state)
    return None


def _is_given_up(record: CutRecord, state: ClaimantState, is_over: bool) -> bool:
    """True if an interval may be taken over although its host does not say that its claimant has ended."""
    return record.state is IntervalState.FAILED or (is_over and state is ClaimantState.UNKNOWN)
