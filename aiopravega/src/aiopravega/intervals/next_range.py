"""The next range of a chain, for the first caller that asks: its start by the cut ledger, its end by the conditions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import TableConflictError
from aiopravega.intervals.chain import OnOpen, begin_at_tail, next_start, take_over, waited_for
from aiopravega.intervals.losses import OnTruncated
from aiopravega.intervals.moved import StreamWatch
from aiopravega.ledger import CutLedger, CutRecord, Interval, IntervalState
from aiopravega.positions import NamedCut

_SIX_HOURS: Final = timedelta(hours=6)
# Where a chain without ranges begins, as users of schedulers say it.
SINCE: Final[Mapping[str, NamedCut]] = {"last": NamedCut.HEAD, "latest": NamedCut.TAIL}


@dataclass(frozen=True, slots=True)
class ChainRules:
    """How a chain continues.

    `first` is where it begins: at the head, or at the tail as the first caller finds it. `on_open` says what to do
    about an interval that is not done; one that has not failed either is taken over after `open_timeout`.
    """

    first: NamedCut = NamedCut.HEAD
    on_open: OnOpen = OnOpen.WAIT
    open_timeout: timedelta = _SIX_HOURS
    on_truncated: OnTruncated = OnTruncated.FAIL


@dataclass(frozen=True, slots=True)
class NotNow:
    """Why there is no next range now. `waits_for` is an interval that has to be done first."""

    reason: str
    waits_for: CutRecord | None = None


async def take_next(
    client: PravegaClient, ledger: CutLedger, interval: Interval, rules: ChainRules, watch: StreamWatch, *, by: str
) -> CutRecord | NotNow:
    """Record the next range of the chain for a new interval, if the stream has moved far enough.

    Raises:
        StreamTruncatedError: a part of what follows the last range is gone, and must not be skipped.
        StreamMadeAgainError: the stream was deleted and made again, and nothing must be skipped.
        StreamSealedError: the stream is sealed, and too little is left.
        PravegaError: the ledger or the stream cannot be asked.
    """
    stream = interval.stream
    while True:
        open_ = None if rules.on_open is OnOpen.SKIP else await waited_for(ledger, interval)
        if open_ is not None:
            is_over = open_.state is IntervalState.FAILED or datetime.now(UTC) >= open_.state_since + rules.open_timeout
            if rules.on_open is OnOpen.TAKE_OVER and is_over:
                await take_over(ledger, interval, open_, by=by)
                continue
            return NotNow(_waiting(open_), open_)
        if rules.first is NamedCut.TAIL and await ledger.last(interval) is None:
            await begin_at_tail(client, ledger, interval)
        head = await client.head(stream.scope, stream.stream)
        begins = await next_start(client, ledger, interval, head, rules.on_truncated)
        end = await watch.end_if_moved(client, begins.cut, check=True)
        if end is None:
            return NotNow(f"{stream} since {begins.cut}: not yet {watch.condition}")
        try:
            taken = StreamCutRange(begins.cut, end)
            return await ledger.record(interval, taken, after=begins.after, chained=True, by=by, skipped=begins.skipped)
        except TableConflictError:
            continue  # another caller has taken a range meanwhile: ours starts after it


def _waiting(record: CutRecord) -> str:
    why = f" ({record.reason})" if record.state is IntervalState.FAILED else ""
    since = record.state_since.isoformat(timespec="seconds")
    return f"waiting for {record.identity}, which is {record.state.value} since {since}{why}"
