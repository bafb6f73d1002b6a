"""A check of how fresh the events of a stream are, or those that a reader group has read, by their own times."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from dagster import AssetCheckExecutionContext, AssetCheckResult, AssetChecksDefinition, AssetCheckSeverity, asset_check

from aiopravega import StreamName, TimeUnit
from aiopravega.errors import BeforeHistoryError, ConfigurationError, NoWatermarksError
from aiopravega.intervals.conditions.group_condition import GroupPosition
from aiopravega.intervals.reports.freshness import Freshness, freshness_of, group_freshness_of
from dagster_pravega.checks.gates import AnAsset, checked_key
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.spec import STREAM_KEY
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.sensors.group_sensor import GROUP_KEY

_AGE_KEY = "pravega/watermark_age_seconds"
_UNTIL_KEY = "pravega/complete_until"
_NOTED_KEY = "pravega/noted_until"


def build_stream_freshness_check(
    asset: AnAsset,
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
    """A check of how fresh the events of a stream are, by their own times: the age of its last watermark.

    It fails if the time up to which the stream is complete lies further back than a limit. It also fails, as an error,
    if nobody has noted event times, if the stream is sealed, and if that time lies further in the future than a limit:
    then the unit is wrong, or a clock. With `group`, it is the last watermark that a reader group of Java or Flink has
    passed: how fresh is what it makes? No event is read. Its metadata are the age in seconds, the time up to which the
    stream is complete, and how far its writers are.

    Args:
        asset: whose check it is: that of the stream, or one that is derived from it.
        stream: `scope/stream`.
        warn_after: the greatest age without a warning.
        error_after: the greatest age without an error.
        group: `scope/group` that reads the stream; None: the stream itself.
        by: which position of the group counts: what its readers have read, or the last checkpoint.
        unit: what the stream's writers count times in: `ns`, `us`, `ms` or `s`.
        name: of the check.
        blocking: whether an error holds back what follows.
        resource_key: of the `PravegaResource`.

    Raises:
        ConfigurationError: stream or group are not `scope/name`, the unit is none, or there is no limit.
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
            f"the freshness check {name!r} of {of} has no limit, so that it would pass always: give warn_after or "
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
        found, wrong = None, None
        with failing_for_good():
            client = pravega.client
            try:
                if read_by is None:
                    found = client.run(freshness_of(client.asynchronous, of, unit=counted))
                else:
                    found = client.run(group_freshness_of(client.asynchronous, read_by, of, by=by, unit=counted))
            except (NoWatermarksError, BeforeHistoryError) as error:
                wrong = str(error)
        severity = AssetCheckSeverity.ERROR
        if found is not None:
            severity, wrong = _judge(found, limits)
        return AssetCheckResult(
            passed=wrong is None,
            severity=severity,
            description=wrong or f"{what} is complete up to {_text(found)}",
            metadata={
                STREAM_KEY: str(of),
                **({} if read_by is None else {GROUP_KEY: str(read_by)}),
                **_metadata(found),
            },
        )

    return stream_freshness


def _judge(
    found: Freshness, limits: Sequence[tuple[AssetCheckSeverity, timedelta]]
) -> tuple[AssetCheckSeverity, str | None]:
    age = found.age
    if age is None:
        return AssetCheckSeverity.ERROR, "the stream is sealed: no event will come any more"
    if -age > max(limit for _, limit in limits):
        return AssetCheckSeverity.ERROR, (
            f"it is complete up to {_text(found)}, which lies in the future: the unit of its times is wrong, or a clock"
        )
    for severity, limit in limits:
        if age > limit:
            return severity, f"it is complete up to {_text(found)} only, which is more than {limit} ago"
    return AssetCheckSeverity.WARN, None


def _text(found: Freshness | None) -> str:
    until = found and found.complete_until
    return until.isoformat(timespec="seconds") if until else "its end"


def _metadata(found: Freshness | None) -> dict[str, Any]:
    if found is None or found.complete_until is None or found.noted_until is None or found.age is None:
        return {}
    return {
        _AGE_KEY: found.age.total_seconds(),
        _UNTIL_KEY: found.complete_until.isoformat(),
        _NOTED_KEY: found.noted_until.isoformat(),
    }
