"""What the page shows of a stream: what it holds, how it is configured, and who reads it."""

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
    """A stream and its consumers; `described` is None if it is not there, though it may have had consumers."""

    name: StreamName
    described: StreamTable | None
    subscribers: Sequence[str]
    consumers: Sequence[Consumer]


async def stream_of(client: PravegaClient, name: StreamName) -> Stream:
    """A stream as it is now.

    Raises:
        LedgerError: a record of a consumer is not one that this release reads.
        PravegaError: the cluster cannot be asked.
    """
    consumers = await consumers_of(client, name.scope, name)
    try:
        described = await PravegaCatalog(client).describe(name)
        subscribers = await client.subscribers(name)
    except StreamNotFoundError:
        return Stream(name, None, (), consumers)
    return Stream(name, described, subscribers, consumers)


def scaling_in_words(policy: ScalingPolicy) -> str:
    """What decides about the number of segments."""
    if policy.kind is ScalingType.FIXED:
        return f"fixed, {counted(policy.min_segments, 'segment')}"
    what = "events" if policy.kind is ScalingType.EVENT_RATE else "KB"
    at_least = counted(policy.min_segments, "segment")
    return f"a segment over {policy.target_rate:,} {what}/s is split into {policy.factor}; at least {at_least}"


def retention_in_words(policy: RetentionPolicy) -> str:
    """How long data stays."""
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


def counted(number: int, what: str) -> str:
    """A number of things, such as `1 segment` or `1,200 segments`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
