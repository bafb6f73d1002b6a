"""The mapping between partitions with events of the same times: of recorded ranges, and of windows of time.

The times of a range are in the key of its partition, so the mapping asks no server. Dagster's webserver and daemon do
not have this package, and take mappings of Dagster's own only. They see `AllPartitionMapping` instead, which loses no
dependency. Runs, and sensors of code locations such as that of `build_automation_sensor`, use the mapping itself.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import dagster as dg
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.partitions.mapping import AllPartitionMapping, UpstreamPartitionsResult
from dagster._core.definitions.partitions.subset import PartitionsSubset
from dagster._serdes import whitelist_for_serdes
from dagster_shared.serdes.serdes import NamedTupleSerializer

from aiopravega.errors import ConfigurationError
from dagster_pravega.metadata.cut_partitions import Span, StreamCutPartitions, times_in

if TYPE_CHECKING:
    from dagster._core.instance import DynamicPartitionsStore

_ALWAYS: Final[Span] = (None, None)
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)


class _AsAllPartitions(NamedTupleSerializer["EventTimePartitionMapping"]):
    """Stores the mapping as one that every process of Dagster has."""

    def get_storage_name(self) -> str:
        """The class of Dagster that stands for the mapping."""
        return AllPartitionMapping.__name__


@whitelist_for_serdes(serializer=_AsAllPartitions)
class EventTimePartitionMapping(AllPartitionMapping):
    """Maps partitions to those that may have events of the same times: ranges to windows of time, or to ranges.

    Both sides are `StreamCutPartitions` with `ahead`, or partitions of time, and at least one is the former:
    `AssetDep(ranges, partition_mapping=EventTimePartitionMapping())`. A range whose times have no bound, because no
    watermark shows it, is mapped to all that lie on that side. Windows that are not partitions yet are left out.

    Dagster's pages and its daemon take each partition to depend on all. So let `build_automation_sensor` evaluate the
    conditions of assets with this mapping.
    """

    def validate_partition_mapping(
        self,
        upstream_partitions_def: dg.PartitionsDefinition,
        downstream_partitions_def: dg.PartitionsDefinition | None,
    ) -> None:
        """Check that the mapping can be used between two definitions; called by Dagster.

        Raises:
            ConfigurationError: keys of one of them have no times, or no side has ranges.
        """
        sides = (upstream_partitions_def, downstream_partitions_def)
        for side in sides:
            if isinstance(side, StreamCutPartitions) and side.ahead is None:
                raise ConfigurationError(
                    f"the partitions of {side.stream} for {side.consumer!r} have no event times: give their "
                    "StreamCutPartitions `ahead`, and the sensor the same definition"
                )
            if not isinstance(side, StreamCutPartitions | dg.TimeWindowPartitionsDefinition):
                raise ConfigurationError(
                    f"{type(side).__name__} has no event times: EventTimePartitionMapping is between "
                    "StreamCutPartitions and partitions of time"
                )
        if not any(isinstance(side, StreamCutPartitions) for side in sides):
            raise ConfigurationError("both sides are partitions of time: use dagster.TimeWindowPartitionMapping")

    def get_upstream_mapped_partitions_result_for_partitions(
        self,
        downstream_partitions_subset: PartitionsSubset | None,
        downstream_partitions_def: dg.PartitionsDefinition | None,
        upstream_partitions_def: dg.PartitionsDefinition,
        current_time: datetime | None = None,
        dynamic_partitions_store: "DynamicPartitionsStore | None" = None,
    ) -> UpstreamPartitionsResult:
        """The upstream partitions that may have events of the same times; called by Dagster."""
        with partition_loading_context(current_time, dynamic_partitions_store):
            found = _same_times(downstream_partitions_subset, downstream_partitions_def, upstream_partitions_def)
            return UpstreamPartitionsResult(
                partitions_subset=upstream_partitions_def.subset_with_partition_keys(found),
                required_but_nonexistent_subset=upstream_partitions_def.empty_subset(),
            )

    def get_downstream_partitions_for_partitions(
        self,
        upstream_partitions_subset: PartitionsSubset,
        upstream_partitions_def: dg.PartitionsDefinition,
        downstream_partitions_def: dg.PartitionsDefinition,
        current_time: datetime | None = None,
        dynamic_partitions_store: "DynamicPartitionsStore | None" = None,
    ) -> PartitionsSubset:
        """The downstream partitions that may have events of the same times; called by Dagster."""
        with partition_loading_context(current_time, dynamic_partitions_store):
            found = _same_times(upstream_partitions_subset, upstream_partitions_def, downstream_partitions_def)
            return downstream_partitions_def.subset_with_partition_keys(found)

    @property
    def description(self) -> str:
        """The mapping as Dagster's pages show it."""
        return "Each partition depends on those that may have events of the same times."


def _same_times(
    of: PartitionsSubset | None, definition: dg.PartitionsDefinition | None, other: dg.PartitionsDefinition
) -> list[str]:
    """The keys of another definition whose times overlap the times of some partitions."""
    if of is None or definition is None:
        return list(other.get_partition_keys())
    spans = _united(_span(definition, key) for key in of.get_partition_keys())
    if isinstance(other, dg.TimeWindowPartitionsDefinition):
        return list(dict.fromkeys(key for span in spans for key in _windows_in(other, span)))
    return [key for key in other.get_partition_keys() if any(_overlap(_bounds(times_in(key)), span) for span in spans)]


def _span(definition: dg.PartitionsDefinition, key: str) -> Span:
    if isinstance(definition, dg.TimeWindowPartitionsDefinition):
        window = definition.time_window_for_partition_key(key)
        return window.start, window.end
    return times_in(key)


def _bounds(span: Span) -> tuple[datetime, datetime]:
    return span[0] or _FIRST, span[1] or _LAST


def _united(spans: Iterable[Span]) -> list[tuple[datetime, datetime]]:
    """Spans in the order of time, those that touch as one: a subset has thousands of keys, and few gaps."""
    united: list[tuple[datetime, datetime]] = []
    for since, until in sorted(map(_bounds, spans)):
        if united and since <= united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], until))
        else:
            united.append((since, until))
    return united


def _overlap(one: tuple[datetime, datetime], other: tuple[datetime, datetime]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _windows_in(definition: dg.TimeWindowPartitionsDefinition, span: tuple[datetime, datetime]) -> Sequence[str]:
    """The keys of the windows that overlap a span, and are partitions now."""
    first, last = definition.get_first_partition_window(), definition.get_last_partition_window()
    if first is None or last is None or not _overlap(span, (first.start, last.end)):
        return []
    key = definition.get_partition_key_for_timestamp(max(span[0], first.start).timestamp())
    begin = definition.time_window_for_partition_key(key).start
    wanted = dg.TimeWindow(max(begin, first.start), min(span[1], last.end))
    keys = definition.get_partition_keys_in_time_window(wanted)
    # Partitions of cron schedules may leave times out, so the first one may end before the span.
    return [key for key in keys if _overlap(_bounds(_span(definition, key)), span)]
