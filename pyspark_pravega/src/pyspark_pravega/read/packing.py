"""Packing of small pieces of segments into tasks, since the start of a task costs more than to read a megabyte.

As in Spark's sources of small files, each piece costs its bytes and the time to open it, and a task gets consecutive
pieces, up to a limit. A large piece has one task.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from pyspark.sql.datasource import InputPartition

from pyspark_pravega.read.parallelism import tasks_at_a_time
from pyspark_pravega.read.plan import LEAST_BYTES, SegmentPiece, SplitPolicy

# The bytes that are read in the time that it takes to open a segment: a request and its answer.
_OPENING: Final = 128 * 1024
# More would take longer to read than a task takes to begin.
_MOST: Final = 16 * 1024 * 1024


class ReadPartition(InputPartition):
    """The pieces that one task reads; it carries no credentials."""

    def __init__(self, pieces: Iterable[SegmentPiece]) -> None:
        self.pieces = tuple(pieces)
        super().__init__(self.pieces)


def pack(pieces: Sequence[SegmentPiece], split: SplitPolicy) -> list[ReadPartition]:
    """The tasks of a job, in the order of the pieces: as many as Spark can run at a time, if there are enough bytes.

    The option `split_bytes` is the limit instead, so that the same range gives the same tasks on any number of cores.
    """
    if split.split_bytes == 0:
        return [ReadPartition([piece]) for piece in pieces]
    costs = [_OPENING + piece.part.size for piece in pieces]
    limit = min(split.split_bytes or _MOST, _MOST)
    if split.min_partitions or not split.split_bytes:
        limit = min(limit, max(sum(costs) // (split.min_partitions or tasks_at_a_time()) + _OPENING, LEAST_BYTES))
    packed: list[ReadPartition] = []
    together: list[SegmentPiece] = []
    total = 0
    for piece, cost in zip(pieces, costs, strict=True):
        if together and total + cost > limit:
            packed.append(ReadPartition(together))
            together, total = [], 0
        together.append(piece)
        total += cost
    if together:
        packed.append(ReadPartition(together))
    return packed
