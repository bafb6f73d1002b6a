"""Ends of ranges that cut no transaction of the database: by the streams of tables, and Debezium's transactions.

Debezium writes the changes of a transaction to the streams of their tables. It writes the end, with the numbers of
changes, to a separate stream, without an order among the streams. All are read here, and judged in
`pravega_jobs.debezium.transactions.counts`.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, TypeVar

from aiopravega.client import PravegaClient
from aiopravega.cuts import UNBOUNDED, StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.intervals.conditions.move_condition import MoveCondition
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from aiopravega.names import SegmentId, StreamName
from aiopravega.read import Order
from aiopravega.read.events import Event
from aiopravega.read.history import History
from pravega_jobs.debezium.transactions.counts import Limits, TransactionCounts
from pravega_jobs.debezium.transactions.events import Change, change_in, end_in

T = TypeVar("T")

_MOST_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class WholeTransactions:
    """Ends of ranges that cut no transaction.

    `ends` has a cut of each stream of tables. `waits_for` are transactions that have changes in the ranges but are not
    whole, up to 20: each with the number of missing changes, None if the transaction's end was not written yet.
    """

    ends: Mapping[StreamName, StreamCut]
    waits_for: Mapping[str, int | None]


async def whole_transactions(
    client: PravegaClient,
    tables: Mapping[str, StreamCutRange],
    transactions: StreamName,
    *,
    since: StreamCut = UNBOUNDED,
) -> WholeTransactions:
    """The last cuts up to the ends of some ranges before which all transactions are whole, in all these tables.

    All events of the ranges are read, and the stream of transactions from `since` to its tail. If changes may be
    doubles of some from before the ranges, as after a restart of Debezium, all that is left of the streams is read.

    Args:
        client: a connected client.
        tables: the range of each table, by the name that Debezium has for it in `data_collections`: `public.orders`.
            Tables that are in one stream have the same range. Each starts where no transaction is open: at the head,
            or where this function ended the last one. An unbounded end is the tail.
        transactions: Debezium's stream of transactions.
        since: where to begin in it; by default at its head.

    Raises:
        ConfigurationError: changes do not say their transaction, or are of a table that is not named; or there are more
            than a million transactions.
        MalformedEventError: an event is not understood.
        PravegaError: a range does not fit its stream, or the cluster cannot be reached.
    """
    if not tables:
        raise ConfigurationError("there are no tables: name at least one, with its range")
    ranges: dict[StreamName, StreamCutRange] = {}
    streams: dict[str, StreamName] = {}
    for table, given in tables.items():
        stream = given.stream
        if stream is None:
            raise ConfigurationError(f"the range of {table} names no stream: give its start, for example client.head()")
        if stream not in ranges:
            ranges[stream] = given
        elif ranges[stream] != given:
            raise ConfigurationError(f"{stream} has several tables, whose ranges differ: give the same one for each")
        streams[table] = stream
    resolved = {stream: await client.resolve(given, stream) for stream, given in ranges.items()}
    return await _find(client, resolved, TransactionCounts(streams), transactions, since)


async def whole_end(client: PravegaClient, wanted: StreamCutRange, transactions: StreamName) -> StreamCut | None:
    """The last cut in a range of one table's stream before which all transactions are whole; None: it is the start.

    Raises:
        PravegaError: as `whole_transactions` does.
    """
    stream = wanted.start.stream
    assert stream is not None, "a resolved range has a stream"
    whole = await _find(client, {stream: wanted}, TransactionCounts(), transactions, UNBOUNDED)
    end = whole.ends[stream]
    return None if await client.compare(wanted.start, end) is Order.SAME else end


def watch_of(condition: MoveCondition, clock: Callable[[], float] = time.monotonic) -> StreamWatch:
    """Watch for a condition; its `transactions`, if it names some, are those of Debezium."""
    return StreamWatch(condition, clock, whole_end=whole_end)


async def _find(
    client: PravegaClient,
    ranges: Mapping[StreamName, StreamCutRange],
    counts: TransactionCounts,
    transactions: StreamName,
    since: StreamCut,
) -> WholeTransactions:
    for wanted in ranges.values():
        async with aclosing(client.read(wanted)) as events:
            async for event in events:
                change = _understood(event, change_in)
                if change is not None:
                    counts.change(change, event.segment, event.offset)
    async with aclosing(client.read(StreamCutRange(since, UNBOUNDED), transactions)) as events:
        async for event in events:
            end = _understood(event, end_in)
            if end is not None:
                counts.end(end)
    await _resolve_doubles(client, ranges, counts)
    histories = {
        stream: await client.arithmetic.history([wanted.start, wanted.end]) for stream, wanted in ranges.items()
    }
    ends = {stream: wanted.end for stream, wanted in ranges.items()}
    all_ = _passed(histories, ends)

    def lowered(limits: Limits) -> dict[StreamName, StreamCut]:
        return {stream: history.lowered(ends[stream], limits) for stream, history in histories.items()}

    limits = counts.limits(all_, lambda some: _passed(histories, lowered(some)))
    return WholeTransactions(lowered(limits), dict(list(counts.not_whole().items())[:_MOST_SHOWN]))


async def _resolve_doubles(
    client: PravegaClient, ranges: Mapping[StreamName, StreamCutRange], counts: TransactionCounts
) -> None:
    """Find the first changes of transactions whose last changes only are in the ranges.

    Most of these transactions are being written now, with changes after the range. So the events after the range are
    read first: they are fewer than the events before it.
    """
    for wanted in ranges.values():
        if searched := counts.maybe_doubles:
            await _search(client, StreamCutRange(wanted.end, UNBOUNDED), searched, counts.later)
    if searched := counts.maybe_doubles:
        for stream, wanted in ranges.items():
            before = await client.clip(StreamCutRange(UNBOUNDED, wanted.start), stream)
            await _search(client, before, searched, counts.earlier)
        counts.resolve_doubles()


async def _search(
    client: PravegaClient, wanted: StreamCutRange, names: frozenset[str], take: Callable[[Change, SegmentId], None]
) -> None:
    async with aclosing(client.read(wanted)) as events:
        async for event in events:
            change = _change_or_none(event.data)
            if change is not None and change.transaction in names:
                take(change, event.segment)


def _passed(histories: Mapping[StreamName, History], cuts: Mapping[StreamName, StreamCut]) -> dict[SegmentId, int]:
    return {
        segment: offset for stream, cut in cuts.items() for segment, offset in histories[stream].passed(cut).items()
    }


def _understood(event: Event, read: Callable[[bytes], T | None]) -> T | None:
    try:
        return read(event.data)
    except MalformedEventError as error:
        raise MalformedEventError(f"{event.segment} at offset {event.offset}: {error}", event.offset) from None
    except ConfigurationError as error:
        raise ConfigurationError(f"{event.segment} at offset {event.offset}: {error}") from None


def _change_or_none(event: bytes) -> Change | None:
    """The change in an event outside of the ranges; None for events that are not understood."""
    try:
        return change_in(event)
    except (MalformedEventError, ConfigurationError):
        return None
