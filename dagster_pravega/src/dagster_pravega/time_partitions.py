"""The event times of partitions: those of time, and those of several dimensions of which one is time.

What another dimension stands for, such as a region, only the asset knows: it selects its rows. Here it makes a consumer
of its own, so that the partitions of one day are intervals of their own, and each is done by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dagster import MultiPartitionsDefinition, PartitionsDefinition, TimeWindow, TimeWindowPartitionsDefinition

from aiopravega.errors import ConfigurationError

_WAY: Final = "give the asset BackfillPolicy.multi_run(1), or backfill one partition of the other dimension at a time"


@dataclass(frozen=True, slots=True)
class TimePartition:
    """A partition of the times `window.start <= time < window.end`; `others` says the rest of its key, or is empty."""

    window: TimeWindow
    others: str = ""

    def consumer(self, name: str) -> str:
        """Under which name the cut ledger has it: that of the asset, and the rest of the key."""
        return f"{name} {self.others}" if self.others else name


def is_of_time(definition: PartitionsDefinition | None) -> bool:
    """Whether each partition has one window of time; not so if two dimensions are of time."""
    if isinstance(definition, MultiPartitionsDefinition):
        return len(_time_dimensions(definition)) == 1
    return isinstance(definition, TimeWindowPartitionsDefinition)


def time_partitions(definition: PartitionsDefinition | None, keys: Sequence[str]) -> list[TimePartition]:
    """The event times of partitions, in the order of their keys; none: they are not of time.

    Raises:
        ConfigurationError: several partitions of one run have the same times, so that their events would be read twice.
    """
    if isinstance(definition, TimeWindowPartitionsDefinition):
        return [TimePartition(definition.time_window_for_partition_key(key)) for key in keys]
    if not isinstance(definition, MultiPartitionsDefinition) or not is_of_time(definition):
        return []
    found = [_of_dimensions(definition, key) for key in keys]
    others = sorted({partition.others for partition in found})
    if len(others) > 1:
        raise ConfigurationError(
            f"partitions of {', '.join(others)} in one run would read the events of the same times twice: {_WAY}"
        )
    return found


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
