"""A check of the age of a stream's newest complete event time, or of what a reader group has read of it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from dagster import AssetCheckExecutionContext, AssetCheckResult, AssetChecksDefinition, AssetCheckSeverity, asset_check

from aiopravega import StreamName, TimeUnit
from aiopravega.blocking.intervals import freshness_of, group_freshness_of
from aiopravega.errors import BeforeHistoryError, ConfigurationError, NoWatermarksError
from aiopravega.intervals.conditions.group_condition import GroupPosition
from aiopravega.intervals.reports.freshness import Freshness
from dagster_pravega.checks.gates import checked_key
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import NOTED_KEY, UNTIL_KEY
from dagster_pravega.metadata.spec import STREAM_KEY, AssetLike
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.sensors.group_sensor import GROUP_KEY

_AGE_KEY = "pravega/watermark_age_seconds"


def build_stream_freshness_check(
    asset: AssetLike,
    *,
    stream: str,
    warn_after: timedelta | None = None,
    error_after: timedelta | None = None,
    group: str | None = None,
    by: GroupPosition = GroupPosition.READ,
    unit: TimeUnit | str = TimeUnit.MS,
    name: str = "stream_freshness",
    blocking: bool = False,
    resource_key: str = "pravega",
) -> AssetChecksDefinition:
    """A check of the age of a stream's last watermark: the event time up to which the stream is complete.

    It fails if that time is further back than a limit. It also fails, as an error, if no writer has noted event times,
    if the stream is sealed, and if that time is further in the future than a limit: then the unit is wrong, or a clock.
    With `group`, the last watermark that a reader group of Java or Flink has passed is checked instead, so the result
    is the age of the data that the group's job makes. No event is read. Its metadata are the age in seconds, the time
    up to which the stream is complete, and the newest time that a writer has noted.

    Args:
        asset: the asset to check: the stream, or an asset derived from it.
        stream: `scope/stream`.
        warn_after: the greatest age without a warning.
        error_after: the greatest age without an error.
        group: `scope/group` that reads the stream; None: the stream itself.
        by: the position of the group that is used: what its readers have read, or the last checkpoint.
        unit: of the times that the stream's writers note: `ns`, `us`, `ms` or `s`.
        name: of the check.
        blocking: an error prevents downstream assets from running.
        resource_key: of the `PravegaResource`.

    Raises:
        ConfigurationError: stream or group are not `scope/name`, there is no such unit, or there is no limit.
    """
    of = StreamName.parse(stream)
    read_by = None if group is None else StreamName.parse(group)
    what = str(of) if read_by is None else f"what reader group {read_by} has read of {of}"
    counted = TimeUnit.parse(unit) if isinstance(unit, str) else unit
    limits = [
        (severity, limit)
        for severity, limit in ((AssetCheckSeverity.ERROR, error_after), (AssetCheckSeverity.WARN, warn_after))
        if limit is not None
    ]
    if not limits:
        raise ConfigurationError(
            f"the freshness check {name!r} of {of} has no limit, so that it would always pass: give warn_after or "
            "error_after"
        )

    @asset_check(
        asset=checked_key(asset),
        name=name,
        blocking=blocking,
        description=f"Up to which event time is {what} complete?",
        required_resource_keys={resource_key},
    )
    def stream_freshness(context: AssetCheckExecutionContext) -> AssetCheckResult:
        pravega: PravegaResource = getattr(context.resources, resource_key)
        freshness, wrong = None, None
        with failing_for_good():
            client = pravega.client
            try:
                if read_by is None:
                    freshness = freshness_of(client, of, unit=counted)
                else:
                    freshness = group_freshness_of(client, read_by, of, by=by, unit=counted)
            except (NoWatermarksError, BeforeHistoryError) as error:
                wrong = str(error)
        severity = AssetCheckSeverity.ERROR
        if freshness is not None:
            severity, wrong = _judge(freshness, limits)
        return AssetCheckResult(
            passed=wrong is None,
            severity=severity,
            description=wrong or f"{what} is complete up to {_text(freshness)}",
            metadata={
                STREAM_KEY: str(of),
                **({} if read_by is None else {GROUP_KEY: str(read_by)}),
                **_metadata(freshness),
            },
        )

    return stream_freshness


def _judge(
    freshness: Freshness, limits: Sequence[tuple[AssetCheckSeverity, timedelta]]
) -> tuple[AssetCheckSeverity, str | None]:
    age = freshness.age
    if age is None:
        return AssetCheckSeverity.ERROR, "the stream is sealed: no event will come any more"
    if -age > max(limit for _, limit in limits):
        return AssetCheckSeverity.ERROR, (
            f"it is complete up to {_text(freshness)}, in the future: the unit of its times is wrong, or a clock"
        )
    for severity, limit in limits:
        if age > limit:
            return severity, f"it is complete up to {_text(freshness)} only, which is more than {limit} ago"
    return AssetCheckSeverity.WARN, None


def _text(freshness: Freshness | None) -> str:
    until = freshness and freshness.complete_until
    return until.isoformat(timespec="seconds") if until else "its end"


def _metadata(freshness: Freshness | None) -> dict[str, Any]:
    if freshness is None or freshness.complete_until is None or freshness.noted_until is None or freshness.age is None:
        return {}
    return {
        _AGE_KEY: freshness.age.total_seconds(),
        UNTIL_KEY: freshness.complete_until.isoformat(),
        NOTED_KEY: freshness.noted_until.isoformat(),
    }
