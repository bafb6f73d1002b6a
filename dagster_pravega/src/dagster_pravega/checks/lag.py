"""A check of a consumer's lag."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from dagster import AssetCheckExecutionContext, AssetCheckResult, AssetChecksDefinition, AssetCheckSeverity, asset_check

from aiopravega import StreamName
from aiopravega.blocking.intervals import lag_of
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.reports.lag import Lag
from dagster_pravega.checks.gates import checked_key
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import CONSUMER_KEY, LAG_BYTES_KEY, LAG_SECONDS_KEY
from dagster_pravega.metadata.spec import CUTS_KEY, STREAM_KEY, AssetLike
from dagster_pravega.resources.resource import PravegaResource

_NOT_KNOWN = "not known"


def build_stream_lag_check(
    asset: AssetLike,
    *,
    stream: str,
    consumer: str,
    warn_bytes: int | None = None,
    error_bytes: int | None = None,
    warn_events: int | None = None,
    error_events: int | None = None,
    warn_after: timedelta | None = None,
    error_after: timedelta | None = None,
    name: str = "stream_lag",
    blocking: bool = False,
    resource_key: str = "pravega",
) -> AssetChecksDefinition:
    """A check of a consumer's lag: the range from the end of its done intervals, by the cut ledger, to the tail.

    It fails if a limit is exceeded, as a warning or as an error. It also fails, as an error, if events were removed
    from the stream before the consumer has processed them. Its metadata are the cuts, bytes, events and seconds of the
    lag, and the intervals that are recorded and not done. Events are read to be counted, up to one more than the
    greatest limit of events; without such a limit they are not counted.

    Args:
        asset: the asset to check: the stream, or an asset that the consumer makes.
        stream: `scope/stream`.
        consumer: its name in the cut ledger: of `StreamCutPartitions`, of a task of Airflow (`dag/task`), or
            `dagster/` and the key of an asset with partitions of time.
        warn_bytes: the most bytes, event headers (8 bytes each) included, without a warning.
        error_bytes: the most bytes without an error.
        warn_events: the most events without a warning.
        error_events: the most events without an error.
        warn_after: the longest time without a finished interval, while events wait, without a warning.
        error_after: the same, without an error.
        name: of the check.
        blocking: an error prevents downstream assets from running.
        resource_key: of the `PravegaResource`.

    Raises:
        ConfigurationError: the stream is not `scope/stream`, or there is no limit.
    """
    of = StreamName.parse(stream)
    limits = [
        _Limit(AssetCheckSeverity.ERROR, error_bytes, error_events, error_after),
        _Limit(AssetCheckSeverity.WARN, warn_bytes, warn_events, warn_after),
    ]
    if not any(limit.is_set for limit in limits):
        raise ConfigurationError(
            f"the lag check {name!r} of {of} has no limit, so that it would always pass: give warn_bytes, error_bytes, "
            "warn_events, error_events, warn_after or error_after"
        )
    counted = [limit.events for limit in limits if limit.events is not None]
    count_to = max(counted) + 1 if counted else 0

    @asset_check(
        asset=checked_key(asset),
        name=name,
        blocking=blocking,
        description=f"How far is {consumer!r} behind {of}?",
        required_resource_keys={resource_key},
    )
    def stream_lag(context: AssetCheckExecutionContext) -> AssetCheckResult:
        pravega: PravegaResource = getattr(context.resources, resource_key)
        with failing_for_good():
            client = pravega.client
            lag = lag_of(client, of, consumer, count_to=count_to)
        severity, exceeded = _judge(lag, limits)
        return AssetCheckResult(
            passed=not exceeded,
            severity=severity,
            description="; ".join(exceeded) or f"{consumer!r} is {lag.size:,} bytes behind {of}",
            metadata={STREAM_KEY: str(of), CONSUMER_KEY: consumer, **_metadata(lag)},
        )

    return stream_lag


class _Limit:
    """The limits of one severity."""

    def __init__(
        self, severity: AssetCheckSeverity, size: int | None, events: int | None, time: timedelta | None
    ) -> None:
        self.severity, self.size, self.events, self.time = severity, size, events, time

    @property
    def is_set(self) -> bool:
        """True if at least one limit is set."""
        return any(each is not None for each in (self.size, self.events, self.time))

    def exceeded_by(self, lag: Lag) -> list[str]:
        """The limits that a lag exceeds, as texts."""
        return lag.exceeds(self.size, self.events, self.time)


def _judge(lag: Lag, limits: Sequence[_Limit]) -> tuple[AssetCheckSeverity, list[str]]:
    """The severity, and the texts of what is wrong; limits of errors come first."""
    if lag.loss is not None:
        return AssetCheckSeverity.ERROR, [lag.loss]
    for limit in limits:
        exceeded = limit.exceeded_by(lag)
        if exceeded:
            return limit.severity, exceeded
    return AssetCheckSeverity.WARN, []


def _metadata(lag: Lag) -> dict[str, Any]:
    return {
        CUTS_KEY: lag.range.to_json(),
        LAG_BYTES_KEY: lag.size,
        **({"pravega/lag_events": _count(lag)} if lag.counted_to else {}),
        LAG_SECONDS_KEY: _NOT_KNOWN if lag.time is None else lag.time.total_seconds(),
        "pravega/waiting_intervals": [record.interval for record in lag.waiting],
    }


def _count(lag: Lag) -> int | str:
    return lag.events if lag.events < lag.counted_to else lag.counted
