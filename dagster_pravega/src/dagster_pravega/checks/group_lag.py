"""A check of the lag of a reader group of Java or Flink."""

from typing import Any

from dagster import AssetCheckExecutionContext, AssetCheckResult, AssetChecksDefinition, AssetCheckSeverity, asset_check

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.groups import ReaderGroupDescription
from aiopravega.intervals.conditions.group_condition import GroupCondition, GroupPosition
from dagster_pravega.checks.gates import checked_key
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import LAG_BYTES_KEY
from dagster_pravega.metadata.spec import AssetLike
from dagster_pravega.resources.resource import PravegaResource


def build_reader_group_lag_check(
    asset: AssetLike,
    *,
    group: str,
    warn_bytes: int | None = None,
    error_bytes: int | None = None,
    by: GroupPosition = GroupPosition.READ,
    name: str = "reader_group_lag",
    blocking: bool = False,
    resource_key: str = "pravega",
) -> AssetChecksDefinition:
    """A check of the bytes that a reader group has not read yet, in all of its streams.

    It fails if a limit is exceeded, as a warning or as an error. It also fails, as an error, if retention has removed
    events that the group has not read, and if the group waits for a checkpoint: a group without automatic checkpoints,
    at a scaling. Its metadata are the bytes, the readers, and the last checkpoint.

    Args:
        asset: the asset to check: the stream, or an asset that the group's job makes.
        group: `scope/group`.
        warn_bytes: the most bytes, event headers (8 bytes each) included, without a warning.
        error_bytes: the most bytes without an error.
        by: the position that is used: what the readers have read, or the last checkpoint.
        name: of the check.
        blocking: an error prevents downstream assets from running.
        resource_key: of the `PravegaResource`.

    Raises:
        ConfigurationError: the group is not `scope/group`, or there is no limit.
    """
    of = StreamName.parse(group)
    limits = [
        (severity, GroupCondition(max_lag_bytes=limit, by=by))
        for severity, limit in ((AssetCheckSeverity.ERROR, error_bytes), (AssetCheckSeverity.WARN, warn_bytes))
        if limit is not None
    ]
    if not limits:
        raise ConfigurationError(
            f"the check {name!r} of reader group {of} has no limit, so that it would always pass: give warn_bytes or "
            "error_bytes"
        )

    @asset_check(
        asset=checked_key(asset),
        name=name,
        blocking=blocking,
        description=f"How far is reader group {of} behind its streams?",
        required_resource_keys={resource_key},
    )
    def reader_group_lag(context: AssetCheckExecutionContext) -> AssetCheckResult:
        pravega: PravegaResource = getattr(context.resources, resource_key)
        with failing_for_good():
            client = pravega.client
            described = client.describe_reader_group(of.scope, of.stream)
            severity, wrong = AssetCheckSeverity.ERROR, why_stopped(described)
            for limit_severity, condition in limits:
                if wrong is None:
                    severity, wrong = limit_severity, client.run(condition.unmet(client.asynchronous, described))
        return AssetCheckResult(
            passed=wrong is None,
            severity=severity,
            description=wrong or f"{described.lag_bytes:,} bytes are left",
            metadata=group_metadata(described),
        )

    return reader_group_lag


def why_stopped(described: ReaderGroupDescription) -> str | None:
    """The reason why the group cannot continue; None: it can."""
    if described.needs_checkpoint:
        return (
            "it waits at a scaling, and makes no checkpoints by itself: nothing more is read until somebody makes one, "
            f"for example by: pravega groups checkpoint {described.scope}/{described.name}"
        )
    if any(each.is_truncated for each in described.streams):
        return "retention has removed events that it has not read"
    return None


def group_metadata(described: ReaderGroupDescription) -> dict[str, Any]:
    """Metadata of a reader group: its lag, readers, checkpoint, and cuts."""
    return {
        "pravega/group": f"{described.scope}/{described.name}",
        LAG_BYTES_KEY: described.lag_bytes,
        "pravega/unread_bytes": described.unread_bytes,
        "pravega/readers": list(described.readers),
        "pravega/last_checkpoint": described.last_checkpoint.name if described.last_checkpoint else "",
        "pravega/read": {str(each.stream): each.read.to_text() for each in described.streams},
    }
