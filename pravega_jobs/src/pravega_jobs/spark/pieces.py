"""Several ranges of a stream as one DataFrame, such as the partitions of a job, with a count of their events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Protocol

from aiopravega.config import PravegaConfig
from aiopravega.cuts import StreamCutRange
from aiopravega.names import StreamName
from pravega_jobs.spark.frames import RangeCount, load_counted, load_range
from pravega_jobs.spark.options import interval_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class RangePiece(Protocol):
    """A range to read: its cuts, its bytes with event headers, and the event times to take."""

    @property
    def cuts(self) -> StreamCutRange:
        """The range."""

    @property
    def size(self) -> int:
        """Bytes, event headers (8 bytes each) included."""

    @property
    def times(self) -> tuple[datetime, datetime] | None:
        """Only events with `times[0] <= time < times[1]`, with zones; None: all events."""


@dataclass(frozen=True, slots=True)
class SumOfCounts:
    """The events of several ranges that are read together."""

    counts: Sequence[RangeCount]

    def events(self) -> int | None:
        """The sum of the events; None: a range was not read whole."""
        found = [count.events() for count in self.counts]
        return None if None in found else sum(number for number in found if number is not None)


def load_pieces(
    spark: "SparkSession",
    config: PravegaConfig,
    stream: StreamName,
    pieces: Sequence[RangePiece],
    options: Mapping[str, str],
) -> "DataFrame":
    """The events of at least one range. `options` are as for `load_range`."""
    frames = [load_range(spark, config, stream, piece.cuts, _with_times(options, piece)) for piece in pieces]
    return _united(frames)


def load_pieces_counted(
    spark: "SparkSession",
    config: PravegaConfig,
    stream: StreamName,
    pieces: Sequence[RangePiece],
    options: Mapping[str, str],
) -> "tuple[DataFrame, SumOfCounts]":
    """The same as `load_pieces`, with the count of the events, which the frame's first action counts."""
    loaded = [
        load_counted(spark, config, stream, piece.cuts, _with_times(options, piece), piece.size) for piece in pieces
    ]
    return _united([frame for frame, _ in loaded]), SumOfCounts([count for _, count in loaded])


def _with_times(options: Mapping[str, str], piece: RangePiece) -> dict[str, str]:
    if piece.times is None:
        return dict(options)
    return {**options, **interval_options(*(time.isoformat() for time in piece.times))}


def _united(frames: "Sequence[DataFrame]") -> "DataFrame":
    return reduce(lambda one, other: one.union(other), frames)
