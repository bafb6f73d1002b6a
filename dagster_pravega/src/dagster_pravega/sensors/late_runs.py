"""The runs of partitions with late events: each with its claim and generation, or several neighbours in one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import dagster as dg
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError
from dagster_pravega.metadata.rebuild_and_claim import CLAIM_TAG, REBUILD_TAG
from dagster_pravega.metadata.written import GENERATION_KEY
from pravega_jobs.identity.names import consumer_of_assets

if TYPE_CHECKING:
    from pravega_jobs.late import LateInterval

# A partition's key, and its late events.
LatePartition: TypeAlias = "tuple[str, LateInterval]"


@dataclass(frozen=True, slots=True)
class SearchedAsset:
    """The asset whose partitions are searched, and the consumer that has their intervals.

    `most_in_run` is the largest number of partitions in a run; None: any number.
    """

    keys: Sequence[dg.AssetKey]
    partitions: dg.TimeWindowPartitionsDefinition
    consumer: str
    most_in_run: int | None = 1

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
        policy = asset.backfill_policy
        return cls(
            keys,
            partitions,
            consumer or consumer_of_assets(key.to_user_string() for key in keys),
            1 if policy is None else policy.max_partitions_per_run,
        )

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
        [request] = self.requests(instance, stream, [(key, late)])
        return request

    def requests(
        self, instance: dg.DagsterInstance, stream: StreamName, late: Sequence[LatePartition]
    ) -> list[dg.RunRequest]:
        """The runs of partitions that also read their late events: of those that follow each other as few as can be.

        Raises:
            ConfigurationError: the assets of the node have different generations.
        """
        runs: list[tuple[list[LatePartition], dict[str, str]]] = []
        for key, each in sorted(late, key=lambda found: found[1].since):
            tags = self.tags_of(instance, key, each.next_claim)
            last, last_tags = runs[-1] if runs else ([], {})
            follows = last and last[-1][1].until == each.since and tags == last_tags
            if follows and (self.most_in_run is None or len(last) < self.most_in_run):
                last.append((key, each))
            else:
                runs.append(([(key, each)], tags))
        return [self._run(stream, run, tags) for run, tags in runs]

    def _run(self, stream: StreamName, late: Sequence[LatePartition], tags: Mapping[str, str]) -> dg.RunRequest:
        (key, first), (last_key, last) = late[0], late[-1]
        intervals = first.interval if len(late) == 1 else f"{first.interval} to {last.interval}"
        run_key = f"{stream} {self.consumer} {intervals} claim {first.next_claim}"
        if len(late) == 1:
            return dg.RunRequest(run_key, partition_key=key, tags=tags)
        span = {ASSET_PARTITION_RANGE_START_TAG: key, ASSET_PARTITION_RANGE_END_TAG: last_key}
        return dg.RunRequest(run_key, tags={**tags, **span})

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
