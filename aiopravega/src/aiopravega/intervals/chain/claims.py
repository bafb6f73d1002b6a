"""One interval of event times of one consumer: its range is searched once, and is the same for all callers.

Schedulers ask for one interval at a time, and may repeat it. `planning` plans many at once.
"""

from datetime import datetime, timedelta

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError, TableNotFoundError
from aiopravega.intervals.chain.losses import OnTruncated, left_to_process
from aiopravega.ledger import CutLedger, CutRecord, Interval
from aiopravega.names import StreamName
from aiopravega.times import TimeUnit


def interval_name(since: datetime, until: datetime) -> str:
    """The name of an interval of event times: `2013-01-01T00:00:00+00:00/2013-01-02T00:00:00+00:00`.

    Raises:
        ConfigurationError: a time has no zone.
    """
    for time in (since, until):
        TimeUnit.US.number(time)
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
) -> CutRecord:
    """The record of an interval of event times in the cut ledger; without a record, its range is searched and recorded.

    The range surely holds all events of the interval, and may hold others: a reader keeps those with `since <= time <
    until`. `ahead`, `clip`, `from_head` and `unit` are those of `PravegaClient.range_for`.

    Args:
        client: a connected client.
        stream: the stream that is processed.
        consumer: the name of the job that processes it.
        times: the start, which is included, and the end, which is not.
        ahead: how much newer than the time that a writer notes next its events may be.
        clip: take the events that are left, if some of the interval may have been removed.
        from_head: read an interval that ends before the first watermark from the head to that watermark.
        unit: what the stream's writers count times in.
        ledger: where intervals are recorded; None: the cut ledger in the stream's scope, which is made if need be.
        by: the name of the caller; None: the user and the host of this process.
        on_truncated: what to do if a part of a recorded range is gone: end with an error, or take what is left. If the
            stream was made again, a new range is taken, unless the interval is done.

    Raises:
        NotYetError: events of the interval may still be written.
        StreamTruncatedError: a part of the recorded range is gone, and must not be skipped.
        StreamMadeAgainError: the recorded range is of a stream of this name that was deleted.
        LedgerError: somebody has decided that the interval is skipped.
        ConfigurationError: a time has no zone, or the interval is empty.
        PravegaError: the range is not known, as `PravegaClient.range_for` says, or the ledger cannot be read.
    """
    interval = Interval(consumer, stream, interval_name(*times))
    if not times[0] < times[1]:
        raise ConfigurationError(f"{interval} is empty: it must start before it ends")
    ledger = ledger or client.cut_ledger(stream.scope)

    async def found() -> StreamCutRange:
        return await client.range_for(stream, times, ahead=ahead, clip=clip, from_head=from_head, unit=unit)

    record = await _recorded(ledger, interval)
    if record is None:
        range_ = await found()
        await ledger.create()
        record = await ledger.claim(interval, range_, times=times, by=by)
    left = await left_to_process(client, record, on_truncated)
    if left is None or left.gone is None:
        return record
    range_ = left.range
    if left.made_again is not None:
        range_ = await found()
    return await ledger.replace(record, range_, left.gone, by=by)


async def _recorded(ledger: CutLedger, interval: Interval) -> CutRecord | None:
    try:
        return await ledger.find(interval)
    except TableNotFoundError:
        return None
