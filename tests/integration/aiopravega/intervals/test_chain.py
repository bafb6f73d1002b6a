"""Where a chain of intervals continues: behind what is gone if it may, and over what a run has left."""

import re

import pytest

from aiopravega import StreamCutRange
from aiopravega.errors import StreamMadeAgainError, StreamTruncatedError
from aiopravega.intervals import OnTruncated, next_start, verify
from aiopravega.intervals.chain.next_start import begin_at_tail, waited_for
from aiopravega.intervals.chain.take_over import not_done, take_over
from aiopravega.ledger import Interval

BYTES_OF_TEN = 10 * 13


@pytest.fixture
async def stream(make_stream):
    return await make_stream(2)


@pytest.fixture
async def ledger(client, stream):
    ledger = client.cut_ledger(stream.scope)
    await ledger.create()
    return ledger


@pytest.fixture
def run(client, stream, ledger):
    """Ten events are written, and the next run takes them; `done` says whether it finishes its interval."""

    async def run(name: str, on_truncated=OnTruncated.FAIL, *, done: bool = True):
        await written(client, stream)
        interval = Interval("ada", stream, name)
        head = await client.head(stream)
        start = await next_start(client, ledger, interval, head, on_truncated)
        taken = StreamCutRange(start.cut, await client.tail(stream))
        await ledger.record(interval, taken, start.after, chained=True, skipped=start.skipped)
        if done:
            await ledger.finish(interval, taken)
        return await client.distance(taken.start, taken.end)

    return run


async def written(client, stream) -> None:
    async with client.writer(stream) as writer:
        await writer.write_many([b"event"] * 10, [f"key {number}" for number in range(10)])


async def test_a_chain_continues_where_it_ended(client, stream, ledger, run):
    assert [await run("monday"), await run("tuesday")] == [BYTES_OF_TEN, BYTES_OF_TEN]
    await client.scale_stream(stream, 3)
    assert await run("wednesday") == BYTES_OF_TEN
    assert await verify(client, await ledger.records("ada", stream)) == []


async def test_what_was_truncated_before_it_was_taken_is_reported_or_skipped(client, stream, ledger, run):
    await run("monday")
    await written(client, stream)
    await client.truncate_stream(await client.tail(stream))

    with pytest.raises(StreamTruncatedError, match=f"{BYTES_OF_TEN} bytes .* 'monday' .* on_truncated='skip'"):
        await run("tuesday")
    assert await run("wednesday", OnTruncated.SKIP) == 2 * BYTES_OF_TEN  # what tuesday has left, and its own

    monday, wednesday = await ledger.records("ada", stream)
    assert (wednesday.skipped_from, wednesday.skipped_bytes) == (monday.end, BYTES_OF_TEN)
    assert not wednesday.follows
    assert await verify(client, [monday, wednesday]) == []


async def test_a_stream_that_was_made_again_is_reported_or_begun_again(client, stream, ledger, run, make_stream):
    await run("monday")
    await client.delete_stream(stream)
    await make_stream(2)

    with pytest.raises(StreamMadeAgainError, match=r"made again on .*; the range of interval 'monday' of 'ada'"):
        await run("tuesday")
    assert await run("wednesday", OnTruncated.SKIP) == 2 * BYTES_OF_TEN
    assert await run("thursday") == BYTES_OF_TEN
    records = await ledger.records("ada", stream)
    assert [record.skipped_from for record in records] == [None, records[0].end, None]
    assert await verify(client, records) == []


async def test_the_next_run_takes_over_what_one_has_left(client, stream, ledger, run):
    await run("monday")
    await run("tuesday", done=False)
    wednesday = Interval("ada", stream, "wednesday")
    left = await waited_for(ledger, wednesday)
    assert left is not None
    assert left.interval == "tuesday"
    assert await waited_for(ledger, left.identity) is None
    assert re.search(r"'tuesday' of 'ada' .* .* open since .* pravega cuts skip", str(not_done(left)))

    await take_over(ledger, wednesday, left)
    assert await run("wednesday") == 2 * BYTES_OF_TEN

    assert await waited_for(ledger, wednesday) is None
    assert await verify(client, await ledger.records("ada", stream)) == []


async def test_what_was_done_meanwhile_is_not_taken_over(stream, ledger, run):
    await run("monday", done=False)
    tuesday = Interval("ada", stream, "tuesday")
    left = await waited_for(ledger, tuesday)
    assert left is not None
    await ledger.finish(left.identity)
    await take_over(ledger, tuesday, left)
    assert await run("tuesday") == BYTES_OF_TEN


async def test_a_chain_can_begin_at_the_tail_for_all_who_ask(client, stream, ledger, run):
    await written(client, stream)
    for name in ("monday", "tuesday"):
        await begin_at_tail(client, ledger, Interval("ada", stream, name))
        assert await run(name) == BYTES_OF_TEN
    assert await verify(client, await ledger.records("ada", stream)) == []


async def test_a_stream_of_a_scope_that_was_made_again_is_another_one_too(client, stream, run, make_stream, ledger):
    await run("monday")
    [record] = await ledger.records("ada", stream)
    await client.controller.delete_table(stream.scope, ledger.table)
    await client.delete_stream(stream)
    await client.delete_scope(stream.scope)
    await client.create_scope(stream.scope)
    await make_stream(2)

    with pytest.raises(StreamMadeAgainError):
        await client.plan(record.range)
