"""Consumers on the page, and the streams that they read.

Of a consumer there are its intervals, its lag, the findings about its records, and a picture: a line for each interval,
from the record of its range to its last change. Of a stream there are its data, its configuration and its subscribers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from aiopravega import PravegaClient, StreamName
from aiopravega.catalog import PravegaCatalog, StreamTable
from aiopravega.control import RetentionPolicy, ScalingPolicy
from aiopravega.control.policies import MILLISECOND, NO_LIMIT, RetentionType, ScalingType
from aiopravega.errors import ConfigurationError, NotFoundError, StreamNotFoundError, TableNotFoundError
from aiopravega.intervals.reports.picture import over_at, span
from aiopravega.intervals.reports.verify import IntervalFinding, verify
from aiopravega.ledger import CutRecord
from airflow_pravega.page.overview import Consumer, Overview, Wanted, overview_of, with_lag

_WIDTH: Final = 1000.0
_LINE: Final = 9.0
_THICK: Final = 7.0
# The least width, for an interval that has ended at once.
_THINNEST: Final = 3.0


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
    return await with_lag(client, Consumer(stream, name, records, len(records))), findings


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream and a page of its consumers; `described` is None if the stream is gone."""

    name: StreamName
    described: StreamTable | None
    subscribers: Sequence[str]
    overview: Overview


async def stream_of(client: PravegaClient, name: StreamName, wanted: Wanted) -> Stream:
    """A stream as it is now, with the consumers that are wanted.

    Raises:
        PravegaError: the cluster does not answer.
    """
    overview = await overview_of(client, name.scope, wanted, name)
    try:
        described = await PravegaCatalog(client).describe(name)
        subscribers = await client.subscribers(name)
    except StreamNotFoundError:
        return Stream(name, None, (), overview)
    return Stream(name, described, subscribers, overview)


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
