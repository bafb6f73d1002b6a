"""Intervals that are claimed again, because somebody wants it: with what came late, or with another range.

A claim has a number: 1 is the interval's own, which stays what it is. Each later one has a record of its own, so that
a call that is repeated gets the same range. It has a consumer of its own, too: it is not in the consumer's chain.
"""

from datetime import datetime

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError, LedgerError, TableNotFoundError
from aiopravega.intervals.chain.claims import interval_name
from aiopravega.intervals.chain.losses import OnTruncated, left_to_process
from aiopravega.ledger import CutRecord, Interval
from aiopravega.names import StreamName


def claimed_again(interval: Interval, claim: int) -> Interval:
    """Under which name the cut ledger has a claim of an interval.

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
) -> CutRecord:
    """The record of a later claim of an interval of event times: from where its own range starts to the tail.

    So it has the events that came after the interval was declared complete, and were late. The first caller fixes the
    end.

    Args:
        client: a connected client.
        stream: the stream that is processed.
        consumer: the name of the job that processes it.
        times: the start, which is included, and the end, which is not.
        claim: its number, 2 or more.
        by: the name of the caller; None: the user and the host of this process.
        on_truncated: what to do if a part of the range is gone: end with an error, or take what is left.

    Raises:
        LedgerError: the interval has no range of its own yet, or somebody has decided that it is skipped.
        StreamTruncatedError: a part of the range is gone, and must not be skipped.
        StreamMadeAgainError: the range is of a stream of this name that was deleted.
        PravegaError: the cluster cannot be asked.
    """
    own = Interval(consumer, stream, interval_name(*times))
    interval, ledger = claimed_again(own, claim), client.cut_ledger(stream.scope)
    try:
        first, record = await ledger.find(own), await ledger.find(interval)
    except TableNotFoundError:
        first = record = None
    if first is None:
        raise LedgerError(f"{own} has no range yet, so that it cannot be claimed again: run it without a claim")
    if record is None:
        # Before anything is recorded: a range that cannot be read must not be anybody's.
        await left_to_process(client, first, on_truncated)
        tail = await client.tail(stream)
        record = await ledger.claim(interval, StreamCutRange(first.range.start, tail), times=times, by=by)
    left = await left_to_process(client, record, on_truncated)
    if left is None or left.gone is None:
        return record
    if left.made_again is not None:
        raise left.refusal(interval)
    return await ledger.replace(record, left.range, left.gone, by=by)
