"""A check of the partitions of time of an asset: each has to be there soon after the last event time that it can have.

It judges by event times. Dagster's own policies judge when something was materialized, whatever its partition.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from aiopravega import PravegaClient, StreamName, TimeUnit
from aiopravega.errors import ConfigurationError, NoWatermarksError
from aiopravega.intervals.reports.freshness import freshness_of
from dagster_pravega.checks.gates import checked_key
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import UNTIL_KEY, table_of
from dagster_pravega.metadata.spec import STREAM_KEY, AssetLike
from dagster_pravega.metadata.time_partitions import keys_of_window, others_of, windows_of
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.sensors.complete_partitions import first_window

_COLUMNS = ("partition", "ended", "hours_ago", "stream")
_MOST_SHOWN = 50
_HOUR = timedelta(hours=1)


def build_partition_freshness_check(
    asset: AssetLike,
    *,
    stream: str,
    partitions_def: dg.PartitionsDefinition,
    warn_after: timedelta | None = None,
    error_after: timedelta | None = None,
    unit: TimeUnit | str = TimeUnit.MS,
    name: str = "partition_freshness",
    blocking: bool = False,
    resource_key: str = "pravega",
) -> dg.AssetChecksDefinition:
    """A check that each partition of time is materialized soon after its end.

    It fails if a partition that ended longer ago than a limit is not materialized, and says of each whether the stream
    is complete up to its end: if so, its run is late or has failed, otherwise its writers are late. It also fails, as
    an error, if no writer has noted event times. Partitions before the first that `build_complete_partitions_sensor`
    would request are not expected. No event is read. Its metadata are the overdue partitions as a table, their number,
    and the end of the last partition before the first that is missing (`pravega/fresh_until`), with its age.

    Args:
        asset: the asset with the partitions.
        stream: `scope/stream` that the asset is made of, whose writers note event times.
        partitions_def: of the asset: of time, or of two dimensions with exactly one of time. A window of time is there
            when all its partitions are.
        warn_after: the longest time from the end of a partition to its materialization without a warning.
        error_after: the same, without an error.
        unit: of the times that the stream's writers note: `ns`, `us`, `ms` or `s`.
        name: of the check.
        blocking: an error prevents downstream assets from running.
        resource_key: of the `PravegaResource`.

    Raises:
        ConfigurationError: the stream is not `scope/stream`, the partitions are not of time, there is no such unit, or
            there is no limit.
    """
    of, windows = StreamName.parse(stream), windows_of(partitions_def)
    counted = TimeUnit.parse(unit) if isinstance(unit, str) else unit
    given = ((dg.AssetCheckSeverity.ERROR, error_after), (dg.AssetCheckSeverity.WARN, warn_after))
    limits = [(severity, limit) for severity, limit in given if limit is not None]
    if not limits:
        raise ConfigurationError(
            f"the freshness check {name!r} of partitions has no limit, so that it would always pass: give warn_after "
            "or error_after"
        )
    key = checked_key(asset)

    @dg.asset_check(
        asset=key,
        name=name,
        blocking=blocking,
        description=f"Is each partition there soon after the last time that {of} can have in it?",
        required_resource_keys={resource_key},
    )
    def partition_freshness(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        pravega: PravegaResource = getattr(context.resources, resource_key)
        others = None
        if isinstance(partitions_def, dg.MultiPartitionsDefinition):
            others = others_of(partitions_def, context.instance)
        there = context.instance.get_materialized_partitions(key)
        with failing_for_good():
            client = pravega.client
            try:
                expected = client.run(_expected(client.asynchronous, of, windows, counted))
            except NoWatermarksError as error:
                return dg.AssetCheckResult(passed=False, description=str(error), metadata={STREAM_KEY: str(of)})
        missing = [
            window for window in expected.windows if not _is_there(partitions_def, _key(windows, window), others, there)
        ]
        return _result(of, windows, expected, missing, limits)

    return partition_freshness


@dataclass(frozen=True, slots=True)
class _Expected:
    """The windows that have ended, and the event time up to which the stream is complete; None: it is sealed."""

    windows: Sequence[dg.TimeWindow]
    complete_until: datetime | None


async def _expected(
    client: PravegaClient, stream: StreamName, windows: dg.TimeWindowPartitionsDefinition, unit: TimeUnit
) -> _Expected:
    until = (await freshness_of(client, stream, unit=unit)).complete_until
    first, last = windows.get_first_partition_window(), windows.get_last_partition_window()
    if first is None or last is None:
        return _Expected([], until)
    begin = await first_window(client, stream, windows, first, unit)
    if isinstance(begin, str):
        return _Expected([], until)
    keys = windows.get_partition_keys_in_time_window(dg.TimeWindow(begin.start, last.end))
    found = [windows.time_window_for_partition_key(key) for key in keys]
    return _Expected([window for window in found if window.end <= datetime.now(UTC)], until)


def _key(windows: dg.TimeWindowPartitionsDefinition, window: dg.TimeWindow) -> str:
    return windows.get_partition_keys_in_time_window(window)[0]


def _is_there(
    definition: dg.PartitionsDefinition, key: str, others: Sequence[str] | None, materialized: Collection[str]
) -> bool:
    return all(each in materialized for each in keys_of_window(definition, key, others))


def _result(
    stream: StreamName,
    windows: dg.TimeWindowPartitionsDefinition,
    expected: _Expected,
    missing: Sequence[dg.TimeWindow],
    limits: Sequence[tuple[dg.AssetCheckSeverity, timedelta]],
) -> dg.AssetCheckResult:
    now = datetime.now(UTC)
    by_limit = [(severity, [each for each in missing if now - each.end > limit]) for severity, limit in limits]
    # Limits of errors come first.
    severity, overdue = next((found for found in by_limit if found[1]), (dg.AssetCheckSeverity.WARN, []))
    fresh_until = missing[0].start if missing else expected.windows[-1].end if expected.windows else None
    until = expected.complete_until
    said = "its end" if until is None else until.isoformat(timespec="seconds")
    description = f"{stream} is complete up to {said}, and no partition is overdue"
    if overdue:
        waiting = sum(until is not None and window.end > until for window in overdue)
        description = (
            f"{len(overdue):,} partitions are overdue, the first is {_key(windows, overdue[0])}: {stream} is not "
            f"complete yet for {waiting:,} of them, and the runs of {len(overdue) - waiting:,} are late or have failed"
        )
    rows = [
        {
            "partition": _key(windows, window),
            "ended": window.end.isoformat(),
            "hours_ago": round((now - window.end) / _HOUR, 1),
            "stream": "complete" if until is None or window.end <= until else f"complete up to {said}",
        }
        for window in overdue[:_MOST_SHOWN]
    ]
    metadata: dict[str, Any] = {STREAM_KEY: str(stream), "pravega/overdue_partitions": len(overdue)}
    if until is not None:
        metadata[UNTIL_KEY] = until.isoformat()
    if fresh_until is not None:
        metadata["pravega/fresh_until"] = fresh_until.isoformat()
        metadata["pravega/partition_age_seconds"] = (now - fresh_until).total_seconds()
    if rows:
        metadata["pravega/overdue"] = table_of(_COLUMNS, rows)
    return dg.AssetCheckResult(passed=not overdue, severity=severity, description=description, metadata=metadata)
