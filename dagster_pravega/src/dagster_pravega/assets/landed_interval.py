"""Which interval of the cut ledger the rows of an input are: a table holds each interval once. Spark is not known here.

A later claim of a partition has all events of the partition, so in a table it is the same interval, with another range:
its rows replace those of the claim before, as a greater generation.
"""

from dataclasses import dataclass
from typing import Final

from aiopravega import StreamCutRange
from aiopravega.errors import ConfigurationError
from dagster_pravega.partitions.input_range import InputRange

_WAYS: Final = (
    "Give the asset partitions_def: StreamCutPartitions, partitions of time of a stream whose spec has the option "
    "'event_time', or others whose range the run config names. Or, without partitions, give it "
    "since='last': each run lands what came since the last one"
)


@dataclass(frozen=True, slots=True)
class LandedInterval:
    """The name of the interval, whose it is, and its range."""

    consumer: str
    name: str
    cuts: StreamCutRange


def landed_interval(found: InputRange, consumer: str) -> LandedInterval:
    """The interval whose rows an input reads.

    Args:
        found: what the input reads.
        consumer: as whom the input takes intervals. The ledger has a later claim under a longer name.

    Raises:
        ConfigurationError: there is none, or there are several.
    """
    if not found.taken:
        raise ConfigurationError(
            f"the range of {found.stream} is not an interval of the cut ledger, so no table can hold it once. {_WAYS}"
        )
    record = found.record
    if record is None:
        raise ConfigurationError(
            f"{len(found.taken)} partitions of {found.stream} in one run cannot be separated in a table: give the "
            "asset BackfillPolicy.multi_run(1)"
        )
    owner = record.consumer if found.claim == 1 else consumer
    return LandedInterval(owner, record.interval, record.range)
