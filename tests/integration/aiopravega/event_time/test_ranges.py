"""Cuts at event times and ranges for intervals, from the marks of a real controller."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from aiopravega import StreamCut, StreamCutRange, TimeUnit
from aiopravega.blocking import PravegaClient as BlockingClient
from aiopravega.errors import (
    BeforeHistoryError,
    ConfigurationError,
    NotYetError,
    NoWatermarksError,
    StreamNotFoundError,
    StreamTruncatedError,
)
from aiopravega.event_time import Reach

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: int) -> datetime:
    return NEW_YEAR + timedelta(days=number)


def millis(number: int) -> int:
    return TimeUnit.MS.number(day(number))


async def days_of(client, wanted: StreamCutRange) -> list[int]:
    return sorted({int(event.data) async for event in client.read(wanted)})


@pytest.fixture
async def days(client, make_timed):
    """A stream of days 0 to 3, five events each, with a mark at the end of each day; on day 2 it scales."""
    stream = await make_timed(2)
    followed: asyncio.Queue[int] = asyncio.Queue()

    async def follow() -> None:
        async for mark in client.watermarks(stream, follow=True):
            await followed.put(mark.lower)

    following = asyncio.create_task(follow())
    async with client.writer(stream) as writer:
        for number in range(4):
            if number == 2:
                await client.scale_stream(stream, 3)
            await writer.write_many([b"%d" % number] * 5, [str(key) for key in range(5)])
            await writer.note_time(day(number + 1))
            assert await asyncio.wait_for(followed.get(), 300) == millis(number + 1)
    await client.seal_stream(stream)
    await asyncio.wait_for(following, 300)  # what is followed ends
    return stream


@pytest.mark.timeout(1500)
async def test_days_of_a_stream_are_found_by_their_times(client, days, pravega_config):

    found = await client.cut_at(days, day(2))
    assert (found.reach, found.lower) == (Reach.COMPLETE, millis(2))
    assert await days_of(client, StreamCutRange(StreamCut.unbounded(), found.required())) == [0, 1]
    assert (await client.cut_at(days, millis(2) - 1)).cut == found.cut
    # A sealed stream is complete up to any time.
    assert (await client.cut_at(days, day(99))).cut == await client.tail(days)
    early = await client.cut_at(days, day(0))
    assert (early.reach, early.cut, early.lower) == (Reach.BEFORE_HISTORY, None, millis(1))

    # Nothing is known of how far ahead its events are: from the head.
    assert await days_of(client, await client.range_for(days, (day(3), day(4)))) == [0, 1, 2, 3]
    # In the order of their times: from the last mark that surely has passed no event of the interval.
    narrow = await client.range_for(days, (day(3), day(4)), ahead=0)
    assert await days_of(client, narrow) == [1, 2, 3]
    wide = await client.range_for(days, (day(3), day(4)), ahead=timedelta(days=1))
    assert await days_of(client, wide) == [0, 1, 2, 3]

    def blocking() -> None:
        with BlockingClient(pravega_config) as same:
            assert same.range_for(days, (day(3), day(4)), ahead=0) == narrow
            assert same.cut_at(days, day(2)) == found
            assert [mark.lower for mark in same.watermarks(days, since=day(3))] == [millis(3), millis(4)]
            assert [mark.lower for mark in same.watermarks(days, since=day(4), follow=True)] == [millis(4)]

    await asyncio.to_thread(blocking)

    with pytest.raises(BeforeHistoryError, match="before the first watermark"):
        await client.range_for(days, (day(-3), day(0)))
    with pytest.raises(ConfigurationError, match="must start before it ends"):
        await client.range_for(days, (day(4), day(4)))
    with pytest.raises(ConfigurationError, match="has no zone"):
        await client.range_for(days, (day(1).replace(tzinfo=None), day(2)))
    with pytest.raises(ConfigurationError, match="cannot be negative"):
        await client.range_for(days, (day(1), day(2)), ahead=-1)


async def test_a_time_that_the_writers_have_not_come_to_is_not_yet_complete(client, make_timed, eventually):
    stream = await make_timed(1)
    with pytest.raises(NoWatermarksError, match="have its writers note times"):
        await client.cut_at(stream, day(1))
    async with client.transaction(stream) as transaction:
        await transaction.write(b"0")
        transaction.note_time(day(1))

    async def marked() -> bool:
        return [mark.cut async for mark in client.watermarks(stream)] == [await client.tail(stream)]

    await eventually(marked)
    found = await client.cut_at(stream, day(2))

    assert (found.reach, found.cut, found.lower, found.upper) == (Reach.NOT_YET, None, millis(1), millis(1))
    with pytest.raises(NotYetError, match=f"not complete up to event time {millis(2)} yet"):
        await client.range_for(stream, (day(0), day(2)))
    assert await days_of(client, await client.range_for(stream, (day(0), day(1)))) == [0]


async def test_a_transaction_without_a_time_holds_no_marks_back(client, make_timed, eventually):
    stream = await make_timed(1)
    async with client.transaction(stream) as transaction:
        await transaction.write(b"0")
    await transaction.wait_committed(60)
    await client.note_time(stream, "another", day(1))

    async def marked() -> bool:
        return [mark.lower async for mark in client.watermarks(stream)] == [millis(1)]

    await eventually(marked)


async def test_what_was_removed_is_not_skipped_silently(client, make_timed, eventually):
    stream = await make_timed(1)
    async with client.writer(stream) as writer:
        await writer.write(b"0")
        await writer.note_time(day(1))

        async def marked() -> bool:
            return [mark async for mark in client.watermarks(stream)] != []

        await eventually(marked)
        await client.truncate_stream(await client.tail(stream))
        await writer.write(b"1")

    with pytest.raises(StreamTruncatedError, match="may have been removed"):
        await client.range_for(stream, (day(0), day(1)))
    left = await client.range_for(stream, (day(0), day(1)), clip=True)
    assert left.start == left.end == await client.head(stream)


async def test_what_does_not_exist_is_reported(client, make_timed, scope):
    stream = await make_timed(1)

    assert [mark async for mark in client.watermarks(stream)] == []
    for question in (client.cut_at(f"{scope}/missing", 1), client.range_for(f"{scope}/missing", (1, 2))):
        with pytest.raises(StreamNotFoundError, match="missing"):
            await question
    with pytest.raises(StreamNotFoundError, match="missing"):
        _ = [mark async for mark in client.watermarks(f"{scope}/missing")]
