"""Which interval of the cut ledger the rows of an input are: a table holds each interval once. Spark is not known here.

A later claim of a partition has all events of the partition, so in a table it is the same interval, with another range:
its rows replace those of the claim before, as a greater generation.
"""

from dataclasses import dataclass
from typing import Final

from aiopravega import StreamCutRange
from aiopravega.errors import ConfigurationError
from dagster_pravega.input_range import InputRange

_WAYS: Final = (
    "Give the asset partitions_def: StreamCutPartitions, partitions of time of a stream whose spec has the option "
    "'event_time', or other partitions whose range the run config names. Or, without partitions, give it "
    "since='last': each run lands the events since the last run"
)


@dataclass(frozen=True, slots=True)
class LandedInterval:
    """An interval of the cut ledger as a table holds it: the consumer, the name and the range."""

    consumer: str
    name: str
    cuts: StreamCutRange


def landed_interval(ranges: InputRange, consumer: str) -> LandedInterval:
    """The interval of the rows that an input reads.

    A later claim of a partition has all events of the partition. In a table it is the same interval with another range:
    its rows replace the rows of the claim before, as a greater generation.

    Args:
        ranges: of the input.
        consumer: of the asset. The ledger has a later claim under a longer name.

    Raises:
        ConfigurationError: the input reads no interval, or several.
    """
    if not ranges.taken:
        raise ConfigurationError(
            f"the range of {ranges.stream} is not an interval of the cut ledger, so no table can hold it once. {_WAYS}"
        )
    record = ranges.record
    if record is None:
        raise ConfigurationError(
            f"{len(ranges.taken)} partitions of {ranges.stream} in one run cannot be separated in a table: give the "
            "asset BackfillPolicy.multi_run(1)"
        )
    owner = record.consumer if ranges.claim == 1 else consumer
    return LandedInterval(owner, record.interval, record.range)
