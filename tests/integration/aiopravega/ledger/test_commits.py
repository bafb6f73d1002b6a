"""Exactly-once commits: whatever an earlier attempt of a write left, running it again puts each event in once.

What a killed attempt leaves is made here by taking its steps and stopping.
"""

import asyncio
import json
import uuid

import pytest

from aiopravega.errors import (
    LedgerError,
    ScopeNotFoundError,
    TableNotFoundError,
    TransactionAbortedError,
    WriteSupersededError,
)
from aiopravega.ledger import CommitRecord, CommitState
from aiopravega.ledger.commits.keys import record_key
from aiopravega.ledger.commits.transactions import TransactionSet


async def test_a_write_is_committed_and_recorded_as_done(driver, events_in):
    job = await driver.start()
    record = await driver.protocol.commit(job, await driver.write(b"a", b"b"))

    assert await events_in() == [b"a", b"b"]
    assert (record.state, record.total_events, record.total_bytes) == (CommitState.DONE, 2, 18)
    found = await driver.ledger.lookup(driver.sink, "daily")
    assert found.record == record


async def test_a_write_that_is_done_is_not_done_again(driver, events_in):
    done = await driver.protocol.commit(await driver.start(), await driver.write(b"a"))

    assert (await driver.begin()).done == done
    assert (await driver.begin("another")).done is None
    assert await events_in() == [b"a"]


async def test_a_write_that_is_done_takes_no_more_events(driver, events_in):
    done = await driver.protocol.commit(await driver.start(), await driver.write(b"a"))
    job = await driver.begin()
    parts = await driver.write(b"b", b"c")

    assert not job.needs(0)
    assert await driver.protocol.commit(job, parts) == done
    assert all([await driver.is_thrown_away(part) for part in parts])
    assert await events_in() == [b"a"]


async def test_a_write_without_events_is_done_too(driver):
    await driver.protocol.commit(await driver.start(), [])

    record = (await driver.begin()).done
    assert record.state is CommitState.DONE
    assert record.partitions == ()


async def test_a_write_that_was_decided_is_finished_by_the_next_attempt(driver, events_in):
    await driver.prepare(await driver.start(), await driver.write(b"a", b"b"))
    assert await events_in() == []

    record = (await driver.begin()).done

    assert record.state is CommitState.DONE
    assert await events_in() == [b"a", b"b"]


async def test_a_write_stopped_between_commits_is_finished_by_the_next_attempt(driver, events_in):
    partitions = await driver.write(b"a", b"b", b"c")
    await driver.prepare(await driver.start(), partitions)
    await driver.end(partitions[1], commit=True)

    record = (await driver.begin()).done

    assert record.state is CommitState.DONE
    assert await events_in() == [b"a", b"b", b"c"]


async def test_a_write_that_stopped_after_its_last_commit_is_only_marked_done(driver, events_in):
    partitions = await driver.write(b"a")
    await driver.prepare(await driver.start(), partitions)
    await driver.end(partitions[0], commit=True)

    record = (await driver.begin()).done

    assert record.state is CommitState.DONE
    assert await events_in() == [b"a"]


async def test_a_decided_write_that_lost_all_its_leases_is_replaced(driver, events_in):
    lost = await driver.write(b"a", b"b")
    first = await driver.start()
    await driver.prepare(first, lost)
    for partition in lost:
        await driver.end(partition, commit=False)

    second = await driver.start()
    record = await driver.protocol.commit(second, await driver.write(b"a", b"b"))

    assert record.attempt == second.attempt != first.attempt
    assert await events_in() == [b"a", b"b"]


async def test_the_rest_of_a_lost_attempt_cannot_be_committed_by_its_zombie(driver, events_in):
    partitions = await driver.write(b"a", b"b")
    await driver.prepare(await driver.start(), partitions)
    await driver.end(partitions[0], commit=False)

    second = await driver.start()
    with pytest.raises(TransactionAbortedError):
        await driver.end(partitions[1], commit=True)
    await driver.protocol.commit(second, await driver.write(b"a", b"b"))

    assert await events_in() == [b"a", b"b"]


async def test_of_two_attempts_at_once_one_wins_and_the_other_leaves_nothing(driver, events_in):
    jobs = [await driver.start(), await driver.start()]
    parts = [await driver.write(b"a", b"b"), await driver.write(b"a", b"b")]

    results = await asyncio.gather(
        *(driver.protocol.commit(job, part) for job, part in zip(jobs, parts, strict=True)), return_exceptions=True
    )

    winner, record = next((index, result) for index, result in enumerate(results) if isinstance(result, CommitRecord))
    assert isinstance(results[1 - winner], WriteSupersededError)
    assert record.attempt == jobs[winner].attempt
    assert await events_in() == [b"a", b"b"]
    assert all([await driver.is_thrown_away(part) for part in parts[1 - winner]])


