"""The consumers of a scope at a glance, in pages, the worst first.

The work is bounded however many intervals a ledger has: of all consumers only the keys are read, and the few records
that were changed last, which put them in order; of those that a page shows, some hundreds. Streams are asked side by
side, each once and with a limit. A consumer that cannot be asked, or read, is a line with its error.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeVar

from aiopravega import PravegaClient, StreamCutRange, StreamName
from aiopravega.bounded import each
from aiopravega.errors import (
    ConfigurationError,
    InvalidStreamCutError,
    NotFoundError,
    PravegaError,
    PravegaTimeoutError,
    TableNotFoundError,
)
from aiopravega.intervals.reports.lag import lag_after
from aiopravega.ledger import CutRecord, IntervalState
from aiopravega.ledger.intervals.cut_entries import ConsumerKeys

T = TypeVar("T")
_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """The work for one page, while a user waits.

    Attributes:
        page: consumers of one page.
        to_order: records that are read to put all consumers in order.
        least: the fewest records of each consumer for this.
        shown: records that are read of each consumer of the page.
        patience: seconds for the answers of one stream.
        patience_for_all: seconds for the answers of all streams.
    """

    page: int = 25
    to_order: int = 2_000
    least: int = 3
    shown: int = 500
    patience: float = 5.0
    patience_for_all: float = 10.0


_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer of a stream.

    `records` are its intervals that were read, in the order of the stream, and `intervals` is the number of all.
    `behind` is the number of bytes from the end of the last interval that it has processed in order to the tail, by
    `aiopravega.intervals.reports.lag`; None if it is not known, with the reason in `unknown`. `loss` describes data
    that was removed before it was processed.
    """

    stream: StreamName
    name: str
    records: Sequence[CutRecord]
    intervals: int
    behind: int | None = None
    unknown: str | None = None
    loss: str | None = None

    @property
    def states(self) -> dict[IntervalState, int]:
        """The number of intervals in each state, of those that were read; a state without any is left out."""
        counted = Counter(record.state for record in self.records)
        return {state: counted[state] for state in IntervalState if counted[state]}

    @property
    def unread(self) -> int:
        """The number of intervals that were not read."""
        return max(self.intervals - len(self.records), 0)

    @property
    def last(self) -> CutRecord:
        """The interval with the latest end."""
        return self.records[-1]

    @property
    def changed_at(self) -> datetime:
        """The time of the last change of an interval."""
        return max(record.state_since for record in self.records)

    @property
    def trouble(self) -> tuple[bool, int, int, int]:
        """Greater for a consumer that is worse: one that is not known or has lost data, then failed, behind, open."""
        states = self.states
        return (
            self.unknown is not None or self.loss is not None,
            states.get(IntervalState.FAILED, 0),
            self.behind or 0,
            states.get(IntervalState.OPEN, 0),
        )


