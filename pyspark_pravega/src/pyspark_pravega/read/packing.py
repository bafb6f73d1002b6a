"""Small pieces of segments share a task: to begin a task costs more than to read a megabyte.

As Spark's own sources do it for small files: each piece costs its bytes and what it takes to open it, and a task gets
pieces that follow one another, up to a limit. Large pieces have tasks of their own.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from pyspark.sql.datasource import InputPartition

from pyspark_pravega.read.parallelism import tasks_at_a_time
from pyspark_pravega.read.plan import LEAST_BYTES, Piece, SplitPolicy

# The bytes that are read in the time that it takes to open a segment: a request and its answer.
_OPENING: Final = 128 * 1024
# More would take longer to read than a task takes to begin.
_MOST: Final = 16 * 1024 * 1024


class PiecesPartition(InputPartition):
    """What one task reads, piece by piece; it carries no credentials."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self.pieces = tuple(pieces)
        super().__init__(self.pieces)


def pack(pieces: Sequence[Piece], split: SplitPolicy) -> list[PiecesPartition]:
    """The tasks of a job, in the order of the pieces: as many as Spark can run at a time, if there is work for them.

    With `split_bytes` that is the limit, whatever the cores are, so that the same range gives the same tasks anywhere.
    """
    if split.split_bytes == 0:
        return [PiecesPartition([piece]) for piece in pieces]
    costs = [_OPENING + piece.part.size for piece in pieces]
    limit = min(split.split_bytes or _MOST, _MOST)
    if split.min_partitions or not split.split_bytes:
        limit = min(limit, max(sum(costs) // (split.min_partitions or tasks_at_a_time()) + _OPENING, LEAST_BYTES))
    packed: list[PiecesPartition] = []
    together: list[Piece] = []
    total = 0
    for piece, cost in zip(pieces, costs, strict=True):
        if together and total + cost > limit:
            packed.append(PiecesPartition(together))
            together, total = [], 0
        together.append(piece)
        total += cost
    if together:
        packed.append(PiecesPartition(together))
    return packed
