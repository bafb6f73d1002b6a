"""The sensor that finds late events, and requests the partitions that they belong to again.

The state is in Pravega: the ledger of late events has what was found, and an interval is due until a later claim has
its events. A tick that is killed is repeated, and Dagster starts one run for a run key. The key of a run of several
partitions names all of them, so the cursor has the partitions that were requested and are still due.
"""

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import dagster as dg

from aiopravega import PravegaClient, StreamName, blocking
from aiopravega.errors import ConfigurationError
from aiopravega.intervals import OnTruncated
from aiopravega.loop import LoopThread
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.sensors.late_runs import SearchedAsset
from dagster_pravega.sensors.ticks import ask_in_tick, cluster_sensor
from pravega_jobs.landing.rules import choice
from pravega_jobs.spark.options import READ_BEFORE

if TYPE_CHECKING:
    from pravega_jobs.late import LateEvents

# Dagster ends a tick after 60 s.
_TICK_SECONDS: Final = 45.0
_MOST_BYTES: Final = 128 * 1024 * 1024
_HOUR: Final = 3600


def build_late_events_sensor(
    name: str,
    *,
    stream: str,
    asset: dg.AssetsDefinition,
    options: Mapping[str, Any],
    late: str,
    late_after_events: int | None = None,
    late_after: timedelta | None = None,
    consumer: str | None = None,
    target: Any = None,
    on_truncated: str = OnTruncated.FAIL.value,
    max_bytes: int = _MOST_BYTES,
    resource_key: str = "pravega",
    minimum_interval_seconds: int = _HOUR,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """A sensor that finds events that came after their partition was read, and requests exactly these partitions again.

    A tick reads what no tick has read before, without Spark, and counts the late events of each partition of event
    times that the asset has read. Each partition with new ones gets an observation of the asset, with their number and
    the pointers to the first and the last one. By the policy, a run of the partition is requested with the tag
    `pravega/claim`, so that it also reads the late events, and with `pravega/rebuild`, if the last materialization has
    a generation, so that the rows are written as the next one. A partition is requested when its last claim is done,
    and once for each claim. Partitions that follow each other are one run, if the backfill policy of the asset has
    several in a run.

    Args:
        name: of the sensor.
        stream: `scope/stream`, whose writers note event times.
        asset: the asset whose partitions of time read the stream.
        options: by which the events are decoded, as in the metadata `pravega/options` of the stream: `decode`,
            `columns` or a schema, and `event_time`.
        late: `"report"` requests nothing; `"rerun"` requests a partition as soon as it has late events; `"collect"`
            requests it when it has enough of them, or after some time.
        late_after_events: with `collect`, the number of late events of a partition that is enough.
        late_after: with `collect`, the longest time from the first late event that was found to the request.
        consumer: the name of the asset's input in the cut ledger; None: that of an asset with one input of the stream.
        target: the assets, or a job of them, to run, as `dagster.sensor` takes them; None: the asset.
        on_truncated: the rule if events that no tick has read are gone: `"fail"`, or `"skip"` them.
        max_bytes: bytes that a tick reads at most, about; the next tick continues.
        resource_key: of the `PravegaResource`.
        minimum_interval_seconds: between two ticks.
        default_status: `RUNNING` starts the sensor when the code location is loaded.

    Raises:
        ConfigurationError: the policy or the options cannot work, the asset has no partitions of time, or the extra
            `arrow` is not installed.
    """
    need_arrow()
    from pravega_jobs.late import LatePolicy
    from pravega_jobs.late.reading import check_options

    policy = LatePolicy.of(late, late_after_events, late_after)
    decoding = {
        str(each).lower(): str(value) for each, value in options.items() if str(each).lower() not in READ_BEFORE
    }
    check_options(decoding)
    truncated = choice(on_truncated, OnTruncated, "on_truncated")
    searched = SearchedAsset.of(asset, consumer)
    description = f"Finds late events of {stream} for {searched.consumer}: {policy.late.value}."

    @cluster_sensor(
        name,
        [asset] if target is None else target,
        {resource_key},
        minimum_interval_seconds,
        default_status,
        description,
    )
    def late_events(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        resource: PravegaResource = getattr(context.resources, resource_key)
        found = _search(resource, resource.stream_name(stream), searched.consumer, decoding, max_bytes, truncated, name)
        if isinstance(found, dg.SkipReason):
            return found
        if found.lost is not None:
            context.log.warning(found.lost)
        context.log.info(found.text)
        keys = {each.interval: searched.key_of(each.since, each.until) for each in found.intervals}
        for interval in [interval for interval, key in keys.items() if key is None]:
            context.log.warning("%s", searched.no_partition(interval))
        observed = [
            searched.observation(key, each.to_json())
            for each in found.intervals
            if each.new and (key := keys[each.interval])
        ]
        due = [(key, each) for each in policy.due(found, datetime.now(UTC)) if (key := keys[each.interval])]
        asked = requested_before(context.cursor)
        new = [(key, each) for key, each in due if asked.get(each.interval) != each.next_claim]
        requests = searched.requests(context.instance, found.stream, new)
        cursor = None
        if searched.most_in_run != 1:
            cursor = json.dumps({each.interval: each.next_claim for _, each in due})
        reason = None if requests else found.text
        return dg.SensorResult(requests, skip_reason=reason, cursor=cursor, asset_events=observed)

    return late_events


def requested_before(cursor: str | None) -> dict[str, Any]:
    """The next claims of the intervals whose runs were requested; a cursor that is not understood starts again."""
    try:
        found = json.loads(cursor or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def need_arrow() -> None:
    """Check that the extra `arrow` is installed.

    Raises:
        ConfigurationError: it is not.
    """
    if find_spec("pyarrow") is None:
        raise ConfigurationError("the search for late events needs Arrow: pip install 'dagster-pravega[arrow]'")


def _search(
    resource: PravegaResource,
    stream: StreamName,
    consumer: str,
    options: Mapping[str, Any],
    max_bytes: int,
    on_truncated: OnTruncated,
    name: str,
) -> "LateEvents | dg.SkipReason":
    from pravega_jobs.late import find_late_events

    async def ask(client: PravegaClient) -> "LateEvents":
        face = blocking.PravegaClient.of(LoopThread.shared(), client)
        return await asyncio.to_thread(
            find_late_events,
            face,
            stream,
            consumer,
            max_bytes=max_bytes,
            on_truncated=on_truncated,
            by=f"dagster sensor {name}",
            **options,
        )

    return ask_in_tick(resource, ask, _TICK_SECONDS)
