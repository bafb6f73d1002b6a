"""Single intervals of event times in the cut ledger: claimed once for all, and refused where their range is gone."""

import asyncio
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from aiopravega import StreamCutRange, StreamName
from aiopravega.errors import (
    BeforeHistoryError,
    ConfigurationError,
    LedgerError,
    NotYetError,
    NoWatermarksError,
    StreamMadeAgainError,
    StreamTruncatedError,
)
from aiopravega.intervals import OnTruncated, claim_times, interval_name
from aiopravega.ledger import CUT_TABLE, Interval

NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)


def day(number: int) -> tuple[datetime, datetime]:
    return NEW_YEAR + timedelta(days=number - 1), NEW_YEAR + timedelta(days=number)


@pytest.fixture
async def stream(client, scope) -> StreamName:
    """A stream of which the first day of the year is complete."""
    patience = timedelta(minutes=5)
    assert await client.create_stream(f"{scope}/stream", timestamp_aggregation_timeout=patience)
    async with client.writer(f"{scope}/stream") as writer:
        await writer.note_time(NEW_YEAR)
        await marked(client, StreamName(scope, "stream"), NEW_YEAR)
        await writer.write_many([b"event"] * 10)
        await writer.note_time(day(2)[0])
    await marked(client, StreamName(scope, "stream"), day(2)[0])
    return StreamName(scope, "stream")


async def marked(client, stream: StreamName, time: datetime) -> None:
    async for _ in client.watermarks(stream, since=time, follow=True):
        return


async def test_an_interval_is_claimed_once_for_all_who_ask(client, stream):
    claims = await asyncio.gather(*(claim_times(client, stream, "ada", day(1), by=f"run {n}") for n in range(5)))

    assert {claim.model_dump_json() for claim in claims} == {claims[0].model_dump_json()}
    assert (claims[0].since, claims[0].until) == day(1)
    assert claims[0].range == await client.range_for(stream, day(1))
    interval = Interval("ada", stream, interval_name(*day(1)))
    await client.cut_ledger(stream.scope).finish(interval, claims[0].range)
    await client.truncate_stream(await client.tail(stream))
    assert (await claim_times(client, stream, "ada", day(1))).is_done  # and nobody needs its events any more


async def test_one_moment_in_two_zones_is_one_interval(client, stream):
    claimed = await claim_times(client, stream, "ada", day(1))

    berlin = ZoneInfo("Europe/Berlin")
    since, until = (time.astimezone(berlin) for time in day(1))
    assert await claim_times(client, stream, "ada", (since, until)) == claimed
    assert claimed.interval == "2013-01-01T00:00:00+00:00/2013-01-02T00:00:00+00:00"
    assert await client.cut_ledger(stream.scope).records("ada", stream) == [claimed]


async def test_an_interval_that_an_older_release_named_in_its_zone_stays(client, stream):
    since, until = (time.astimezone(ZoneInfo("Europe/Berlin")) for time in day(1))
    ledger = client.cut_ledger(stream.scope)
    await ledger.create()
    former = Interval("ada", stream, f"{since.isoformat()}/{until.isoformat()}")
    recorded = await ledger.claim(former, await client.range_for(stream, day(1)), times=(since, until))

    assert await claim_times(client, stream, "ada", (since, until)) == recorded


async def test_the_hour_that_comes_twice_is_not_empty(client, stream):
    new_york = ZoneInfo("America/New_York")
    first, second = (datetime(2012, 11, 4, 1, tzinfo=new_york, fold=fold) for fold in (0, 1))

    with pytest.raises(BeforeHistoryError):
        await claim_times(client, stream, "ada", (first, second))
    with pytest.raises(ConfigurationError, match="is empty"):
        await claim_times(client, stream, "ada", (second, first))


async def test_what_cannot_be_claimed_leaves_no_record(client, stream):
    with pytest.raises(NotYetError):
        await claim_times(client, stream, "ada", day(2))
    with pytest.raises(ConfigurationError, match="is empty"):
        await claim_times(client, stream, "ada", (NEW_YEAR, NEW_YEAR))
    with pytest.raises(ConfigurationError, match="has no zone"):
        await claim_times(client, stream, "ada", (NEW_YEAR.replace(tzinfo=None), NEW_YEAR))
    assert not await client.controller.table_exists(stream.scope, CUT_TABLE)


async def test_a_claimed_range_that_is_gone_is_reported(client, stream):
    claimed = await claim_times(client, stream, "ada", day(1))
    tail = await client.tail(stream)
    await client.truncate_stream(tail)
    with pytest.raises(StreamTruncatedError, match="130 bytes of the range of interval .* are gone"):
        await claim_times(client, stream, "ada", day(1))
    left = await claim_times(client, stream, "ada", day(1), on_truncated=OnTruncated.SKIP)
    assert left.range == StreamCutRange(tail, tail)
    assert (left.skipped_from, left.skipped_bytes) == (claimed.start, 130)
    assert await claim_times(client, stream, "ada", day(1)) == left

    ledger = client.table(stream.scope, CUT_TABLE)
    await ledger.put(Interval("ada", stream, claimed.interval).key, b'{"version": 6}')
    with pytest.raises(LedgerError, match="version 6 of a cut ledger"):
        await claim_times(client, stream, "ada", day(1))


@pytest.mark.parametrize("is_done", [False, True])
async def test_a_claimed_range_of_a_recreated_stream_is_reported_plainly(client, stream, is_done):
    claimed = await claim_times(client, stream, "ada", day(1))
    if is_done:
        await client.cut_ledger(stream.scope).finish(claimed.identity)
    await client.delete_stream(stream)
    await client.create_stream(stream)
    today = datetime.now(UTC).date().isoformat()
    plain = (
        rf"stream {stream} was deleted and made again on {today}T\S+; the range of interval '2013-01-01.*' of 'ada' "
    )
    with pytest.raises(StreamMadeAgainError, match=plain):
        await claim_times(client, stream, "ada", day(1))

    await client.cut_ledger(stream.scope).forget("ada", stream)
    with pytest.raises(NoWatermarksError):  # as of any new stream
        await claim_times(client, stream, "ada", day(1))


async def test_a_claimed_interval_gets_a_range_of_the_recreated_stream(client, stream, scope):
    claimed = await claim_times(client, stream, "ada", day(1))
    await client.delete_stream(stream)
    await client.create_stream(f"{scope}/stream", timestamp_aggregation_timeout=timedelta(minutes=5))
    async with client.writer(f"{scope}/stream") as writer:
        await writer.note_time(NEW_YEAR)
        await marked(client, stream, NEW_YEAR)
        await writer.write_many([b"other"] * 3)
        await writer.note_time(day(2)[0])
    await marked(client, stream, day(2)[0])

    again = await claim_times(client, stream, "ada", day(1), on_truncated=OnTruncated.SKIP)

    assert again.range == await client.range_for(f"{scope}/stream", day(1))
    assert again.skipped_from == claimed.start
    assert "made again" in str(again.skipped_because)


async def test_a_skipped_interval_is_claimed_after_it_was_reopened(client, stream):
    claimed = await claim_times(client, stream, "ada", day(1))
    await client.cut_ledger(stream.scope).skip(claimed.identity, "nobody wants it", by="bob")
    with pytest.raises(LedgerError, match=r"by bob: nobody wants it\. .* pravega cuts reopen"):
        await claim_times(client, stream, "ada", day(1))
    await client.cut_ledger(stream.scope).reopen(claimed.identity, "somebody does")
    assert (await claim_times(client, stream, "ada", day(1))).range == claimed.range
