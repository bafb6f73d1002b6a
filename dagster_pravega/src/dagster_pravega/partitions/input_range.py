"""Ranges of an input: a stream, its pieces to read, and the intervals of the cut ledger that they belong to.

This module does not use an engine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dagster import DataVersion

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import CutLedger, PravegaClient
from aiopravega.cuts import SegmentRange
from aiopravega.errors import ConfigurationError, InvalidRangeError
from aiopravega.ledger import CutRecord, Sink
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
from pravega_jobs.identity.sinks import declare_sink

WantedRange: TypeAlias = tuple[StreamCutRange, Times | None]


@dataclass(frozen=True, slots=True)
class InputPiece:
    """A range that is read as one; with `times`, only the events with `times[0] <= time < times[1]`.

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
class TakenInterval:
    """An interval of the cut ledger that a step processes, with its partition's key.

    `client` gives the client: the resource may have opened another one since the interval was taken.
    """

    record: CutRecord
    client: Callable[[], PravegaClient] = field(repr=False)
    by: str
    partition: str | None = None

    def declare(self, part: str, sink: Sink) -> None:
        """Record into what a part of the step's work is written, before it is written.

        Raises:
            LedgerError: another run has taken the range over.
        """
        client, ledger = self.client(), self._ledger.asynchronous
        client.run(declare_sink(client.asynchronous, ledger, self.record.identity, part, sink))

    def finish(self, part: str | None = None) -> bool:
        """Record that the interval, or a part of the step's work, is done; True if all of it is."""
        return self._ledger.finish(self.record.identity, self.record.range, by=self.by, part=part).is_done

    @property
    def _ledger(self) -> CutLedger:
        return self.client().cut_ledger(self.record.stream.scope)


@dataclass(frozen=True, slots=True)
class InputRange:
    """The ranges of a stream that one input reads, in their order.

    `whole` is true if no range was named: the input reads all of the stream. `marks` are the watermarks at the ends of
    the ranges. `from_head` is the reason why a range of event times starts at the head, if no watermark is older.
    `claim` is 2 or more if the partition was claimed again.
    """

    stream: StreamName
    pieces: tuple[InputPiece, ...]
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    taken: tuple[TakenInterval, ...] = ()
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
        """The range, if there is exactly one.

        Raises:
            ConfigurationError: there are several, of partitions that do not touch.
        """
        if len(self.pieces) != 1:
            raise ConfigurationError(
                f"{len(self.pieces)} ranges of {self.stream} are read, because the partitions do not touch: see pieces"
            )
        return self.pieces[0].cuts

    @property
    def record(self) -> CutRecord | None:
        """The partition's record in the cut ledger, if the input reads exactly one."""
        return self.taken[0].record if len(self.taken) == 1 else None

    @property
    def data_version(self) -> DataVersion:
        """The data version of an asset that depends on these ranges only."""
        return versions_of([(piece.cuts, piece.times) for piece in self.pieces])

    @property
    def client(self) -> PravegaClient:
        """The client of the intervals that the step has taken: there must be one at least."""
        return self.taken[0].client()

    def declare(self, part: str, sink: Sink) -> None:
        """Record into what a part of the step's work is written, before it is written.

        Raises:
            LedgerError: another run has taken a range over.
        """
        for each in self.taken:
            each.declare(part, sink)

    def finish(self, part: str | None = None) -> None:
        """Record all intervals as done, or one part of the step's work."""
        for each in self.taken:
            each.finish(part)

    def metadata(self) -> dict[str, Any]:
        """Metadata of a materialization: interval, event times, segments, watermarks, cuts.

        Dagster's pages keep this order, and are as wide as the texts of the cuts, so the short entries come first.
        """
        metadata = taken_measures(self.record)
        metadata |= segments_table([part for piece in self.pieces for part in piece.parts])
        if self.whole:
            metadata[WHOLE_KEY] = True
        if self.marks:
            metadata[MARKS_KEY] = dict(self.marks)
        if self.from_head is not None:
            metadata[FROM_HEAD_KEY] = self.from_head
        if self.claim > 1:
            metadata[CLAIM_KEY] = self.claim
        return metadata | range_measures([piece.cuts for piece in self.pieces], several=len(self.taken) > 1)


def joined(client: PravegaClient, ranges: Sequence[WantedRange]) -> list[WantedRange]:
    """The ranges, in their order; neighbours that touch become one range.

    Two ranges touch if one starts at the end of the other. For event times, the times must touch: the ranges themselves
    overlap on purpose, and a reader keeps the events of the times.

    Raises:
        PravegaError: the cluster cannot be asked.
    """
    result: list[WantedRange] = []
    for wanted in ranges:
        union = _joined(client, result[-1], wanted) if result else None
        if union is None:
            result.append(wanted)
        else:
            result[-1] = union
    return result


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
