"""A check of how far a reader group of Java or Flink is behind its streams."""

from typing import Any

from dagster import AssetCheckExecutionContext, AssetCheckResult, AssetChecksDefinition, AssetCheckSeverity, asset_check

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.groups import ReaderGroupDescription
from aiopravega.intervals.conditions.group_condition import GroupCondition, GroupPosition
from dagster_pravega.checks.gates import AnAsset, checked_key
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.resources.resource import PravegaResource


def build_reader_group_lag_check(
    asset: AnAsset,
    *,
    group: str,
    warn_bytes: int | None = None,
    error_bytes: int | None = None,
    by: GroupPosition = GroupPosition.READ,
    name: str = "reader_group_lag",
    blocking: bool = False,
    resource_key: str = "pravega",
) -> AssetChecksDefinition:
    """A check of how many bytes a reader group has left to read, in all of its streams.

    It fails if a limit is exceeded, as a warning or as an error. It also fails, as an error, if retention has removed
    events that the group has not read, and if the group stands still until somebody makes a checkpoint: one without
    automatic checkpoints, at a scaling. Its metadata are the bytes, the readers, and the last checkpoint.

    Args:
        asset: whose check it is: that of the stream, or one that the group's job makes.
        group: `scope/group`.
        warn_bytes: the most bytes, event headers (8 bytes each) included, without a warning.
        error_bytes: the most bytes without an error.
        by: which position counts: what the readers have read, or the last checkpoint.
        name: of the check.
        blocking: whether an error holds back what follows.
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
            f"the check {name!r} of reader group {of} has no limit, so that it would pass always: give warn_bytes or "
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
            found = client.describe_reader_group(of.scope, of.stream)
            severity, wrong = AssetCheckSeverity.ERROR, _stopped(found)
            for limit_severity, condition in limits:
                if wrong is None:
                    severity, wrong = limit_severity, client.run(condition.unmet(client.asynchronous, found))
        return AssetCheckResult(
            passed=wrong is None,
            severity=severity,
            description=wrong or f"{found.lag_bytes:,} bytes are left",
            metadata=_metadata(found),
        )

    return reader_group_lag


def _stopped(found: ReaderGroupDescription) -> str | None:
    """Why the group cannot continue as it is; None: it can."""
    if found.needs_checkpoint:
        return (
            "it waits at a scaling, and makes no checkpoints by itself: nothing more is read until somebody makes one, "
            f"such as by: pravega groups checkpoint {found.scope}/{found.name}"
        )
    if any(each.is_truncated for each in found.streams):
        return "retention has removed events that it has not read"
    return None


def _metadata(found: ReaderGroupDescription) -> dict[str, Any]:
    return {
        "pravega/group": f"{found.scope}/{found.name}",
        "pravega/lag_bytes": found.lag_bytes,
        "pravega/unread_bytes": found.unread_bytes,
        "pravega/readers": list(found.readers),
        "pravega/last_checkpoint": found.last_checkpoint.name if found.last_checkpoint else "",
        "pravega/read": {str(each.stream): each.read.to_text() for each in found.streams},
    }