async def test_of_two_attempts_that_replace_a_lost_one_one_wins(driver, events_in):
    lost = await driver.write(b"a")
    await driver.prepare(await driver.start(), lost)
    await driver.end(lost[0], commit=False)
    jobs = [await driver.start(), await driver.start()]

    results = await asyncio.gather(
        *[driver.protocol.commit(job, await driver.write(b"a")) for job in jobs], return_exceptions=True
    )

    assert sorted(type(result).__name__ for result in results) == ["CommitRecord", "WriteSupersededError"]
    assert await events_in() == [b"a"]


async def test_two_attempts_finish_a_decided_write_together(driver, events_in):
    await driver.prepare(await driver.start(), await driver.write(b"a", b"b"))

    jobs = await asyncio.gather(*(driver.begin() for _ in range(3)))

    assert {job.done.state for job in jobs} == {CommitState.DONE}
    assert await events_in() == [b"a", b"b"]


async def test_an_old_attempt_that_wakes_after_its_retry_commits_nothing(driver, events_in):
    zombie, parts = await driver.start(), await driver.write(b"a")
    await driver.protocol.commit(await driver.start(), await driver.write(b"a"))

    with pytest.raises(WriteSupersededError, match="daily"):
        await driver.protocol.commit(zombie, parts)

    assert await events_in() == [b"a"]
    assert await driver.is_thrown_away(parts[0])


async def test_a_lease_that_expires_before_the_decision_fails_the_whole_write(driver, events_in):
    job, partitions = await driver.start(), await driver.write(b"a", b"b")
    await driver.end(partitions[0], commit=False)

    with pytest.raises(TransactionAbortedError, match="lease"):
        await driver.protocol.commit(job, partitions)

    assert await driver.ledger.lookup(driver.sink, "daily") is None
    assert await driver.is_thrown_away(partitions[1])
    assert await events_in() == []


async def test_giving_up_aborts_what_is_not_decided(driver):
    job, partitions = await driver.start(), await driver.write(b"a")

    await driver.protocol.abandon(job, [part.txn_id for part in partitions])

    assert await driver.is_thrown_away(partitions[0])


async def test_giving_up_leaves_what_is_decided_to_the_next_attempt(driver, events_in):
    job, partitions = await driver.start(), await driver.write(b"a")
    await driver.prepare(job, partitions)

    await driver.protocol.abandon(job, [part.txn_id for part in partitions])
    await driver.begin()

    assert await events_in() == [b"a"]


async def test_deciding_twice_is_the_same_decision(driver):
    job, partitions = await driver.start(), await driver.write(b"a")

    first = await driver.prepare(job, partitions)
    again = await driver.prepare(job, partitions)  # as after an answer that got lost

    assert again.version == first.version
    assert again.record.attempt == job.attempt


async def test_a_recreated_stream_does_not_have_the_earlier_writes(driver, client, make_stream, events_in):
    await driver.protocol.commit(await driver.start(), await driver.write(b"a"))
    await client.delete_stream(driver.sink)
    await make_stream(2)

    await driver.protocol.commit(await driver.start(), await driver.write(b"a"))

    assert await events_in() == [b"a"]
    assert (await driver.begin()).done is not None


async def test_the_same_write_id_on_two_streams_is_two_writes(driver, make_driver, make_stream, read_all):
    other = make_driver(await make_stream(1, "other"))
    await driver.protocol.commit(await driver.start(), await driver.write(b"a"))

    await other.protocol.commit(await other.start(), await other.write(b"a"))

    assert [event.data for event in await read_all(other.sink)] == [b"a"]


async def test_a_stream_that_scaled_meanwhile_gets_each_event_once(driver, client, events_in):
    job, partitions = await driver.start(), await driver.write(b"a", b"b")
    await client.scale_stream(driver.sink, 3)

    await driver.protocol.commit(job, partitions)

    assert await events_in() == [b"a", b"b"]


async def test_commits_that_are_not_done_in_time_are_counted(driver, client):
    partitions = await driver.write(b"a", b"b")
    await driver.end(partitions[0], commit=True)
    transactions = TransactionSet(client.controller, driver.sink, {part.partition: part.txn_id for part in partitions})

    assert await transactions.wait_visible(limit=0.1, poll=0.01) == 1


async def test_a_commit_may_return_before_readers_see_it(make_driver, events_in):
    driver = make_driver(visible_within=None)
    partitions = await driver.write(b"a")

    record = await driver.protocol.commit(await driver.start(), partitions)

    assert record.state is CommitState.DONE
    await driver.end(partitions[0], commit=True)  # committing again waits
    assert await events_in() == [b"a"]


async def test_a_record_of_another_version_stops_the_write(driver, client, scope):
    key = record_key(driver.sink, "daily")
    await client.table(scope, "commit-ledger").put(key, json.dumps({"version": 6, "state": "done"}).encode())

    with pytest.raises(LedgerError, match="version 6, but this release reads up to 5"):
        await driver.begin()


async def test_a_ledger_is_made_once_in_a_scope_that_exists(client, ledger, sink):
    assert await ledger.create() is False

    with pytest.raises(TableNotFoundError):
        await client.commit_ledger(sink.scope, "no-such-table").lookup(sink, "daily")
    with pytest.raises(ScopeNotFoundError):
        await client.commit_ledger(f"no-such-{uuid.uuid4().hex}").create()