# The orders of a list: a word in its address, the words for users, and the key. The greatest comes first.
ORDERS: Final[Mapping[str, tuple[str, Callable[[Consumer], Any]]]] = {
    "worst": ("worst first", lambda consumer: consumer.trouble),
    "behind": ("most bytes behind first", lambda consumer: (consumer.behind is None, consumer.behind or 0)),
    "changed": ("last change first", lambda consumer: consumer.changed_at),
    "name": ("by name", lambda _: 0),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The consumers that a user wants to see: those with `text` in their name or stream, one page in an order.

    Raises:
        ConfigurationError: there is no such order or page.
    """

    text: str = ""
    order: str = "worst"
    page: int = 1

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise ConfigurationError(f"there is no order {self.order!r}: there are {', '.join(ORDERS)}")
        if self.page < 1:
            raise ConfigurationError(f"there is no page {self.page}: the first is 1")


@dataclass(frozen=True, slots=True)
class Overview:
    """One page of consumers, the number of all that were wanted, and of the intervals of the whole ledger."""

    consumers: Sequence[Consumer]
    wanted: Wanted
    found: int = 0
    intervals: int = 0
    pages: int = 1
    unreadable: Sequence[str] = ()


async def overview_of(
    client: PravegaClient,
    scope: str,
    wanted: Wanted,
    stream: StreamName | None = None,
    *,
    limits: Limits = _LIMITS,
) -> Overview:
    """A page of the consumers that the cut ledger of a scope has; none if there is no ledger.

    Args:
        client: a connected client.
        scope: the scope that has the ledger.
        wanted: the consumers to show.
        stream: only consumers of this stream; None: of all streams.
        limits: the work that may be done.

    Raises:
        PravegaError: the ledger cannot be read.
    """
    ledger = client.cut_ledger(scope)
    try:
        keys = await ledger.consumer_keys()
    except TableNotFoundError:
        return Overview((), wanted)
    known, unreadable = [], []
    newest = await ledger.newest(keys, max(limits.to_order // max(len(keys), 1), limits.least))
    for own, read in zip(keys, newest, strict=True):
        if read.records:
            record = read.records[0]
            error = None if read.error is None else str(read.error)
            known.append((own, Consumer(record.stream, record.consumer, read.records, own.count, unknown=error)))
        elif read.error is not None:
            unreadable.append(str(read.error))
    text = wanted.text.casefold()
    known = [
        (own, consumer)
        for own, consumer in known
        if stream in (None, consumer.stream) and text in f"{consumer.stream} {consumer.name}".casefold()
    ]
    lags = _Lags(client, limits)
    measured = await each(lags.measured, [consumer for _, consumer in known], _AT_ONCE)
    of = {(consumer.stream, consumer.name): own for own, consumer in known}
    first = (wanted.page - 1) * limits.page
    shown = await _whole(client, lags, _in_order(measured, wanted.order)[first : first + limits.page], of, limits.shown)
    pages = max(-(-len(known) // limits.page), 1)
    intervals = sum(own.count for own in keys)
    return Overview(_in_order(shown, wanted.order), wanted, len(known), intervals, pages, unreadable)


async def _whole(
    client: PravegaClient,
    lags: "_Lags",
    consumers: Sequence[Consumer],
    of: Mapping[tuple[StreamName, str], ConsumerKeys],
    most: int,
) -> list[Consumer]:
    """Consumers with all their records, or the `most` of them that were changed last."""
    partly = [consumer for consumer in consumers if consumer.unread and consumer.unknown is None]
    if not partly:
        return list(consumers)
    ledger = client.cut_ledger(partly[0].stream.scope)
    newest = await ledger.newest([of[consumer.stream, consumer.name] for consumer in partly], most)
    read = [
        replace(consumer, records=own.records, unknown=None if own.error is None else str(own.error))
        for consumer, own in zip(partly, newest, strict=True)
        if own.records  # otherwise somebody has made the ledger forget it meanwhile
    ]
    lags.forget()  # a position that was recorded since may be after the tail of before
    whole = {(consumer.stream, consumer.name): consumer for consumer in await each(lags.measured, read, _AT_ONCE)}
    return [whole.get((consumer.stream, consumer.name), consumer) for consumer in consumers]


def _in_order(consumers: Sequence[Consumer], order: str) -> list[Consumer]:
    by_name = sorted(consumers, key=lambda consumer: (str(consumer.stream), consumer.name))
    return sorted(by_name, key=ORDERS[order][1], reverse=True)


async def with_lag(client: PravegaClient, consumer: Consumer, ends: StreamCutRange | None = None) -> Consumer:
    """The consumer with its lag, or with the reason why its stream has no answer.

    Raises:
        PravegaError: the cluster does not answer.
    """
    try:
        lag = await lag_after(client, consumer.stream, consumer.records, ends=ends)
    except (NotFoundError, InvalidStreamCutError) as error:
        return replace(consumer, unknown=str(error))
    return replace(consumer, behind=lag.size, loss=lag.loss)


class _Lags:
    """Measures lags. The ends of a stream are asked for once, and no answer is waited for longer than the limits."""

    def __init__(self, client: PravegaClient, limits: Limits) -> None:
        self._client = client
        self._limits = limits
        self._end = asyncio.get_running_loop().time() + limits.patience_for_all
        self._ends: dict[StreamName, asyncio.Task[StreamCutRange]] = {}

    def forget(self) -> None:
        """Ask for the ends of streams again."""
        self._ends = {}

    async def measured(self, consumer: Consumer) -> Consumer:
        """The consumer with its lag, or with the reason why it is not known."""
        if consumer.unknown is not None:
            return consumer
        if consumer.stream not in self._ends:
            self._ends[consumer.stream] = asyncio.create_task(self._within(self._ends_of(consumer.stream)))
        try:
            ends = await self._ends[consumer.stream]
            return await self._within(with_lag(self._client, consumer, ends))
        except PravegaError as error:
            return replace(consumer, unknown=str(error))

    async def _within(self, answer: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout_at(min(asyncio.get_running_loop().time() + self._limits.patience, self._end)):
                return await answer
        except TimeoutError as error:
            if isinstance(error, PravegaError):
                raise
            limits = f"{self._limits.patience:g} s, or {self._limits.patience_for_all:g} s for all streams"
            raise PravegaTimeoutError(f"no answer about the stream within {limits}") from error

    async def _ends_of(self, stream: StreamName) -> StreamCutRange:
        head, tail = await asyncio.gather(self._client.head(stream), self._client.tail(stream))
        return StreamCutRange(head, tail)
