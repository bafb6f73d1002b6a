"""Limits of a read by a condition: the offsets in its segments from which on no event can fulfil it.

A segment whose limit is its start is not read at all. Reading begins where the range begins, since only there an event
starts for certain, and ends at the limit. The condition is applied to all rows that are read.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa

from aiopravega import TimeUnit
from aiopravega.blocking import PravegaClient
from aiopravega.cuts import SegmentRange
from aiopravega.event_time.log import MarkLog
from aiopravega.event_time.marks import Watermark
from aiopravega.names import StreamName
from aiopravega.wire import EVENT_HEADER
from pravega_jobs.decoding.event_times import time_column, time_unit
from pravega_jobs.frames.decoding import Decoding
from pravega_jobs.pruning import CONSTANTS, OFFSET, constant_of

logger = logging.getLogger(__name__)

Limits: TypeAlias = Mapping[SegmentRange, int]
# A limit is searched so exactly: fewer bytes are not worth another question.
_FEW_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of events that begin in `part`; None: of any. None is older than `since`, in the unit of the writers."""

    part: SegmentRange | None = None
    since: int | None = None

    @property
    def offsets(self) -> tuple[int, int]:
        """The lowest and the highest offset at which an event can begin in `part`."""
        assert self.part is not None
        return self.part.start, self.part.end - EVENT_HEADER


MayHold: TypeAlias = Callable[[Sequence[Rows]], list[bool]]


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """The column of the event times. `unit` is the column's, `written` that of the stream's writers."""

    name: str
    type: pa.DataType
    unit: TimeUnit
    written: TimeUnit


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """The columns of a read whose values are known before it: a kind of `pravega_jobs.pruning` for each name."""

    kinds: Mapping[str, str]
    time: TimeColumn | None = None

    @classmethod
    def of(cls, decoding: Decoding, unit: TimeUnit) -> "KnownColumns":
        """The columns of a decoding; `unit` is that of the stream's writers.

        Raises:
            ConfigurationError: the decoding names a column of event times that does not exist, or has another type.
        """
        positions = zip(decoding.positions.names, decoding.positions.kinds, strict=True)
        kinds = {name: kind for name, kind in positions if kind == OFFSET or kind in CONSTANTS}
        if decoding.plan is None or decoding.time is None:
            return cls(kinds)
        path, kind = time_column(decoding.plan.schema, decoding.time)
        if len(path) > 1:
            return cls(kinds)  # a field of a struct: conditions on it leave out nothing
        name = decoding.plan.schema.names[path[0]]
        return cls(kinds, TimeColumn(name, kind, time_unit(kind, name, unit), unit))

    @property
    def offsets(self) -> list[str]:
        """The names of columns of offsets."""
        return [name for name, kind in self.kinds.items() if kind == OFFSET]

    def constants(self, rows: Rows) -> dict[str, str | int]:
        """The values that are the same in all of some rows, by the names of their columns."""
        if rows.part is None:
            return {}
        return {name: constant_of(kind, rows.part) for name, kind in self.kinds.items() if kind != OFFSET}

    def first_time(self, rows: Rows) -> pa.Scalar | None:
        """A time that no time of the rows lies before, as a value of the column; None: it is not known."""
        if rows.since is None or self.time is None:
            return None
        number = rows.since * self.time.written // self.time.unit
        try:
            return pa.scalar(number, pa.int64()).cast(self.time.type)
        except (pa.ArrowInvalid, OverflowError):
            return None  # beyond what the column can have


def limits_of(
    client: PravegaClient, parts: Sequence[SegmentRange], may_hold: MayHold, known: KnownColumns, condition: object
) -> Limits:
    """The limits of a read by a condition; the log (INFO) also has them.

    Args:
        client: a connected client.
        parts: the ranges of segments.
        may_hold: the question whether the condition can be true in some rows.
        known: the columns whose values are known.
        condition: for the log.

    Raises:
        PravegaError: the watermarks cannot be read.
    """
    limits = limits_by_positions(parts, may_hold)
    if known.time is not None:
        for stream in {part.segment.stream for part in parts}:
            mark = _first_without_rows(client, stream, may_hold)
            if mark is not None:
                limits = {part: min(limit, limit_at(mark, part)) for part, limit in limits.items()}
    read = [(limit - part.start) for part, limit in limits.items() if limit > part.start]
    logger.info(
        "the condition %s leaves %d of %d segments to read, %s of %s bytes",
        condition,
        len(read),
        len(parts),
        f"{sum(read):,}",
        f"{sum(part.size for part in parts):,}",
    )
    return limits


def bytes_left(parts: Iterable[SegmentRange], limits: Limits) -> int:
    """The bytes of ranges up to their limits."""
    return sum(limits.get(part, part.end) - part.start for part in parts)


def limits_by_positions(parts: Sequence[SegmentRange], may_hold: MayHold) -> dict[SegmentRange, int]:
    """The limits by what is known of segments and offsets."""
    left = [part for part in parts if part.size >= EVENT_HEADER]
    left = [part for part, may in zip(left, may_hold([Rows(part) for part in left]), strict=True) if may]
    ends = [_from(part, max(part.start, part.end - EVENT_HEADER)) for part in left]
    # From here to here: the offset of a row that may fit, and one from which on none does.
    found = {part: part.end for part in left}
    open_ = {
        part: (part.start, end.start)
        for part, end, may in zip(left, ends, may_hold([Rows(end) for end in ends]), strict=True)
        if not may
    }
    while open_:
        middles = {part: (low + high) // 2 for part, (low, high) in open_.items()}
        may = may_hold([Rows(_from(part, middle)) for part, middle in middles.items()])
        for (part, middle), fits in zip(middles.items(), may, strict=True):
            low, high = open_[part]
            open_[part] = (middle, high) if fits else (low, middle)
        found |= {part: high for part, (_, high) in open_.items()}
        open_ = {part: (low, high) for part, (low, high) in open_.items() if high - low > _FEW_BYTES}
    return {part: found.get(part, part.start) for part in parts}


def _from(part: SegmentRange, start: int) -> SegmentRange:
    return SegmentRange(part.segment, start, part.end)


def _first_without_rows(client: PravegaClient, stream: StreamName, may_hold: MayHold) -> Watermark | None:
    """The first watermark after whose positions no row can fit, by the promise of its lower time."""

    def holds(mark: Watermark) -> bool:
        return may_hold([Rows(since=mark.lower)])[0]

    async def search() -> Watermark | None:
        log = await MarkLog.open(client.asynchronous.controller, client.asynchronous.store, stream)
        return None if log is None else (await log.search(holds))[1]

    return client.run(search())


def limit_at(mark: Watermark, part: SegmentRange) -> int:
    """The offset in a range from which on everything lies after a mark's positions; the end if that is not known."""
    if part.segment.stream != next(iter(mark.positions)).stream:
        return part.end
    marked = mark.positions.get(part.segment)
    if marked is not None:
        return part.end if marked < 0 else min(max(marked, part.start), part.end)
    # Made after all segments of the mark: a successor of one of them. For others the order is not known.
    newest = max(segment.epoch for segment in mark.positions)
    return part.start if part.segment.epoch > newest else part.end
