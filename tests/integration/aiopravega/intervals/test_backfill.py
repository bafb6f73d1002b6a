"""Backfills of real streams: planned, run in parallel, stopped and gone on with; every event is processed once."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from aiopravega import UNBOUNDED, StreamCut, StreamCutRange
from aiopravega.errors import (
    ConfigurationError,
    LedgerError,
    PravegaConnectionError,
    StreamTruncatedError,
    TableConflictError,
)
from aiopravega.intervals import plan_parts, run_backfill, verify
from aiopravega.intervals.plans.backfill import record_plan
from aiopravega.ledger import Interval

EVENTS = 1000


@pytest.fixture
async def stream(client, make_stream):
    """A stream of a thousand events that was scaled in the middle."""
    name = await make_stream(2)
    for segments, first in ((3, 0), (2, EVENTS // 2)):
        async with client.writer(name) as writer:
            texts = [f"event {number:04}" for number in range(first, first + EVENTS // 2)]
            await writer.write_many([text.encode() for text in texts], texts)
        await client.scale_stream(name, segments)
    return name


@pytest.fixture
def processed(client):
    """Counts the events that a backfill brings; `work` is what reads them."""

    class Processed(Counter[bytes]):
        async def work(self, interval):
            self.update([event.data async for event in client.read(interval.range)])

    return Processed()


async def test_a_dry_run_says_what_would_be_read_and_records_nothing(client, stream):
    plan = await plan_parts(client, stream, "ada", parts=4)

    assert [interval.name for interval in plan.intervals] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
    assert plan.size == sum(interval.size or 0 for interval in plan.waiting) == EVENTS * (8 + len("event 0000"))
    assert plan.events == EVENTS
    assert not any(interval.is_recorded for interval in plan.intervals)


async def test_every_event_is_processed_once(client, stream, processed):
    plan = await plan_parts(client, stream, "ada", max_bytes=2500)
    assert len(plan.intervals) == 8

    assert await run_backfill(client, plan, processed.work, parallel=3, by="ada") == {}

    assert len(processed) == EVENTS
    assert set(processed.values()) == {1}
    records = await client.cut_ledger(stream.scope).records("ada", stream)
    assert all(record.is_done and record.changed_by == "ada" for record in records)
    assert await verify(client, records) == []


async def test_a_backfill_that_failed_continues_with_what_is_not_done(client, stream, processed):
    async def fail_at_times(interval):
        if interval.name in {"2 of 6", "5 of 6"}:
            raise PravegaConnectionError("the sink is away")
        await processed.work(interval)

    failures = await run_backfill(client, await plan_parts(client, stream, "ada", parts=6), fail_at_times)
    assert failures.keys() == {"2 of 6", "5 of 6"}
    async with client.writer(stream) as writer:  # the stream continues, the backfill does not
        await writer.write(b"late")

    plan = await plan_parts(client, stream, "ada")
    assert [interval.name for interval in plan.waiting] == ["2 of 6", "5 of 6"]
    assert await run_backfill(client, plan, processed.work) == {}
    assert len(processed) == EVENTS
    assert set(processed.values()) == {1}
    assert (await plan_parts(client, stream, "ada")).waiting == []


@pytest.mark.parametrize("recorded", [[5], [0, 5], [0, 2, 5]])
async def test_a_plan_of_which_a_part_was_recorded_is_made_again(client, stream, processed, recorded):
    plan = await plan_parts(client, stream, "ada", parts=6)
    ledger = client.cut_ledger(stream.scope)
    await ledger.create()
    for number in recorded:
        planned = plan.intervals[number]
        await ledger.claim(Interval("ada", stream, planned.name), planned.range, number=number)
    async with client.writer(stream) as writer:
        await writer.write(b"late")

    again = await plan_parts(client, stream, "ada", parts=3)

    assert [interval.range for interval in again.intervals] == [interval.range for interval in plan.intervals]
    await run_backfill(client, again, processed.work)
    assert len(processed) == EVENTS


async def test_runs_at_once_agree_on_the_ranges_or_plan_again(client, stream):
    plans = [await plan_parts(client, stream, "ada", parts=5) for _ in range(2)]
    async with client.writer(stream) as writer:
        await writer.write(b"late")
    plans += [await plan_parts(client, stream, "ada", parts=parts) for parts in (5, 3)]
    ledger = client.cut_ledger(stream.scope)
    await ledger.create()

    recorded = await asyncio.gather(*(record_plan(ledger, plan) for plan in plans), return_exceptions=True)

    winners = [found for found in recorded if isinstance(found, list)]
    assert winners
    assert all(isinstance(found, list | TableConflictError) for found in recorded)
    whole = await ledger.records("ada", stream)
    assert all(found == whole for found in winners)
    assert await verify(client, whole, allow_open=timedelta(hours=1)) == []
    again = await plan_parts(client, stream, "ada", parts=5)
    assert [interval.range for interval in again.intervals] == [record.range for record in whole]


async def test_another_backfill_needs_another_name(client, stream):
    await run_backfill(client, await plan_parts(client, stream, "ada", parts=2), _nothing)
    head, tail = await client.head(stream), await client.tail(stream)
    middle = (await client.split(StreamCutRange(head, tail), 3))[0].end

    with pytest.raises(LedgerError, match="another name"):
        await plan_parts(client, stream, "ada", start=middle)
    assert len((await plan_parts(client, stream, "ada", start=head, end=tail, parts=7)).intervals) == 2
    await client.cut_ledger(stream.scope).claim(Interval("bob", stream, "monday"), StreamCutRange(head, middle))
    with pytest.raises(LedgerError, match="monday"):
        await plan_parts(client, stream, "bob", parts=2)


async def test_what_cannot_work_is_refused(client, stream):
    with pytest.raises(ConfigurationError, match="give one of the two"):
        await plan_parts(client, stream, "ada", parts=2, max_bytes=100)
    with pytest.raises(ConfigurationError, match="need names"):
        await plan_parts(client, stream, "", parts=2)
    plan = await plan_parts(client, stream, "ada", parts=2)
    with pytest.raises(ConfigurationError, match="at least one"):
        await run_backfill(client, plan, _nothing, parallel=0)
    head = await client.head(stream)
    await client.truncate_stream(plan.intervals[0].range.end)
    with pytest.raises(StreamTruncatedError):
        await plan_parts(client, stream, "ada", start=head, parts=2)
    assert isinstance((await plan_parts(client, stream, "ada", start=UNBOUNDED)).intervals[0].range.start, StreamCut)


async def _nothing(_interval: object) -> None:
    """Takes no time."""
