"""A stream on the page: its data, its configuration, its subscribers and its consumers."""

from collections.abc import Sequence
from dataclasses import dataclass

from aiopravega import PravegaClient, StreamName
from aiopravega.catalog import PravegaCatalog, StreamTable
from aiopravega.control import RetentionPolicy, ScalingPolicy
from aiopravega.control.policies import MILLISECOND, NO_LIMIT, RetentionType, ScalingType
from aiopravega.errors import StreamNotFoundError
from airflow_pravega.page.consumers import Consumer, consumers_of


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
