"""The sensor that finds late events, and requests the partitions that they belong to again.

The state is in Pravega, not in the cursor: the ledger of late events has what was found, and an interval is due until a
later claim has its events. A tick that is killed is repeated, and Dagster starts one run for a run key.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import dagster as dg

from aiopravega import PravegaClient, StreamName, blocking
from aiopravega.errors import ConfigurationError
from aiopravega.intervals import OnTruncated
from aiopravega.loop import LoopThread
from dagster_pravega.metadata.rebuild_and_claim import CLAIM_TAG, REBUILD_TAG
from dagster_pravega.metadata.written import GENERATION_KEY
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.sensors.ticks import ask_in_tick, cluster_sensor
from pravega_jobs.identity.names import consumer_of_assets
from pravega_jobs.landing.rules import choice
from pravega_jobs.spark.options import READ_BEFORE

if TYPE_CHECKING:
    from pravega_jobs.late import LateEvents, LateInterval

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
    and once for each claim.

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
        requests = [
            searched.request(context.instance, found.stream, key, each)
            for each in policy.due(found, datetime.now(UTC))
            if (key := keys[each.interval]) is not None
        ]
        reason = None if requests else found.text
        return dg.SensorResult(requests, skip_reason=reason, asset_events=observed)

    return late_events


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


@dataclass(frozen=True, slots=True)
class SearchedAsset:
    """The asset whose partitions are searched, and the consumer that has their intervals."""

    keys: Sequence[dg.AssetKey]
    partitions: dg.TimeWindowPartitionsDefinition
    consumer: str

    @classmethod
    def of(cls, asset: dg.AssetsDefinition, consumer: str | None) -> "SearchedAsset":
        """The asset, checked.

        Raises:
            ConfigurationError: it has no partitions of time, or also has others.
        """
        keys, partitions = sorted(asset.keys), asset.partitions_def
        label = ", ".join(key.to_user_string() for key in keys)
        if not isinstance(partitions, dg.TimeWindowPartitionsDefinition):
            raise ConfigurationError(
                f"{label} has the partitions {partitions}, but late events belong to partitions of time, of one "
                "dimension: claim partitions with two dimensions again by the tag 'pravega/claim'"
            )
        return cls(keys, partitions, consumer or consumer_of_assets(key.to_user_string() for key in keys))

    @property
    def label(self) -> str:
        """The names of the assets."""
        return ", ".join(key.to_user_string() for key in self.keys)

    def key_of(self, since: datetime, until: datetime) -> str | None:
        """The partition with exactly these event times; None: there is none, since the partitions were changed."""
        for key in self.partitions.get_partition_keys_in_time_window(dg.TimeWindow(since, until)):
            window = self.partitions.time_window_for_partition_key(key)
            # Dagster also gives keys of times before the first partition.
            if (window.start, window.end) == (since, until) and self.partitions.has_partition_key(key):
                return str(key)
        return None

    def no_partition(self, interval: str) -> str:
        """A sentence about an interval that `key_of` has no partition for."""
        return f"{interval} is not a partition of {self.label}: it is not requested"

    def request(
        self, instance: dg.DagsterInstance, stream: StreamName, key: str, late: "LateInterval"
    ) -> dg.RunRequest:
        """The run of a partition that also reads its late events: one for each claim.

        Raises:
            ConfigurationError: the assets of the node have different generations.
        """
        run_key = f"{stream} {self.consumer} {late.interval} claim {late.next_claim}"
        return dg.RunRequest(run_key, partition_key=key, tags=self.tags_of(instance, key, late.next_claim))

    def observation(self, key: str, late: Mapping[str, Any]) -> dg.AssetObservation:
        """An observation of the first asset about the late events of a partition."""
        metadata = {f"pravega/late_{name}": late[name] for name in ("events", "new", "first", "last")}
        return dg.AssetObservation(self.keys[0], partition=key, metadata=metadata)

    def tags_of(self, instance: dg.DagsterInstance, key: str, claim: int) -> dict[str, str]:
        """The tags of a run: the number of the claim, and the next generation, if the rows have generations.

        Raises:
            ConfigurationError: the assets of the node have different generations.
        """
        found = {_generation(instance, each, key) for each in self.keys} - {None}
        if len(found) > 1:
            numbers = ", ".join(sorted(map(str, found)))
            raise ConfigurationError(
                f"the assets {self.label} have the generations {numbers} of partition {key}, but one run writes one "
                "generation: materialize them by hand, each with its own 'rebuild' in the run config and the tag "
                f"{CLAIM_TAG!r}: {claim}"
            )
        tags = {CLAIM_TAG: str(claim)}
        for generation in found:
            tags[REBUILD_TAG] = str((generation or 0) + 1)
        return tags


def _generation(instance: dg.DagsterInstance, asset: dg.AssetKey, key: str) -> int | None:
    """The generation in the last materialization of a partition; None: it has none."""
    wanted = dg.AssetRecordsFilter(asset, asset_partitions=[key])
    for record in instance.fetch_materializations(wanted, limit=1).records:
        materialization = record.asset_materialization
        entry = None if materialization is None else materialization.metadata.get(GENERATION_KEY)
        if entry is not None and isinstance(entry.value, int):
            return entry.value
    return None
