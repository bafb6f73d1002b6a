"""From ranges of streams to pieces of their segments; batches and micro-batches plan alike."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import SegmentRange, StreamCutRange
from pyspark_pravega.read.filters import Pushed
from pyspark_pravega.read.parallelism import tasks_at_a_time

# A task costs some 20 ms in any case: time in which it could read several of these.
LEAST_BYTES: Final = 1024 * 1024
# What is lost when a task fails and is tried again.
_MOST_BYTES: Final = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SplitPolicy:
    """How segments are split.

    Args:
        split_bytes: the size of a piece; None leaves it to the number of tasks, 0 forbids to split.
        min_partitions: how many tasks there are to be at least, if the range has so many megabytes; None stands for
            as many as can run at a time.
    """

    split_bytes: int | None = None
    min_partitions: int | None = None

    def pieces(self, sizes: Sequence[int]) -> list[int]:
        """Into how many pieces ranges of these sizes (in bytes, none empty) are split."""
        if self.split_bytes == 0 or not sizes:
            return [1] * len(sizes)
        if self.split_bytes is not None:
            counts = [-(-size // self.split_bytes) for size in sizes]
            return self._at_least(self.min_partitions or 1, sizes, counts)
        wanted = self.min_partitions or tasks_at_a_time()
        share = min(max(sum(sizes) / wanted, LEAST_BYTES), _MOST_BYTES)
        # Rounded, so that segments of nearly the same size are not split for the sake of a few bytes.
        return self._at_least(wanted, sizes, [max(1, round(size / share)) for size in sizes])

    @staticmethod
    def _at_least(wanted: int, sizes: Sequence[int], counts: list[int]) -> list[int]:
        """Split where the pieces are largest until there are enough, or none is worth it."""
        largest = [(-size / count, index) for index, (size, count) in enumerate(zip(sizes, counts, strict=True))]
        heapq.heapify(largest)
        for _ in range(wanted - sum(counts)):
            _, index = largest[0]
            if sizes[index] < (counts[index] + 1) * LEAST_BYTES:
                break
            counts[index] += 1
            heapq.heapreplace(largest, (-sizes[index] / counts[index], index))
        return counts


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a segment's range.

    Args:
        part: what is read.
        whole: the range that was split, whose start and end lie between events for certain.
        times: what the watermarks say about the batch, in microseconds; see `pyspark_pravega.read.time_columns`.
    """

    part: SegmentRange
    whole: SegmentRange
    times: tuple[int | None, int | None] = (None, None)


def plan(
    client: PravegaClient, ranges: Sequence[StreamCutRange], split: SplitPolicy, pushed: Pushed | None = None
) -> list[Piece]:
    """What a job reads: checked against the streams, split, in the order of the ranges.

    Args:
        client: of the cluster.
        ranges: between resolved cuts, one for each stream.
        split: how segments are split.
        pushed: filters that let pieces go unread.

    Raises:
        StreamNotFoundError: there is no such stream.
        StreamTruncatedError: retention or a truncation removed a part of a range.
        InvalidRangeError: an end lies before its start, or beyond the tail.
        InvalidStreamCutError: a cut does not fit its stream's segments.
        PravegaError: the cluster cannot be reached, or refuses.
    """
    filters = pushed or Pushed()
    parts = filters.segments([part for wanted in ranges for part in client.plan(wanted)])
    counts = dict(zip(parts, split.pieces([part.size for part in parts]), strict=True))
    wholes = {part.segment: part for part in parts}
    pieces = [piece for piece in client.split_segments(counts) if filters.may_have_rows(piece)]
    return [Piece(piece, wholes[piece.segment]) for piece in pieces]
