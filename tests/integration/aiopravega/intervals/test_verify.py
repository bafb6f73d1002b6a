"""Gaps, overlaps and lost intervals of real streams are found, with their bytes; what is whole is not blamed."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from aiopravega import StreamCut, StreamCutRange
from aiopravega.intervals import FindingKind, verify
from aiopravega.ledger import Interval

# Nobody has finished these intervals, and that is not what most tests are about.
AT_WORK = timedelta(days=1)
JANUARY = datetime(2013, 1, 1, tzinfo=UTC)


@pytest.fixture
async def stream(make_stream):
    return await make_stream(2)


@pytest.fixture
async def tails(client, stream) -> list[StreamCut]:
    """Tails of a stream, with a hundred events of 13 bytes and perhaps a scaling between each and the next one."""
    found = [await client.tail(stream)]
    for segments in (None, 3, None, 2, None):
        async with client.writer(stream) as writer:
            await writer.write_many([b"event"] * 100, [f"key-{number}" for number in range(100)])
        found.append(await client.tail(stream))
        if segments:
            await client.scale_stream(stream, segments)
    return found


@pytest.fixture
def recorded(client, stream):
    async def recorded(*ends: tuple[StreamCut, StreamCut], times=None):
        ledger = client.cut_ledger(stream.scope)
        await ledger.create()
        for number, taken in enumerate(ends):
            span = None if times is None else times[number]
            interval = Interval("ada", stream, f"day {number}")
            await ledger.claim(interval, StreamCutRange(*taken), number=number, times=span)
        return await ledger.records("ada", stream)

    return recorded


async def test_ranges_that_share_cuts_are_whole_across_scalings(client, tails, recorded):
    assert await verify(client, await recorded(*pairwise(tails)), allow_open=AT_WORK) == []


async def test_the_same_place_said_in_two_ways_is_no_gap(client, stream, tails, recorded):
    # In front of the scaling, and after it with nothing written.
    behind = await client.head(stream)
    left = await client.clip(StreamCutRange(tails[2], tails[3]))
    assert behind == tails[0]
    assert await verify(client, await recorded((tails[0], tails[2]), (left.start, tails[3])), allow_open=AT_WORK) == []


async def test_a_gap_and_an_overlap_are_reported_with_their_bytes(client, tails, recorded):
    records = await recorded((tails[0], tails[1]), (tails[3], tails[5]), (tails[4], tails[5]))

    gap, overlap = await verify(client, records, allow_open=AT_WORK)

    assert (gap.kind, gap.intervals, gap.size) == (FindingKind.GAP, ("day 0", "day 1"), 200 * 13)
    assert (overlap.kind, overlap.intervals, overlap.size) == (FindingKind.OVERLAP, ("day 1", "day 2"), 100 * 13)


async def test_intervals_of_event_time_are_compared_by_their_times(client, tails, recorded):
    days = [JANUARY + timedelta(days=number) for number in range(6)]
    whole = [(days[0], days[1]), (days[1], days[2]), (days[2], days[3])]
    records = await recorded((tails[0], tails[2]), (tails[1], tails[4]), (tails[3], tails[5]), times=whole)
    assert await verify(client, records, allow_open=AT_WORK) == []

    broken = [records[0], *(record.model_copy(update={"since": days[4], "until": days[5]}) for record in records[2:])]
    [gap] = await verify(client, broken, allow_open=AT_WORK)
    assert gap.kind is FindingKind.GAP
    assert "2013-01-02" in gap.text
    assert "2013-01-05" in gap.text


async def test_an_open_interval_that_retention_has_eaten_is_lost(client, stream, tails, recorded):
    records = await recorded((tails[0], tails[1]), (tails[1], tails[3]), (tails[3], tails[5]))
    await client.cut_ledger(stream.scope).finish(Interval("ada", stream, "day 0"))
    await client.truncate_stream(tails[2])

    records = await client.cut_ledger(stream.scope).records("ada", stream)
    [lost] = await verify(client, records, allow_open=AT_WORK)

    assert (lost.kind, lost.intervals) == (FindingKind.LOST, ("day 1",))


async def test_records_of_a_deleted_stream_of_the_same_name_are_foreign(client, stream, tails, recorded, make_stream):
    records = await recorded((tails[0], tails[1]), (tails[1], tails[5]))
    await client.delete_stream(stream)
    await make_stream(2)
    await client.scale_stream(stream, 3)

    findings = await verify(client, records, allow_open=AT_WORK)

    assert {finding.kind for finding in findings} == {FindingKind.FOREIGN}
    assert [finding.intervals for finding in findings] == [("day 0",), ("day 1",)]
    today = datetime.now(UTC).date().isoformat()
    assert f"stream {stream} was deleted and made again on {today}T" in findings[0].text
    assert "; the range of interval 'day 0' of 'ada'" in findings[0].text
    assert "belongs to the deleted one" in findings[0].text


async def test_verify_distinguishes_open_failed_and_done_intervals(client, stream, tails, recorded):
    await recorded(*pairwise(tails[:4]))
    ledger = client.cut_ledger(stream.scope)
    await ledger.finish(Interval("ada", stream, "day 0"))
    await ledger.fail(Interval("ada", stream, "day 1"), "no space left on the disk", by="job 7")

    records = await ledger.records("ada", stream)
    failed, still_open = await verify(client, records)

    assert (failed.kind, failed.intervals) == (FindingKind.FAILED, ("day 1",))
    assert "no space left on the disk" in failed.text
    assert (still_open.kind, still_open.intervals) == (FindingKind.OPEN, ("day 2",))
    assert [found.kind for found in await verify(client, records, allow_open=AT_WORK)] == [FindingKind.FAILED]
