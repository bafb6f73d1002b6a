"""From ranges of streams to the pieces that tasks read; batches and micro-batches plan alike."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import SegmentRange, StreamCutRange


@dataclass(frozen=True, slots=True)
class SplitPolicy:
    """How segments are split; see `ReadOptions` for both fields."""

    split_bytes: int | None = None
    min_partitions: int | None = None


class SegmentPartition(InputPartition):
    """A range of one segment; it carries no credentials."""

    def __init__(self, part: SegmentRange) -> None:
        super().__init__(part)
        self.part = part
        # What the watermarks say of the batch, in microseconds; see `pyspark_pravega.read.times`.
        self.times: tuple[int | None, int | None] = (None, None)


def plan(client: PravegaClient, ranges: Sequence[StreamCutRange], split: SplitPolicy) -> list[SegmentPartition]:
    """What the tasks of a job read: checked against the streams, split, in the order of the ranges.

    Args:
        client: of the cluster.
        ranges: between resolved cuts, one for each stream.
        split: how segments are split.

    Raises:
        StreamNotFoundError: there is no such stream.
        StreamTruncatedError: retention or a truncation removed a part of a range.
        InvalidRangeError: an end lies before its start, or beyond the tail.
        InvalidStreamCutError: a cut does not fit its stream's segments.
        PravegaError: the cluster cannot be reached, or refuses.
    """
    parts = [part for wanted in ranges for part in client.plan(wanted)]
    return [SegmentPartition(part) for part in parts]
