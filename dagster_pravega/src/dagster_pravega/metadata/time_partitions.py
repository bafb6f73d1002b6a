"""The event times of partitions: of partitions of time, and of partitions with one dimension of time.

A key of the other dimension, such as a region, has a meaning for the asset only, which selects its rows. Each key has
its own consumer in the cut ledger, so that the partitions of one day are separate intervals, done one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dagster import (
    DagsterInstance,
    MultiPartitionKey,
    MultiPartitionsDefinition,
    PartitionsDefinition,
    TimeWindow,
    TimeWindowPartitionsDefinition,
)

from aiopravega.errors import ConfigurationError

_WAY: Final = "give the asset BackfillPolicy.multi_run(1), or backfill one partition of the other dimension at a time"


@dataclass(frozen=True, slots=True)
class TimePartition:
    """A partition of the times `window.start <= time < window.end`; `others` is the rest of its key, or empty."""

    window: TimeWindow
    others: str = ""


def is_of_time(definition: PartitionsDefinition | None) -> bool:
    """Return True if each partition has exactly one window of time: not two dimensions of time."""
    if isinstance(definition, MultiPartitionsDefinition):
        return len(_time_dimensions(definition)) == 1
    return isinstance(definition, TimeWindowPartitionsDefinition)


def time_partitions(definition: PartitionsDefinition | None, keys: Sequence[str]) -> list[TimePartition]:
    """The event times of partitions, in the order of their keys; empty if the partitions are not of time.

    Raises:
        ConfigurationError: several partitions of one run have the same times, so that their events would be read twice.
    """
    if isinstance(definition, TimeWindowPartitionsDefinition):
        return [TimePartition(definition.time_window_for_partition_key(key)) for key in keys]
    if not isinstance(definition, MultiPartitionsDefinition) or not is_of_time(definition):
        return []
    partitions = [_of_dimensions(definition, key) for key in keys]
    others = sorted({partition.others for partition in partitions})
    if len(others) > 1:
        raise ConfigurationError(
            f"partitions of {', '.join(others)} in one run would read the events of the same times twice: {_WAY}"
        )
    return partitions


def windows_of(definition: PartitionsDefinition) -> TimeWindowPartitionsDefinition:
    """The partitions of time in a definition: the definition itself, or its dimension of time.

    Raises:
        ConfigurationError: no dimension is of time, or both are.
    """
    if isinstance(definition, TimeWindowPartitionsDefinition):
        return definition
    if isinstance(definition, MultiPartitionsDefinition) and is_of_time(definition):
        for dimension in definition.partitions_defs:
            if isinstance(dimension.partitions_def, TimeWindowPartitionsDefinition):
                return dimension.partitions_def
    raise ConfigurationError(
        f"{definition} has no windows of time to wait for, or two: give partitions of time, or a "
        "MultiPartitionsDefinition with one dimension of time"
    )


def others_of(definition: MultiPartitionsDefinition, instance: DagsterInstance) -> list[str]:
    """The present keys of the dimension that is not of time."""
    [of_time] = _time_dimensions(definition)
    [other] = [each.partitions_def for each in definition.partitions_defs if each.name != of_time]
    return list(other.get_partition_keys(dynamic_partitions_store=instance))


def keys_of_window(definition: PartitionsDefinition, window: str, others: Sequence[str] | None) -> list[str]:
    """The keys of the partitions with a window of time: one for each key of the other dimension."""
    if others is None or not isinstance(definition, MultiPartitionsDefinition):
        return [window]
    [of_time] = _time_dimensions(definition)
    [other] = [each.name for each in definition.partitions_defs if each.name != of_time]
    return [str(MultiPartitionKey({of_time: window, other: key})) for key in others]


def _time_dimensions(definition: MultiPartitionsDefinition) -> list[str]:
    return [
        dimension.name
        for dimension in definition.partitions_defs
        if isinstance(dimension.partitions_def, TimeWindowPartitionsDefinition)
    ]


def _of_dimensions(definition: MultiPartitionsDefinition, key: str) -> TimePartition:
    [of_time] = _time_dimensions(definition)
    keys = definition.get_partition_key_from_str(key).keys_by_dimension
    others = " ".join(f"{name}={value}" for name, value in sorted(keys.items()) if name != of_time)
    return TimePartition(definition.time_window_for_partition_key(key), others)
