"""Plans of backfills: a range between two cuts is divided by number or size, event times are divided into intervals.

Each run makes its plan again, with the recorded intervals and their states from the cut ledger. A recorded interval
keeps its range: so the plan stays the same while the stream grows.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from aiopravega import wire
from aiopravega.client import PravegaClient
from aiopravega.cuts import END_OF_SEGMENT, UNBOUNDED, SegmentRange, StreamCutRange
from aiopravega.errors import ConfigurationError, LedgerError, StreamTruncatedError, TableNotFoundError
from aiopravega.intervals.chain.claims import former_name, in_utc, interval_name
from aiopravega.intervals.chain.losses import is_passage
from aiopravega.intervals.plans.backfill import BackfillPlan, PlannedInterval
from aiopravega.ledger import CutLedger, CutRecord, Interval
from aiopravega.names import StreamName
from aiopravega.positions import NamedCut, Position
from aiopravega.read.calls import find_cut
from aiopravega.read.events import read_bytes
from aiopravega.times import TimeUnit

# Ranges of event times that are searched at the same time.
_AT_A_TIME: Final = 16
# The number of events is estimated by reading so many bytes of so many ranges of segments.
_SAMPLES: Final = 8
_SAMPLE_BYTES: Final = 64 * 1024
# The names of the intervals of a backfill in parts.
_NAME: Final = re.compile(r"(\d+) of (\d+)")


async def plan_parts(
    client: PravegaClient,
    stream: StreamName,
    consumer: str,
    *,
    start: Position = UNBOUNDED,
    end: Position = UNBOUNDED,
    parts: int | None = None,
    max_bytes: int | None = None,
    ledger: CutLedger | None = None,
) -> BackfillPlan:
    """Plan a backfill between two positions, in `parts`, or in parts of about `max_bytes`; by default in one.

    The intervals are called `1 of 8`, `2 of 8` and so on. If the consumer has intervals already, they are the plan, and
    the arguments must be consistent with them.

    Raises:
        ConfigurationError: both a number and a size are given.
        LedgerError: the consumer has intervals of another backfill.
        PravegaError: the range does not fit the stream, or cannot be read.
    """
    records = await _records(ledger or client.cut_ledger(stream.scope), consumer, stream)
    known = _by_number([record for record in records if not is_passage(record)])
    # A recorded plan keeps its ends: the present head and tail are not requested.
    ends = [
        UNBOUNDED if known and isinstance(position, NamedCut) else await find_cut(client, stream, position)
        for position in (start, end)
    ]
    wanted = _fitting(known, StreamCutRange(*ends))
    total = next(iter(known.values())).total if known else 0
    if known and len(known) == total:
        intervals = await _from_records(client, [known[number].record for number in sorted(known)])
    else:
        count = total or (parts if parts is not None or max_bytes is not None else 1)
        ranges = await client.split(wanted, count, stream, max_bytes=None if total else max_bytes)
        if total and len(ranges) != total:
            raise LedgerError(
                f"only {len(known)} of {total} intervals of {consumer!r} are recorded, and the others cannot be found "
                "again: give another name of the consumer"
            )
        sizes = await _sizes(client, ranges)
        intervals = [
            PlannedInterval(f"{number} of {len(ranges)}", part, size)
            for number, (part, size) in enumerate(zip(ranges, sizes, strict=True), 1)
        ]
    return await _estimated(client, BackfillPlan(stream, consumer, intervals))


async def plan_times(
    client: PravegaClient,
    stream: StreamName,
    consumer: str,
    times: Sequence[datetime],
    *,
    ahead: int | timedelta | None = None,
    clip: bool = False,
    unit: TimeUnit = TimeUnit.MS,
    ledger: CutLedger | None = None,
) -> BackfillPlan:
    """Plan a backfill of event times: an interval from each of `times` to the next.

    The intervals are called by their times, `2013-01-01T00:00:00+00:00/2013-01-02T00:00:00+00:00`. Their ranges have
    all of their events, and may have other events: a reader keeps the events of the interval. `ahead`, `clip` and
    `unit` are as in `PravegaClient.range_for`.

    Raises:
        ConfigurationError: fewer than two times, or they do not ascend, or one has no zone.
        PravegaError: the range of an interval is not known, as `PravegaClient.range_for` says.
    """
    if len(times) < 2:  # noqa: PLR2004 - a start and an end
        raise ConfigurationError("a backfill of event times needs a start and an end, both with a zone")
    records = await _records(ledger or client.cut_ledger(stream.scope), consumer, stream)
    names = {record.interval for record in records}
    intervals: dict[str, tuple[datetime, datetime]] = {}
    for since, until in pairwise(times):
        former = former_name(since, until)
        intervals[former if former in names else interval_name(since, until)] = in_utc((since, until))
    recorded = await _from_records(client, [record for record in records if record.interval in intervals])
    known = {interval.name: interval for interval in recorded}
    gate = asyncio.Semaphore(_AT_A_TIME)

    async def planned(name: str, since: datetime, until: datetime) -> PlannedInterval:
        async with gate:
            range_ = await client.range_for(stream, (since, until), ahead=ahead, clip=clip, unit=unit)
        return PlannedInterval(name, range_, (await _sizes(client, [range_]))[0], since, until)

    fresh = await asyncio.gather(*(planned(name, *times) for name, times in intervals.items() if name not in known))
    known |= {interval.name: interval for interval in fresh}
    return await _estimated(client, BackfillPlan(stream, consumer, [known[name] for name in intervals]))


async def _records(ledger: CutLedger, consumer: str, stream: StreamName) -> list[CutRecord]:
    Interval(consumer, stream, "any")  # refuses a wrong name
    try:
        return await ledger.records(consumer, stream)
    except TableNotFoundError:
        return []


@dataclass(frozen=True, slots=True)
class _Part:
    total: int
    record: CutRecord


def _by_number(records: Sequence[CutRecord]) -> dict[int, _Part]:
    """The recorded intervals of a backfill in parts, by their numbers."""
    parts = {}
    for record in records:
        named = _NAME.fullmatch(record.interval)
        if named is None:
            raise _other_backfill(record)
        parts[int(named[1])] = _Part(int(named[2]), record)
    return parts


def _fitting(known: Mapping[int, _Part], wanted: StreamCutRange) -> StreamCutRange:
    """The range of a backfill with its recorded ends; an end without a record is the wanted one."""
    start, end = wanted.start, wanted.end
    if 1 in known:
        start = known[1].record.range.start
    for number, part in known.items():
        if number == part.total:
            end = part.record.range.end
    for mine, recorded in ((wanted.start, start), (wanted.end, end)):
        if not mine.is_unbounded and mine != recorded:
            raise _other_backfill(next(iter(known.values())).record)
    return StreamCutRange(start, end)


def _other_backfill(record: CutRecord) -> LedgerError:
    return LedgerError(
        f"{record.consumer!r} has intervals of {record.stream} that are not of this backfill, such as "
        f"{record.interval!r} from {record.range.start} to {record.range.end}: give another name of the consumer"
    )


async def _from_records(client: PravegaClient, records: Sequence[CutRecord]) -> list[PlannedInterval]:
    # The events of done intervals may have been removed, and their sizes are not needed.
    ranges = [record.range for record in records]
    sizes = await _sizes(client, ranges)
    return [
        PlannedInterval(r.interval, taken, size, r.since, r.until, not r.is_waiting, is_recorded=True)
        for r, taken, size in zip(records, ranges, sizes, strict=True)
    ]


async def _sizes(client: PravegaClient, ranges: Sequence[StreamCutRange]) -> list[int | None]:
    sizes: list[int | None] = []
    for each in ranges:
        if (
            each.start.positions.keys() == each.end.positions.keys()
            and END_OF_SEGMENT not in each.end.positions.values()
        ):
            sizes.append(sum(each.end.positions.values()) - sum(each.start.positions.values()))
            continue
        try:
            history = await client.arithmetic.history([each.start, each.end])
            sizes.append(history.size(each.start, each.end))
        except StreamTruncatedError:
            sizes.append(None)
    return sizes


async def _estimated(client: PravegaClient, plan: BackfillPlan) -> BackfillPlan:
    """The plan with an estimate of its events: their mean size at a few offsets, by the bytes."""
    waiting = plan.waiting
    step = max(len(waiting) // _SAMPLES, 1)
    counted = measured = 0
    for interval in waiting[::step][:_SAMPLES]:
        for part in (await client.plan(interval.range))[:_SAMPLES]:
            events, size = await _count(client, part)
            counted, measured = counted + events, measured + size
    estimate = round(plan.size * counted / measured) if measured else 0
    return BackfillPlan(plan.stream, plan.consumer, plan.intervals, estimate)


async def _count(client: PravegaClient, part: SegmentRange) -> tuple[int, int]:
    """Events at the beginning of a range, and their bytes."""
    end = min(part.start + _SAMPLE_BYTES, part.end)
    data = b"".join(await read_bytes(client.store, part.segment, part.start, end))
    starts, whole = wire.scan_frames(data, 0, len(data))
    if starts:
        return len(starts), whole
    return 1, wire.EVENT_HEADER + int.from_bytes(
        data[: wire.EVENT_HEADER]
    )  # an event that is longer than what was read
