"""Plans of reads: from ranges of streams to pieces of their segments, for batches and micro-batches."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import UNBOUNDED, SegmentRange, StreamCutRange
from aiopravega.read.calls import find_range
from pyspark_pravega.read.filters import Pushed
from pyspark_pravega.read.interval import TimeInterval
from pyspark_pravega.read.parallelism import tasks_at_a_time
from pyspark_pravega.read.sources import Source

# A task costs some 20 ms in any case, in which it could read several pieces of this size.
LEAST_BYTES: Final = 1024 * 1024
# The most that is read again when a task fails.
_MOST_BYTES: Final = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SplitPolicy:
    """The rule by which segments are split.

    Args:
        split_bytes: the size of a piece; None leaves it to the number of tasks, 0 forbids to split.
        min_partitions: the fewest tasks, if the range has as many megabytes; None stands for the number of tasks that
            can run at a time.
    """

    split_bytes: int | None = None
    min_partitions: int | None = None

    def pieces(self, sizes: Sequence[int]) -> list[int]:
        """The number of pieces of each range, by the ranges' sizes (in bytes, none empty)."""
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
        """Split the range with the largest pieces until there are enough, or a piece would have too few bytes."""
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
class SegmentPiece:
    """A piece of a segment's range.

    Args:
        part: the range of the piece.
        whole: the range that was split; its start and end lie between events for certain.
        times: bounds of the event times of the batch, in microseconds; see `pyspark_pravega.read.time_columns`.
        gives_rows: False for a piece that is read only to prove that the next one begins between events.
    """

    part: SegmentRange
    whole: SegmentRange
    times: tuple[int | None, int | None] = (None, None)
    gives_rows: bool = True


def plan(
    client: PravegaClient, ranges: Sequence[StreamCutRange], split: SplitPolicy, pushed: Pushed | None = None
) -> list[SegmentPiece]:
    """The pieces that a job reads: checked against the streams, split, in the order of the ranges.

    Args:
        client: a connected client.
        ranges: ranges between resolved cuts, one for each stream.
        split: the rule by which segments are split.
        pushed: filters by which pieces are left out.

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
    pieces = [SegmentPiece(piece, wholes[piece.segment]) for piece in client.split_segments(counts)]
    return needed(pieces, filters)


def needed(pieces: Sequence[SegmentPiece], pushed: Pushed) -> list[SegmentPiece]:
    """The pieces of each segment up to the last that can have fitting rows.

    Only the reader of a piece proves that the next one begins between events. So a piece that cannot have fitting rows
    is read all the same if a later one can: it gives no rows.
    """
    may_have = [pushed.may_have_rows(piece.part) for piece in pieces]
    last = {piece.part.segment: at for at, (piece, may) in enumerate(zip(pieces, may_have, strict=True)) if may}
    return [
        replace(piece, gives_rows=may)
        for at, (piece, may) in enumerate(zip(pieces, may_have, strict=True))
        if at <= last.get(piece.part.segment, -1)
    ]


def range_of(client: PravegaClient, source: Source, interval: TimeInterval | None) -> StreamCutRange:
    """The range of a source with both ends fixed: by its cuts or by event times; by default the whole stream."""
    if interval is not None and source.start is None:
        return interval.range_in(client, source.stream)
    start, end = source.start or UNBOUNDED, source.end or UNBOUNDED
    return client.run(find_range(client.asynchronous, source.stream, start, end))
