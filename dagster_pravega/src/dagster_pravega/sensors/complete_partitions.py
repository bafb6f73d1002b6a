"""A sensor that runs the partitions of time that a stream has all events of.

Its cursor is the last partition that it has asked for, so that each is asked for once.
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

# Runs of one check, or those of one window of time; the next check continues.
_MOST: Final = 50


def complete_partitions_sensor(
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
    """A sensor that asks for a run of each partition, in their order, once its event times are complete.

    It starts with the last partition that ends before the stream's first watermark, or with it: nobody noted times
    before, so this one is read from the head, which its materialization says. Partitions before that one are not
    requested, which the tick's log says; materialize them by hand if the stream has events of their times.

    Of partitions with two dimensions, all that have a window of time are requested once it is complete: those that the
    other dimension has then. While it has none, ticks are skipped, and say so. A key that is added later has the
    windows from then on; backfill it for those before.

    While the cluster is away, a tick is skipped after 20 s at most, with the host and the error as the reason.

    Args:
        name: of the sensor.
        stream: `scope/stream`, whose writers note event times.
        partitions_def: the partitions of the assets: of time, or of two dimensions, one of which is of time.
        target: the assets, or a job of them, as `dagster.sensor` takes them.
        resource_key: of the `PravegaResource`.
        unit: what the stream's writers count times in: `ns`, `us`, `ms` or `s`.
        minimum_interval_seconds: between two checks.
        default_status: whether it runs without being started.

    Raises:
        ConfigurationError: no dimension of the partitions is of time, or both are; there is no such unit.
    """
    counted = TimeUnit.parse(unit)
    windows = windows_of(partitions_def)

    description = f"Runs each partition when {stream} is complete up to its end."

    @cluster_sensor(name, target, resource_key, minimum_interval_seconds, default_status, description)
    def complete_partitions(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        resource: PravegaResource = getattr(context.resources, resource_key)
        name = resource.stream_name(stream)
        first = _after(windows, context.cursor)
        if first is None:
            return dg.SkipReason(f"{name}: there is no other partition yet")
        others = None
        if isinstance(partitions_def, dg.MultiPartitionsDefinition):
            others = others_of(partitions_def, context.instance)
        if others == []:
            return dg.SkipReason(f"{name}: the dimension beside that of time has no partitions yet")
        most = max(1, _MOST // len(others or [""]))
        try:
            found = ask_in_tick(
                resource,
                partial(_due, stream=name, partitions_def=windows, first=first, unit=counted, most=most),
            )
        except NoWatermarksError as error:
            return dg.SkipReason(str(error))
        if isinstance(found, dg.SkipReason):
            return found
        if found.skipped_to is not None:
            context.log.warning(
                "Partitions from %s to %s are before the first watermark of %s, and are not requested. If it has "
                "events of these times, materialize them by hand: they are read from the head",
                first.start.isoformat(),
                found.skipped_to.isoformat(),
                name,
            )
        if not found.keys:
            return dg.SkipReason(f"{name} is not complete up to the end of another partition")
        keys = [key for window in found.keys for key in keys_of_window(partitions_def, window, others)]
        requests = [dg.RunRequest(run_key=f"{name} {key}", partition_key=key) for key in keys]
        return dg.SensorResult(requests, cursor=found.keys[-1])

    return complete_partitions


@dataclass(frozen=True, slots=True)
class _Found:
    """The keys of the next windows that are complete; those that end at `skipped_to` or before are left out."""

    keys: Sequence[str] = ()
    skipped_to: datetime | None = None


async def _due(
    client: PravegaClient,
    *,
    stream: StreamName,
    partitions_def: dg.TimeWindowPartitionsDefinition,
    first: dg.TimeWindow,
    unit: TimeUnit,
    most: int,
) -> _Found:
    """Two questions, however many partitions there are: where the watermarks begin, and how far they reach."""
    opening = await client.cut_at(stream, first.end, unit=unit)
    begin = first
    if opening.reach is Reach.BEFORE_HISTORY and opening.lower is not None:
        before = partitions_def.get_prev_partition_window(unit.moment(opening.lower))
        begin = first if before is None or before.start < first.start else before
    windows = list(islice(_following(partitions_def, begin), most))
    last = await client.cut_at(stream, windows[-1].end, unit=unit)
    if last.reach is Reach.NOT_YET:
        reached = None if last.lower is None else unit.moment(last.lower)
        windows = [window for window in windows if reached is not None and window.end <= reached]
    keys = [partitions_def.get_partition_keys_in_time_window(window)[0] for window in windows]
    return _Found(keys, None if begin is first or not keys else begin.start)


def _after(partitions_def: dg.TimeWindowPartitionsDefinition, cursor: str | None) -> dg.TimeWindow | None:
    """The partition after the cursor; the first one if the cursor is none of these partitions."""
    if cursor is None or not partitions_def.has_partition_key(cursor):
        return partitions_def.get_first_partition_window()
    return partitions_def.get_next_partition_window(partitions_def.time_window_for_partition_key(cursor).end)


def _following(partitions_def: dg.TimeWindowPartitionsDefinition, first: dg.TimeWindow) -> Iterator[dg.TimeWindow]:
    window: dg.TimeWindow | None = first
    while window is not None:
        yield window
        window = partitions_def.get_next_partition_window(window.end)
