"""Consumers on the page, and the streams that they read.

Of a consumer there are its intervals, its lag, the findings about its records, and a picture: a line for each interval,
from the record of its range to its last change. Of a stream there are its data, its configuration and its subscribers.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from aiopravega import PravegaClient, StreamName
from aiopravega.bounded import each
from aiopravega.catalog import PravegaCatalog, StreamTable
from aiopravega.control import RetentionPolicy, ScalingPolicy
from aiopravega.control.policies import MILLISECOND, NO_LIMIT, RetentionType, ScalingType
from aiopravega.errors import (
    ConfigurationError,
    InvalidStreamCutError,
    NotFoundError,
    StreamNotFoundError,
    TableNotFoundError,
)
from aiopravega.intervals.reports.lag import lag_after
from aiopravega.intervals.reports.picture import over_at, span
from aiopravega.intervals.reports.verify import IntervalFinding, verify
from aiopravega.ledger import CutRecord, IntervalState

_AT_ONCE: Final = 8
_WIDTH: Final = 1000.0
_LINE: Final = 9.0
_THICK: Final = 7.0
# The least width, for an interval that has ended at once.
_THINNEST: Final = 3.0


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer of a stream.

    `behind` is the number of bytes from the end of the last interval that it has processed in order to the tail, by
    `aiopravega.intervals.reports.lag`; None if it is not known, with the reason in `unknown`. `loss` describes data
    that was removed before it was processed.
    """

    stream: StreamName
    name: str
    records: Sequence[CutRecord]
    behind: int | None
    unknown: str | None = None
    loss: str | None = None

    @property
    def states(self) -> dict[IntervalState, int]:
        """The number of intervals in each state; a state without any is left out."""
        counted = Counter(record.state for record in self.records)
        return {state: counted[state] for state in IntervalState if counted[state]}

    @property
    def last(self) -> CutRecord:
        """The interval with the latest end."""
        return self.records[-1]

    @property
    def changed_at(self) -> datetime:
        """The time of the last record for it."""
        return max(record.state_since for record in self.records)


async def consumers_of(client: PravegaClient, scope: str, stream: StreamName | None = None) -> list[Consumer]:
    """The consumers that the cut ledger of a scope has, sorted by stream and name; none if there is no ledger.

    Args:
        client: a connected client.
        scope: the scope that has the ledger.
        stream: only consumers of this stream; None: of all streams.

    Raises:
        LedgerError: this release cannot read a record.
        PravegaError: the cluster does not answer.
    """
    try:
        records = await client.cut_ledger(scope).consumers()
    except TableNotFoundError:
        return []

    async def one(key: tuple[StreamName, str]) -> Consumer:
        return await _consumer(client, *key, records[key])

    wanted = [key for key in records if stream in (None, key[0])]
    return await each(one, sorted(wanted, key=lambda key: (str(key[0]), key[1])), _AT_ONCE)


async def consumer_of(client: PravegaClient, stream: StreamName, name: str) -> tuple[Consumer, list[IntervalFinding]]:
    """One consumer, and the findings of `pravega cuts verify` about its intervals.

    Raises:
        ConfigurationError: the consumer has no intervals of the stream.
        PravegaError: the cluster does not answer.
    """
    try:
        records = await client.cut_ledger(stream.scope).records(name, stream)
    except TableNotFoundError:
        records = []
    if not records:
        raise ConfigurationError(f"{name!r} has no intervals of {stream}")
    try:
        findings = await verify(client, records)
    except NotFoundError:  # the stream is gone, so that the records cannot be compared; `unknown` reports it
        findings = []
    return await _consumer(client, stream, name, records), findings


async def _consumer(client: PravegaClient, stream: StreamName, name: str, records: Sequence[CutRecord]) -> Consumer:
    try:
        lag = await lag_after(client, stream, records)
    except (NotFoundError, InvalidStreamCutError) as error:
        return Consumer(stream, name, records, None, unknown=str(error))
    return Consumer(stream, name, records, lag.size, loss=lag.loss)


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream and its consumers; `described` is None if the stream is gone, though it may have had consumers."""

    name: StreamName
    described: StreamTable | None
    subscribers: Sequence[str]
    consumers: Sequence[Consumer]


async def stream_of(client: PravegaClient, name: StreamName) -> Stream:
    """A stream as it is now.

    Raises:
        LedgerError: this release cannot read a record of a consumer.
        PravegaError: the cluster does not answer.
    """
    consumers = await consumers_of(client, name.scope, name)
    try:
        described = await PravegaCatalog(client).describe(name)
        subscribers = await client.subscribers(name)
    except StreamNotFoundError:
        return Stream(name, None, (), consumers)
    return Stream(name, described, subscribers, consumers)


def scaling_in_words(policy: ScalingPolicy) -> str:
    """A scaling policy in words."""
    if policy.kind is ScalingType.FIXED:
        return f"fixed, {counted(policy.min_segments, 'segment')}"
    unit = "events" if policy.kind is ScalingType.EVENT_RATE else "KB"
    at_least = counted(policy.min_segments, "segment")
    return f"a segment over {policy.target_rate:,} {unit}/s is split into {policy.factor}; at least {at_least}"


def retention_in_words(policy: RetentionPolicy) -> str:
    """A retention policy in words."""
    if policy.kind is RetentionType.NONE:
        return "all data stays"
    least = f"at least {_limit(policy.kind, policy.minimum)} stay"
    return least if policy.maximum == NO_LIMIT else f"{least}, and at most {_limit(policy.kind, policy.maximum)}"


def _limit(kind: RetentionType, limit: int) -> str:
    if kind is RetentionType.SIZE:
        return f"{limit:,} bytes"
    try:
        return str(limit * MILLISECOND)
    except OverflowError:  # other clients set longer times than Python has
        return f"{limit:,} ms"


def counted(number: int, noun: str) -> str:
    """A number with its noun, such as `1 segment` or `1,200 segments`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


@dataclass(frozen=True, slots=True)
class Bar:
    """One interval, in units of the picture; `state` is the CSS class of its colour."""

    x: float
    y: float
    width: float
    state: str
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Bars from `first` on the left to `last` on the right."""

    bars: Sequence[Bar]
    first: datetime
    last: datetime
    width: float
    height: float
    thick: float = _THICK


def picture_of(records: Sequence[CutRecord], now: datetime | None = None) -> Picture:
    """Draw intervals, at least one; an interval that waits lasts until `now`, by default this moment."""
    first, last = span(records, now)

    def position(moment: datetime) -> float:
        return round(_WIDTH * ((moment - first) / (last - first)), 1)

    bars = []
    for row, record in enumerate(records):
        start, end = position(record.recorded_at), position(over_at(record) or last)
        bars.append(
            Bar(
                x=min(start, _WIDTH - _THINNEST),
                y=row * _LINE,
                width=max(end - start, _THINNEST),
                state=record.state.value.replace(" ", "-"),
                text=f"{record.interval}: {record.state.value}",
            )
        )
    return Picture(bars, first, last, _WIDTH, len(records) * _LINE)
