"""What an input reads: a stream, its ranges, and the intervals of the cut ledger that they are.

No engine is known here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dagster import DataVersion

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.cuts import SegmentRange
from aiopravega.errors import ConfigurationError, InvalidRangeError
from aiopravega.ledger import CutRecord
from dagster_pravega.metadata.measures import (
    CLAIM_KEY,
    FROM_HEAD_KEY,
    MARKS_KEY,
    WHOLE_KEY,
    Times,
    range_measures,
    segments_table,
    taken_measures,
    versions_of,
)

WantedRange: TypeAlias = tuple[StreamCutRange, Times | None]


@dataclass(frozen=True, slots=True)
class Piece:
    """A range that is read as one; of `times`, only events with `times[0] <= time < times[1]` are wanted.

    `parts` are the ranges of its segments, in the order in which they are read.
    """

    cuts: StreamCutRange
    parts: tuple[SegmentRange, ...]
    times: Times | None = None

    @property
    def size(self) -> int:
        """Bytes, event headers (8 bytes each) included."""
        return sum(part.size for part in self.parts)


@dataclass(frozen=True, slots=True)
class Taken:
    """The interval that a partition of the run is; `finish` records it as done."""

    record: CutRecord
    finish: Callable[[], None] = field(repr=False)
    partition: str | None = None


@dataclass(frozen=True, slots=True)
class InputRange:
    """The ranges of a stream that one input reads, in their order.

    `whole` says that nothing has named a range: it is all of the stream as it was. `marks` is what the watermarks say
    about the ranges. `from_head` says why a range of event times starts at the head, if no watermark is older. `claim`
    is 2 or more if the partition was claimed again.
    """

    stream: StreamName
    pieces: tuple[Piece, ...]
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    taken: tuple[Taken, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)
    whole: bool = False
    from_head: str | None = None
    claim: int = 1

    @property
    def size(self) -> int:
        """Bytes of all ranges, with the headers of the events."""
        return sum(piece.size for piece in self.pieces)

    @property
    def cuts(self) -> StreamCutRange:
        """The range.

        Raises:
            ConfigurationError: partitions that do not touch are read as several.
        """
        if len(self.pieces) != 1:
            raise ConfigurationError(
                f"{len(self.pieces)} ranges of {self.stream} are read, because the partitions do not touch: see pieces"
            )
        return self.pieces[0].cuts

    @property
    def record(self) -> CutRecord | None:
        """What the cut ledger has of the partition, if it is one."""
        return self.taken[0].record if len(self.taken) == 1 else None

    @property
    def data_version(self) -> DataVersion:
        """The version of data that depends on nothing but these ranges."""
        return versions_of([(piece.cuts, piece.times) for piece in self.pieces])

    def finish(self) -> None:
        """Record all intervals as done."""
        for each in self.taken:
            each.finish()

    def metadata(self) -> dict[str, Any]:
        """What a materialization says about it: interval, event times, segments, watermarks, cuts.

        Pages keep this order, and are as wide as the texts of the cuts: what people read comes first.
        """
        found = taken_measures(self.record)
        found |= segments_table([part for piece in self.pieces for part in piece.parts])
        if self.whole:
            found[WHOLE_KEY] = True
        if self.marks:
            found[MARKS_KEY] = dict(self.marks)
        if self.from_head is not None:
            found[FROM_HEAD_KEY] = self.from_head
        if self.claim > 1:
            found[CLAIM_KEY] = self.claim
        return found | range_measures([piece.cuts for piece in self.pieces], several=len(self.taken) > 1)


def joined(client: PravegaClient, ranges: Sequence[WantedRange]) -> list[WantedRange]:
    """The ranges, in their order; those that touch become one.

    Ranges touch where one starts at the cut where the other ended. Of event times, the times have to touch: their
    ranges overlap on purpose, and a reader keeps the events of the times.

    Raises:
        PravegaError: the cluster cannot be asked.
    """
    found: list[WantedRange] = []
    for wanted in ranges:
        one = _joined(client, found[-1], wanted) if found else None
        if one is None:
            found.append(wanted)
        else:
            found[-1] = one
    return found


def _joined(client: PravegaClient, last: WantedRange, following: WantedRange) -> WantedRange | None:
    (cuts, times), (next_cuts, next_times) = last, following
    if times is None or next_times is None:
        if times is not next_times or cuts.end != next_cuts.start:
            return None
        return StreamCutRange(cuts.start, next_cuts.end), None
    if times[1] != next_times[0]:
        return None
    try:
        return client.union(cuts, next_cuts), (times[0], next_times[1])
    except InvalidRangeError:  # there is a gap between them
        return None
