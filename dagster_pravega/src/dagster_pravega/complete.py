"""A sensor that runs the partitions of time that a stream has all events of.

Its cursor is the last partition that it has asked for, so that each is asked for once.
"""

from collections.abc import Sequence
from typing import Any, Final

import dagster as dg

from aiopravega import StreamName, TimeUnit
from aiopravega.errors import NoWatermarksError
from aiopravega.event_time import Reach
from dagster_pravega.resource import PravegaResource

# In one check; the next check continues.
_MOST: Final = 50


def complete_partitions_sensor(
    name: str,
    *,
    stream: str,
    partitions_def: dg.TimeWindowPartitionsDefinition,
    target: Any,
    resource_key: str = "pravega",
    unit: str = TimeUnit.MS.name.lower(),
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """A sensor that asks for a run of each partition, in their order, once its event times are complete.

    Partitions that end before the stream's first watermark are skipped: it is not known whether they are complete.

    Args:
        name: of the sensor.
        stream: `scope/stream`, whose writers note event times.
        partitions_def: the partitions of the assets.
        target: the assets, or a job of them, as `dagster.sensor` takes them.
        resource_key: of the `PravegaResource`.
        unit: what the stream's writers count times in: `ns`, `us`, `ms` or `s`.
        minimum_interval_seconds: between two checks.
        default_status: whether it runs without being started.
    """
    counted = TimeUnit.parse(unit)

    @dg.sensor(
        name=name,
        target=target,
        required_resource_keys={resource_key},
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=f"Runs each partition when {stream} is complete up to its end.",
    )
    def complete_partitions(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        resource: PravegaResource = getattr(context.resources, resource_key)
        try:
            return _look(context, resource, resource.stream_name(stream), partitions_def, counted)
        except NoWatermarksError as error:
            return dg.SkipReason(str(error))

    return complete_partitions


def _look(
    context: dg.SensorEvaluationContext,
    resource: PravegaResource,
    stream: StreamName,
    partitions_def: dg.TimeWindowPartitionsDefinition,
    unit: TimeUnit,
) -> dg.SensorResult | dg.SkipReason:
    keys = _behind(partitions_def.get_partition_keys(), context.cursor)
    requests: list[dg.RunRequest] = []
    cursor = context.cursor
    for key in keys[:_MOST]:
        end = partitions_def.time_window_for_partition_key(key).end
        cut = resource.client.cut_at(stream.scope, stream.stream, end, unit=unit)
        if cut.reach is Reach.NOT_YET:
            break
        cursor = key
        if cut.reach is Reach.BEFORE_HISTORY:
            context.log.warning("Partition %s ends before the first watermark of %s: skipped", key, stream)
            continue
        requests.append(dg.RunRequest(run_key=f"{stream} {key}", partition_key=key))
    if cursor == context.cursor:
        return dg.SkipReason(f"{stream} is not complete up to the end of another partition")
    return dg.SensorResult(requests, cursor=cursor)


def _behind(keys: Sequence[str], cursor: str | None) -> Sequence[str]:
    return keys[keys.index(cursor) + 1 :] if cursor in keys else keys
