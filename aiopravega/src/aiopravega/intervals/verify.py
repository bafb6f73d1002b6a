"""Do the intervals of a consumer chain without gap or overlap, and can those that are open still be read?

Intervals of event times are compared by their times: their ranges overlap on purpose, and who reads them keeps the
events of the interval. All others are compared by their cuts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from aiopravega.client import PravegaClient
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import InvalidStreamCutError, StreamTruncatedError
from aiopravega.ledger import CutRecord
from aiopravega.read import Order


class FindingKind(StrEnum):
    """What can be wrong with intervals."""

    GAP = "gap"
    OVERLAP = "overlap"
    LOST = "lost"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, between two intervals or with one; `size` is in bytes, None where it is not known."""

    kind: FindingKind
    intervals: tuple[str, ...]
    text: str
    size: int | None = None


async def verify(client: PravegaClient, records: Sequence[CutRecord]) -> list[Finding]:
    """Everything that is wrong with the intervals of one consumer of a stream, in their order.

    Args:
        client: a connected client.
        records: the records of the consumer, as `CutLedger.records` gives them.

    Raises:
        PravegaError: the cluster cannot be asked.
    """
    findings: list[Finding] = []
    for one, other in pairwise(records):
        if one.since is not None and other.since is not None:
            findings += _compare_times(one, other)
        elif one.end != other.start:  # equal texts are equal cuts
            findings += await _compare_cuts(client, one, other)
    waiting = [record for record in records if not record.is_done]
    return findings + (await _unreadable(client, waiting) if waiting else [])


def _compare_times(one: CutRecord, other: CutRecord) -> list[Finding]:
    names = (one.interval, other.interval)
    if one.until is None or other.since is None or one.until == other.since:
        return []
    kind = FindingKind.GAP if one.until < other.since else FindingKind.OVERLAP
    what = "nobody has taken the event times" if kind is FindingKind.GAP else "both have the event times"
    first, last = sorted((one.until, other.since))
    return [Finding(kind, names, f"{what} from {first.isoformat()} to {last.isoformat()}")]


async def _compare_cuts(client: PravegaClient, one: CutRecord, other: CutRecord) -> list[Finding]:
    names = (one.interval, other.interval)
    end, start = one.range.end, other.range.start
    try:
        history = await client.arithmetic.history([end, start])
        order = history.compare(end, start)
    except InvalidStreamCutError as error:
        return [Finding(FindingKind.FOREIGN, names, str(error))]
    found = []
    if order in (Order.BEFORE, Order.INCOMPARABLE):
        skipped = StreamCutRange(history.earliest([end, start]), start)
        size = await _size(client, skipped)
        found.append(Finding(FindingKind.GAP, names, f"nobody has taken what lies from {end} to {start}", size))
    if order in (Order.AFTER, Order.INCOMPARABLE):
        shared = await client.intersection(one.range, other.range)
        if shared is not None:
            size = await _size(client, shared)
            found.append(Finding(FindingKind.OVERLAP, names, f"both have what lies from {start} to {end}", size))
    return found


async def _size(client: PravegaClient, wanted: StreamCutRange) -> int | None:
    try:
        return (await client.arithmetic.history([wanted.start, wanted.end])).size(wanted.start, wanted.end)
    except StreamTruncatedError:
        return None


async def _unreadable(client: PravegaClient, waiting: Sequence[CutRecord]) -> list[Finding]:
    """Open intervals of which retention has removed something, or whose stream was deleted and made again."""
    stream = waiting[0].stream
    head, tail = await client.head(stream.scope, stream.stream), await client.tail(stream.scope, stream.stream)
    found = []
    for record in waiting:
        name = (record.interval,)
        try:
            wanted = record.range
            start = await client.compare(wanted.start, head)
            if start is not Order.SAME and start is not Order.AFTER and wanted.start != wanted.end:
                lost = await _lost(client, wanted, head)
                found.append(Finding(FindingKind.LOST, name, f"it is open, but {stream} starts at {head}", lost))
            elif await client.compare(wanted.end, tail) not in (Order.BEFORE, Order.SAME):
                found.append(Finding(FindingKind.FOREIGN, name, f"it ends after the tail of {stream}, {tail}"))
        except InvalidStreamCutError as error:
            found.append(Finding(FindingKind.FOREIGN, name, str(error)))
    return found


async def _lost(client: PravegaClient, wanted: StreamCutRange, head: StreamCut) -> int | None:
    history = await client.arithmetic.history([wanted.start, wanted.end, head])
    return await _size(client, StreamCutRange(wanted.start, history.earliest([wanted.end, head])))
