"""Claims of single intervals of event times: the range of an interval is searched once, and all callers get it.

Schedulers claim one interval at a time, and may repeat the call. `planning` plans many intervals at once.

A claim has a number: 1 is the interval's first claim, which never changes. Each later claim, with late events or with
another range, has its own record, so that a repeated call gets the same range, and its own consumer, so that it is not
in the consumer's chain.
"""

from datetime import UTC, datetime, timedelta

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError, LedgerError, TableNotFoundError
from aiopravega.intervals.chain.losses import OnTruncated, left_to_process
from aiopravega.ledger import Claimant, CutLedger, CutRecord, Interval
from aiopravega.names import StreamName
from aiopravega.times import TimeUnit


def interval_name(since: datetime, until: datetime) -> str:
    """The name of an interval of event times, in UTC: `2013-01-01T00:00:00+00:00/2013-01-02T00:00:00+00:00`.

    Raises:
        ConfigurationError: a time has no zone.
    """
    return "/".join(time.isoformat() for time in in_utc((since, until)))


def in_utc(times: tuple[datetime, datetime]) -> tuple[datetime, datetime]:
    """Two times as moments in UTC: times of one zone compare as its clocks show them, which may go back.

    Raises:
        ConfigurationError: a time has no zone.
    """
    for time in times:
        TimeUnit.US.number(time)
    since, until = times
    return since.astimezone(UTC), until.astimezone(UTC)


def former_name(since: datetime, until: datetime) -> str:
    """The name that older releases gave: in the zones of the times."""
    return f"{since.isoformat()}/{until.isoformat()}"


async def claim_times(
    client: PravegaClient,
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
    """The record of an interval of event times in the cut ledger; without a record, its range is searched and recorded.

    An interval is named by its moments in UTC, whatever the zones of the times are.

    The range has all events of the interval, and may have other events: a reader keeps events with `since <= time <
    until`. `ahead`, `clip`, `from_head` and `unit` are as in `PravegaClient.range_for`.

    Args:
        client: a connected client.
        stream: the stream that is processed.
        consumer: the name of the job that processes it.
        times: the start, which is included, and the end, which is not.
        ahead: the longest time by which events may be newer than the time that their writer notes next.
        clip: accept the remaining events, if some events of the interval may have been removed.
        from_head: read an interval that ends before the first watermark from the head to that watermark.
        unit: of the times that the stream's writers note.
        ledger: where intervals are recorded; None: the cut ledger in the stream's scope, which is made if need be.
        by: the name of the caller; None: the user and the host of this process.
        on_truncated: if a part of a recorded range is gone: end with an error, or take the rest. If the stream was made
            again, a new range is searched.
        claimant: the task that is to process a new interval.

    Raises:
        NotYetError: events of the interval may still be written.
        StreamTruncatedError: a part of the recorded range is gone, and must not be skipped.
        StreamMadeAgainError: the recorded range is of a stream of this name that was deleted.
        LedgerError: somebody has decided that the interval is skipped.
        ConfigurationError: a time has no zone, or the interval is empty.
        PravegaError: the range is not known, as `PravegaClient.range_for` says, or the ledger cannot be read.
    """
    interval = Interval(consumer, stream, interval_name(*times))
    since, until = moments = in_utc(times)
    if not since < until:
        raise ConfigurationError(f"{interval} is empty: it must start before it ends")
    ledger = ledger or client.cut_ledger(stream.scope)

    async def search() -> StreamCutRange:
        return await client.range_for(stream, moments, ahead=ahead, clip=clip, from_head=from_head, unit=unit)

    record = await _recorded(ledger, interval, times)
    if record is None:
        range_ = await search()
        await ledger.create()
        record = await ledger.claim(interval, range_, times=moments, by=by, claimant=claimant)
    left = await left_to_process(client, record, on_truncated)
    if left is None or left.gone is None:
        return record
    range_ = left.range
    if left.made_again is not None:
        range_ = await search()
    return await ledger.replace(record, range_, left.gone, by=by)


def claimed_again(interval: Interval, claim: int) -> Interval:
    """The interval under which the cut ledger has a claim of an interval: it differs for later claims.

    Raises:
        ConfigurationError: the number is less than 1.
    """
    if claim < 1:
        raise ConfigurationError(f"claim is {claim}, but must be a whole number of at least 1: 1 is the interval's own")
    if claim == 1:
        return interval
    return Interval(f"{interval.consumer}, claim {claim} of {interval.name}", interval.stream, interval.name)


async def claim_times_again(
    client: PravegaClient,
    stream: StreamName,
    consumer: str,
    times: tuple[datetime, datetime],
    claim: int,
    *,
    by: str | None = None,
    on_truncated: OnTruncated = OnTruncated.FAIL,
    claimant: Claimant | None = None,
) -> CutRecord:
    """The record of a later claim of an interval of event times: from the start of its first range to the tail.

    So it also has the late events, which were written after the interval was complete. The first caller fixes the end.

    Args:
        client: a connected client.
        stream: the stream that is processed.
        consumer: the name of the job that processes it.
        times: the start, which is included, and the end, which is not.
        claim: its number, 2 or more.
        by: the name of the caller; None: the user and the host of this process.
        on_truncated: what to do if a part of the range is gone: end with an error, or take what is left.
        claimant: the task that is to process a new claim.

    Raises:
        LedgerError: the interval has no range yet, or somebody has decided that it is skipped.
        StreamTruncatedError: a part of the range is gone, and must not be skipped.
        StreamMadeAgainError: the range is of a stream of this name that was deleted.
        PravegaError: the cluster cannot be asked.
    """
    own, ledger = Interval(consumer, stream, interval_name(*times)), client.cut_ledger(stream.scope)
    first = await _recorded(ledger, own, times)
    interval = claimed_again(own if first is None else first.identity, claim)
    record = None if first is None else await ledger.find(interval)
    if first is None:
        raise LedgerError(f"{own} has no range yet, so that it cannot be claimed again: run it without a claim")
    if record is None:
        # Checked before anything is recorded: a range that cannot be read must not be claimed.
        await left_to_process(client, first, on_truncated)
        tail = await client.tail(stream)
        range_ = StreamCutRange(first.range.start, tail)
        record = await ledger.claim(interval, range_, times=in_utc(times), by=by, claimant=claimant)
    left = await left_to_process(client, record, on_truncated)
    if left is None or left.gone is None:
        return record
    if left.made_again is not None:
        raise left.refusal(interval)
    return await ledger.replace(record, left.range, left.gone, by=by)


async def _recorded(ledger: CutLedger, interval: Interval, times: tuple[datetime, datetime]) -> CutRecord | None:
    """The record of an interval of event times, also under the name that an older release gave it."""
    former = Interval(interval.consumer, interval.stream, former_name(*times))
    try:
        if former == interval:
            return await ledger.find(interval)
        own, other = await ledger.find_first(interval, former)
    except TableNotFoundError:
        return None
    return own or other
