"""The sensor that requests a run when a reader group of Java or Flink has moved, and has little left to read."""

import hashlib
import json
from typing import Any

import dagster as dg

from aiopravega import PravegaClient, StreamName
from aiopravega.groups import ReaderGroupDescription
from aiopravega.intervals.conditions.group_condition import GroupCondition, GroupPosition
from dagster_pravega.sensors.ticks import ask_in_tick, cluster_sensor

GROUP_KEY = "pravega/group"


def build_reader_group_sensor(
    name: str,
    *,
    group: str,
    target: Any,
    max_lag_bytes: int,
    by: GroupPosition = GroupPosition.CHECKPOINT,
    resource_key: str = "pravega",
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """A sensor that requests a run each time a reader group has moved and has at most so many bytes left.

    The cursor is JSON: the group's positions by stream, as of the last run. If the cluster does not answer, a tick is
    skipped after 20 s at most, with the host and the error as the reason.

    Args:
        name: of the sensor.
        group: `scope/group`.
        target: the assets, or a job of them, as `dagster.sensor` takes them.
        max_lag_bytes: bytes, event headers (8 bytes each) included, that may be left in all streams of the group.
        by: the position that is used: the last checkpoint, or what the readers have read.
        resource_key: of the `PravegaResource`.
        minimum_interval_seconds: between two ticks.
        default_status: `RUNNING` starts the sensor when the code location is loaded.

    Raises:
        ConfigurationError: the group is not `scope/group`.
    """
    of = StreamName.parse(group)
    condition = GroupCondition(max_lag_bytes=max_lag_bytes, by=by)

    async def ask(client: PravegaClient) -> tuple[ReaderGroupDescription, str | None]:
        described = await client.describe_reader_group(of.scope, of.stream)
        return described, await condition.unmet(client, described)

    description = f"Runs when reader group {of} has moved and has at most {max_lag_bytes:,} bytes left."

    @cluster_sensor(name, target, {resource_key}, minimum_interval_seconds, default_status, description)
    def reader_group(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        answer = ask_in_tick(getattr(context.resources, resource_key), ask)
        if isinstance(answer, dg.SkipReason):
            return answer
        described, unmet = answer
        if unmet is not None:
            return dg.SkipReason(f"reader group {of}: {unmet}")
        cursor = json.dumps(_cuts(described, by), sort_keys=True)
        if cursor == context.cursor:
            return dg.SkipReason(f"reader group {of} has not moved since the last run")
        key = hashlib.sha256(cursor.encode()).hexdigest()
        # A group that is reset to an earlier position gets a new run, so the key has the cursor before.
        before = hashlib.sha256((context.cursor or "").encode()).hexdigest()
        return dg.SensorResult([dg.RunRequest(f"{key}-{before}", tags={GROUP_KEY: str(of)})], cursor=cursor)

    return reader_group


def _cuts(described: ReaderGroupDescription, by: GroupPosition) -> dict[str, str]:
    cuts = {
        each.stream: each.checkpoint if by is GroupPosition.CHECKPOINT else each.read
        for each in described.need_streams()
    }
    # Equal cuts may have their segments in another order, so they are sorted: the texts are compared.
    return {
        str(stream): json.dumps({str(segment): offset for segment, offset in sorted(cut.positions.items())})
        for stream, cut in cuts.items()
        if cut is not None
    }
