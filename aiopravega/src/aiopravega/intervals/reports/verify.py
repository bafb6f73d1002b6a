"""Do the intervals of a consumer chain without gap or overlap, are they done, and can those that are not be read?

Intervals of event times are compared by their times: their ranges overlap on purpose, and a reader keeps the events of
the interval. All others are compared by their cuts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import InvalidStreamCutError, StreamMadeAgainError
from aiopravega.intervals.chain.losses import bytes_between, what_is_left
from aiopravega.ledger import CutRecord, IntervalState
from aiopravega.read import Order


class FindingKind(StrEnum):
    """What can be wrong with intervals; the last four, with a table in which they should be."""

    GAP = "gap"
    OVERLAP = "overlap"
    LOST = "lost"
    FOREIGN = "foreign"
    OPEN = "open"
    FAILED = "failed"
    NOT_HELD = "not in the table"
    HELD = "in the table"
    OTHER_RANGE = "another range in the table"
    ROWS = "other rows in the table"


@dataclass(frozen=True, slots=True)
class IntervalFinding:
    """One thing that is wrong, between two intervals or with one; `size` is in bytes, None where it is not known."""

    kind: FindingKind
    intervals: tuple[str, ...]
    text: str
    size: int | None = None


async def verify(
    client: PravegaClient, records: Sequence[CutRecord], *, allow_open: timedelta = timedelta()
) -> list[IntervalFinding]:
    """Everything that is wrong with the intervals of one consumer of a stream, in their order.

    Args:
        client: a connected client.
        records: the records of the consumer, as `CutLedger.records` gives them.
        allow_open: how long an interval may be open: somebody is at work.

    Raises:
        PravegaError: the cluster cannot be asked.
    """
    findings: list[IntervalFinding] = []
    for one, other in pairwise(record for record in records if record.state is not IntervalState.GIVEN_BACK):
        if one.since is not None and other.since is not None:
            findings += _compare_times(one, other)
        elif one.end != (other.skipped_from or other.start):  # equal texts are equal cuts
            findings += await _compare_cuts(client, one, other)
    waiting = [record for record in records if record.is_waiting]
    now = datetime.now(UTC)
    return [
        *findings,
        *(finding for record in waiting if (finding := _not_done(record, now - allow_open))),
        *(await _unreadable(client, waiting) if waiting else []),
    ]


def _not_done(record: CutRecord, before: datetime) -> IntervalFinding | None:
    since = record.state_since.isoformat(timespec="seconds")
    if record.state is IntervalState.FAILED:
        return IntervalFinding(FindingKind.FAILED, (record.interval,), f"failed at {since}: {record.reason}")
    if record.state_since > before:
        return None
    return IntervalFinding(
        FindingKind.OPEN, (record.interval,), f"handed out at {since}, and not done: {record.recorded_by}"
    )


def _compare_times(one: CutRecord, other: CutRecord) -> list[IntervalFinding]:
    names = (one.interval, other.interval)
    if one.until is None or other.since is None or one.until == other.since:
        return []
    kind = FindingKind.GAP if one.until < other.since else FindingKind.OVERLAP
    what = "no interval has the event times" if kind is FindingKind.GAP else "both have the event times"
    first, last = sorted((one.until, other.since))
    return [IntervalFinding(kind, names, f"{what} from {first.isoformat()} to {last.isoformat()}")]


async def _compare_cuts(client: PravegaClient, one: CutRecord, other: CutRecord) -> list[IntervalFinding]:
    names = (one.interval, other.interval)
    end, start = one.range.end, other.range.start
    try:
        history = await client.arithmetic.history([end, start])
        order = history.compare(end, start)
    except StreamMadeAgainError as error:
        text = f"{error.fact}; the range of {one.identity} belongs to the deleted one"
        return [IntervalFinding(FindingKind.FOREIGN, names, text)]
    except InvalidStreamCutError as error:
        return [IntervalFinding(FindingKind.FOREIGN, names, str(error))]
    findings = []
    if order in (Order.BEFORE, Order.INCOMPARABLE):
        skipped = StreamCutRange(history.earliest([end, start]), start)
        size = await bytes_between(client, skipped)
        findings.append(
            IntervalFinding(FindingKind.GAP, names, f"no interval has the events from {end} to {start}", size)
        )
    if order in (Order.AFTER, Order.INCOMPARABLE):
        shared = await client.intersection(one.range, other.range)
        if shared is not None:
            size = await bytes_between(client, shared)
            findings.append(
                IntervalFinding(FindingKind.OVERLAP, names, f"both have the events from {start} to {end}", size)
            )
    return findings


async def _unreadable(client: PravegaClient, waiting: Sequence[CutRecord]) -> list[IntervalFinding]:
    """Intervals that are not done and cannot be read: a part is gone, or the stream was deleted and made again."""
    stream = waiting[0].stream
    tail = await client.tail(stream)
    findings = []
    for record in waiting:
        name, wanted = (record.interval,), record.range
        try:
            left = await what_is_left(client, wanted.start, wanted.end)
            if left.made_again is not None:
                text = f"{left.made_again}; the range of {record.identity} belongs to the deleted one"
                findings.append(IntervalFinding(FindingKind.FOREIGN, name, text))
            elif left.gone is not None:
                text = f"{left.text} of it are gone: {left.gone.reason}"
                findings.append(IntervalFinding(FindingKind.LOST, name, text, left.gone.size))
            elif await client.compare(wanted.end, tail) not in (Order.BEFORE, Order.SAME):
                findings.append(
                    IntervalFinding(FindingKind.FOREIGN, name, f"it ends after the tail of {stream}, {tail}")
                )
        except InvalidStreamCutError as error:
            findings.append(IntervalFinding(FindingKind.FOREIGN, name, str(error)))
    return findings
