"""A sensor that runs each partition of time when the stream has all events of that time.

Its cursor is the last partition that it has requested, so that each is requested once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final

import dagster as dg

from aiopravega import PravegaClient, StreamName, TimeUnit
from aiopravega.errors import NoWatermarksError
from aiopravega.event_time import Reach
from dagster_pravega.metadata.time_partitions import keys_of_window, others_of, windows_of
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.sensors.ticks import ask_in_tick, cluster_sensor

# Runs of one tick, unless one window of time has more; the next tick continues.
_MOST: Final = 50


def build_complete_partitions_sensor(
    name: str,
    *,
    stream: str,
    partitions_def: dg.PartitionsDefinition,
    target: Any,
    resource_key: str = "pravega",
    unit: str = TimeUnit.MS.name.lower(),
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """A sensor that requests a run of each partition, in their order, once its event times are complete.

    The first partition is the last one that ends at or before the stream's first watermark. No writer noted times
    before that watermark, so this partition is read from the head, and its materialization says so. Earlier partitions
    are not requested, and the tick's log says so; materialize them by hand if the stream has events of their times.
    While the stream has no watermark, or while all partitions end before the first one, ticks are skipped with the
    reason.

    Partitions with two dimensions are requested for each complete window of time: one run for each key that the other
    dimension has then. While the other dimension has no keys, ticks are skipped with this as the reason. A key that is
    added later gets the windows from then on; backfill it for earlier windows.

    If the cluster does not answer, a tick is skipped after 20 s at most, with the host and the error as the reason.

    Args:
        name: of the sensor.
        stream: `scope/stream`, whose writers note event times.
        partitions_def: the partitions of the assets: of time, or of two dimensions with exactly one of time.
        target: the assets, or a job of them, as `dagster.sensor` takes them.
        resource_key: of the `PravegaResource`.
        unit: of the times that the stream's writers note: `ns`, `us`, `ms` or `s`.
        minimum_interval_seconds: between two ticks.
        default_status: `RUNNING` starts the sensor when the code location is loaded.

    Raises:
        ConfigurationError: no dimension of the partitions is of time, or both are; there is no such unit.
    """
    counted = TimeUnit.parse(unit)
    windows = windows_of(partitions_def)

    description = f"Runs each partition when {stream} is complete up to its end."

    @cluster_sensor(name, target, {resource_key}, minimum_interval_seconds, default_status, description)
    def complete_partitions(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        resource: PravegaResource = getattr(context.resources, resource_key)
        name = resource.stream_name(stream)
        first = _after(windows, context.cursor)
        if first is None:
            return dg.SkipReason(f"{name}: there is no further partition yet")
        others = None
        if isinstance(partitions_def, dg.MultiPartitionsDefinition):
            others = others_of(partitions_def, context.instance)
        if others == []:
            return dg.SkipReason(f"{name}: the dimension beside that of time has no partitions yet")
        most = max(1, _MOST // len(others or [""]))
        try:
            due = ask_in_tick(
                resource,
                partial(_due, stream=name, partitions_def=windows, first=first, unit=counted, most=most),
            )
        except NoWatermarksError as error:
            return dg.SkipReason(str(error))
        if isinstance(due, dg.SkipReason):
            return due
        if due.reason is not None:
            return dg.SkipReason(due.reason)
        if due.skipped_to is not None:
            context.log.warning(
                "Partitions from %s to %s are before the first watermark of %s, and are not requested. If it has "
                "events of these times, materialize them by hand: they are read from the head",
                first.start.isoformat(),
                due.skipped_to.isoformat(),
                name,
            )
        if not due.keys:
            return dg.SkipReason(f"{name} is not complete up to the end of the next partition")
        keys = [key for window in due.keys for key in keys_of_window(partitions_def, window, others)]
        requests = [dg.RunRequest(run_key=f"{name} {key}", partition_key=key) for key in keys]
        return dg.SensorResult(requests, cursor=due.keys[-1])

    return complete_partitions


@dataclass(frozen=True, slots=True)
class _DueWindows:
    """The keys of the next windows that are complete. Windows that end at `skipped_to` or before are left out.

    `reason` says why there are none, if it is not that the stream has to be written further.
    """

    keys: Sequence[str] = ()
    skipped_to: datetime | None = None
    reason: str | None = None


async def _due(
    client: PravegaClient,
    *,
    stream: StreamName,
    partitions_def: dg.TimeWindowPartitionsDefinition,
    first: dg.TimeWindow,
    unit: TimeUnit,
    most: int,
) -> _DueWindows:
    """Find the next complete windows with two requests: for the first watermark, and for the end of the last window."""
    begin = await first_window(client, stream, partitions_def, first, unit)
    if isinstance(begin, str):
        return _DueWindows(reason=begin)
    windows = list(islice(_following(partitions_def, begin), most))
    closing = await client.cut_at(stream, windows[-1].end, unit=unit)
    if closing.reach is Reach.NOT_YET:
        reached = None if closing.lower is None else unit.moment(closing.lower)
        windows = [window for window in windows if reached is not None and window.end <= reached]
    keys = [partitions_def.get_partition_keys_in_time_window(window)[0] for window in windows]
    return _DueWindows(keys, None if begin is first or not keys else begin.start)


async def first_window(
    client: PravegaClient,
    stream: StreamName,
    partitions_def: dg.TimeWindowPartitionsDefinition,
    first: dg.TimeWindow,
    unit: TimeUnit,
) -> dg.TimeWindow | str:
    """The first window of time from `first` on that is requested, or a sentence why there is none.

    If the stream's history begins later, it is the last window that ends at or before the first watermark: no writer
    noted times before it, and this window is read from the head.

    Raises:
        NoWatermarksError: no writer has noted a time.
    """
    opening = await client.cut_at(stream, first.end, unit=unit)
    if opening.reach is not Reach.BEFORE_HISTORY or opening.lower is None:
        return first
    mark = unit.moment(opening.lower)
    before, last = partitions_def.get_prev_partition_window(mark), partitions_def.get_last_partition_window()
    if before is not None and last is not None and before.end > last.end:  # Dagster has no such partition
        return (
            f"{stream}: all partitions end before its first watermark, at {mark.isoformat()}. The first "
            f"that is requested ends at {before.end.isoformat()}, and is not there. If the stream has events of "
            "earlier times, materialize their partitions by hand: they are read from the head"
        )
    return first if before is None or before.start < first.start else before


def _after(partitions_def: dg.TimeWindowPartitionsDefinition, cursor: str | None) -> dg.TimeWindow | None:
    """The partition after the cursor; the first partition if the cursor does not name one."""
    if cursor is None or not partitions_def.has_partition_key(cursor):
        return partitions_def.get_first_partition_window()
    return partitions_def.get_next_partition_window(partitions_def.time_window_for_partition_key(cursor).end)


def _following(partitions_def: dg.TimeWindowPartitionsDefinition, first: dg.TimeWindow) -> Iterator[dg.TimeWindow]:
    window: dg.TimeWindow | None = first
    while window is not None:
        yield window
        window = partitions_def.get_next_partition_window(window.end)
