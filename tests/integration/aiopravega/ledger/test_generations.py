"""Generations of a write: the next one is written after one that is done, and no generation is written twice."""

import json

import pytest

from aiopravega import StreamCutRange
from aiopravega.errors import GenerationError, LedgerError, WriteSupersededError
from aiopravega.ledger import CommitRecord, CommitState
from aiopravega.ledger.commits.keys import record_key
from aiopravega.ledger.stored_json import with_checksum, without_checksum


@pytest.fixture
def write(driver):
    """Writes a generation, each event as a partition of its own."""

    async def write(generation: int, *events: bytes) -> CommitRecord:
        job = await driver.start(generation=generation)
        record: CommitRecord = await driver.protocol.commit(job, await driver.write(*events))
        return record

    return write


@pytest.fixture
def between(client, sink):
    """The events between the cuts of a generation."""

    async def between(record: CommitRecord) -> list[bytes]:
        assert isinstance(record.cuts, StreamCutRange)
        return sorted([event.data async for event in client.read(record.cuts, sink)])

    return between


async def written(client, sink) -> list[CommitRecord]:
    found: list[CommitRecord] = await client.written(sink, "daily")
    return found


async def test_every_generation_has_cuts_of_its_own(client, sink, write, between, events_in):
    async with client.writer(sink) as writer:
        await writer.write(b"before")
    first = await write(1, b"a", b"b")
    second = await write(2, b"A", b"B")
    async with client.writer(sink) as writer:
        await writer.write(b"after")
    third = await write(3, b"x")

    found = await written(client, sink)

    assert [record.generation for record in found] == [1, 2, 3]
    assert [record.attempt for record in found] == [first.attempt, second.attempt, third.attempt]
    assert [await between(record) for record in found] == [[b"a", b"b"], [b"A", b"B"], [b"x"]]
    assert await events_in() == [b"A", b"B", b"a", b"after", b"b", b"before", b"x"]


async def test_cuts_hold_what_is_committed_after_the_stream_has_scaled(driver, client, sink, between):
    job, parts = await driver.start(), await driver.write(b"a", b"b")
    await client.scale_stream(sink, 3)

    record = await driver.protocol.commit(job, parts)

    assert await between(record) == [b"a", b"b"]


async def test_a_done_generation_is_not_written_again_after_a_newer_one(driver, write, events_in):
    first, second = await write(1, b"a"), await write(2, b"A")

    assert (await driver.begin(generation=1)).done.attempt == first.attempt
    assert (await driver.begin(generation=1)).done.generation == 1
    assert (await driver.begin(generation=2)).done == second
    assert await events_in() == [b"A", b"a"]


async def test_generations_have_no_gaps_and_a_first_one(driver, write):
    with pytest.raises(GenerationError, match="knows no generation of this write, or has forgotten them"):
        await driver.begin(generation=2)
    await write(1, b"a")
    with pytest.raises(GenerationError, match=r"newest generation is 1 \(done\), so the next one is rebuild=2"):
        await driver.begin(generation=3)


async def test_a_generation_that_is_decided_is_finished_before_the_next_one(driver, client, sink, write, between):
    await driver.prepare(await driver.start(), await driver.write(b"a", b"b"))

    await write(2, b"A")

    first, second = await written(client, sink)
    assert (first.state, first.end is not None) == (CommitState.DONE, True)
    assert await between(second) == [b"A"]


async def test_no_generation_follows_one_that_is_lost_in_part(driver, events_in):
    await driver.leave(b"a", b"b", committed=[0], lost=[1])

    with pytest.raises(GenerationError, match=r"partitions 1 are lost.*rebuild=1 again.*resolve --accept"):
        await driver.begin(generation=2)
    assert await events_in() == [b"a"]


async def test_completing_a_generation_keeps_its_start_and_earlier_generations(driver, client, sink, write, between):
    first = await write(1, b"a", b"b")
    job, parts = await driver.start(generation=2), await driver.write(b"A", b"B")
    start = await driver.ledger.tail(sink)
    stored = await driver.prepare(job, parts)
    await driver.ledger.amend(stored, stored.record.model_copy(update={"start": start}))
    await driver.end(parts[0], commit=True)
    await driver.end(parts[1], commit=False)

    again = await driver.start(generation=2)
    assert again.lost == {1}
    await driver.protocol.commit(again, await driver.write(b"A", b"B"))

    assert [record.attempt for record in await written(client, sink)] == [first.attempt, again.attempt]
    assert await between((await written(client, sink))[1]) == [b"A", b"B"]


async def test_of_two_jobs_that_write_the_same_generation_one_wins(driver, write, events_in):
    await write(1, b"a")
    one, other = await driver.start(generation=2), await driver.start(generation=2)
    await driver.protocol.commit(one, await driver.write(b"A"))

    with pytest.raises(WriteSupersededError, match="generation 2 of write 'daily'"):
        await driver.protocol.commit(other, await driver.write(b"B"))
    assert await events_in() == [b"A", b"a"]


async def test_a_driver_that_wakes_up_after_the_next_generation_adds_nothing(driver, write, events_in):
    stored = await driver.prepare(await driver.start(), await driver.write(b"a"))
    await write(2, b"A")  # finishes the first one, too

    with pytest.raises(WriteSupersededError):
        await driver.ledger.finish(stored)
    assert await events_in() == [b"A", b"a"]


async def test_the_next_write_first_finds_the_end_of_one_that_did_not_wait(make_driver, sink, client, between):
    hasty = make_driver(visible_within=None)
    await hasty.protocol.commit(await hasty.start(), await hasty.write(b"a"))
    [first] = await written(client, sink)
    assert first.end is None

    driver = make_driver()
    await driver.protocol.commit(await driver.start(generation=2), await driver.write(b"A"))

    first, second = await written(client, sink)
    assert (await between(first), await between(second)) == ([b"a"], [b"A"])


async def test_a_forgotten_generation_leaves_the_one_before_it(driver, write, client, sink, events_in):
    first = await write(1, b"a")
    await write(2, b"A")
    stored = await driver.ledger.lookup(sink, "daily")

    await driver.ledger.forget_newest(stored)

    assert await written(client, sink) == [first]
    await write(2, b"B")
    assert [record.generation for record in await written(client, sink)] == [1, 2]
    assert await events_in() == [b"A", b"B", b"a"]


async def test_a_recreated_stream_has_no_generations_of_the_deleted_one(driver, write, client, sink, make_stream):
    await write(1, b"a")
    await write(2, b"A")
    await client.delete_stream(sink)
    assert await make_stream(2) == sink

    assert await written(client, sink) == []
    with pytest.raises(GenerationError, match="knows no generation"):
        await driver.begin(generation=2)
    await write(1, b"b")
    assert [record.generation for record in await written(client, sink)] == [1]


async def test_a_record_with_earlier_generations_of_another_write_is_refused(driver, write, client, sink):
    await write(1, b"a")
    await write(2, b"A")
    key = record_key(sink, "daily")
    table = client.table(sink.scope, driver.ledger.table)
    value = json.loads(without_checksum((await table.get(key)).value))
    value["earlier"][0]["write_id"] = "weekly"
    await table.put(key, with_checksum(json.dumps(value)))

    with pytest.raises(LedgerError, match="not an earlier generation of"):
        await driver.begin(generation=2)
