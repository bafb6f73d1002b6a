"""A write that is in the stream in part is completed by the next attempt that has the same rows, and by no other."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable

import pytest

from aiopravega.errors import PartialCommitError, TransactionAbortedError, WriteSupersededError
from aiopravega.ledger import CommitLedger, CommitState
from aiopravega.ledger.commits.same_rows import completed


async def test_lost_partitions_are_taken_from_the_next_attempt(driver, events_in):
    first = await driver.leave(b"a", b"b", b"c", committed=[0], lost=[2])

    job = await driver.start()
    second = await driver.write(b"a", b"b", b"c")
    record = await driver.protocol.commit(job, second)

    assert await events_in() == [b"a", b"b", b"c"]  # b was still open, and committed at the start
    assert (record.state, record.attempt, record.total_events) == (CommitState.DONE, job.attempt, 3)
    assert [part.txn_id for part in record.partitions] == [first[0].txn_id, first[1].txn_id, second[2].txn_id]
    assert [await driver.is_thrown_away(part) for part in second] == [True, True, False]
    assert (await driver.begin()).done == record


async def test_the_next_attempt_knows_what_it_need_not_write(driver, events_in):
    await driver.leave(b"a", b"b", b"c", committed=[0, 2], lost=[1])

    job = await driver.start()
    assert [job.needs(partition) for partition in range(3)] == [False, True, False]
    await driver.protocol.commit(job, await driver.write(None, b"b", None))

    assert await events_in() == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        ([b"a", b"x", b"c"], "partition 1 has other rows"),
        ([b"a", b"bb", b"c"], "partition 1 had 1 events in 9 bytes and now has 1 in 10"),
        ([b"a", None, b"c"], "partition 1 had 1 events and is empty now"),
    ],
    ids=["other bytes", "another length", "empty"],
)
async def test_other_rows_complete_nothing(driver, events_in, events, complaint):
    await driver.leave(b"a", b"b", b"c", committed=[0, 2], lost=[1])
    job, offered = await driver.start(), await driver.write(*events)

    with pytest.raises(PartialCommitError, match=rf"committed are the partitions 0, 2; lost are 1\..*{complaint}"):
        await driver.protocol.commit(job, offered)

    assert await events_in() == [b"a", b"c"]
    assert all([await driver.is_thrown_away(part) for part in offered])
    assert (await driver.begin()).done is None  # the right rows may still come


async def test_what_an_older_release_left_half_way_is_for_a_person(driver, events_in):
    parts = [part.model_copy(update={"hashes": None}) for part in await driver.write(b"a", b"b")]
    await driver.prepare(await driver.start(), parts)
    await driver.end(parts[0], commit=True)
    await driver.end(parts[1], commit=False)

    with pytest.raises(PartialCommitError, match="partition 1 was written by an older release"):
        await driver.protocol.commit(await driver.start(), await driver.write(b"a", b"b"))
    assert await events_in() == [b"a"]


async def test_rows_of_partitions_that_are_in_already_may_differ(driver, events_in):
    await driver.leave(b"a", b"b", committed=[0], lost=[1])

    await driver.protocol.commit(await driver.start(), await driver.write(b"another", b"b", b"one more"))

    assert await events_in() == [b"a", b"b"]


async def test_an_attempt_that_completes_a_write_can_itself_stop_half_way(driver, events_in):
    await driver.leave(b"a", b"b", b"c", b"d", committed=[0], lost=[1, 2, 3])
    job, parts = await driver.start(), await driver.write(b"a", b"b", b"c", b"d")
    await driver.prepare(job, completed(job.replaces.record, job.lost, parts))
    await driver.end(parts[1], commit=True)
    await driver.end(parts[2], commit=False)

    third = await driver.start()
    assert third.lost == {2}  # the fourth was open, and is committed now
    await driver.protocol.commit(third, await driver.write(b"a", b"b", b"c", b"d"))

    assert await events_in() == [b"a", b"b", b"c", b"d"]


async def test_of_two_attempts_that_complete_a_write_one_wins(driver, events_in):
    await driver.leave(b"a", b"b", committed=[0], lost=[1])
    jobs = [await driver.start(), await driver.start()]

    results = await asyncio.gather(
        *[driver.protocol.commit(job, await driver.write(b"a", b"b")) for job in jobs], return_exceptions=True
    )

    assert sorted(type(result).__name__ for result in results) == ["CommitRecord", "WriteSupersededError"]
    assert await events_in() == [b"a", b"b"]


async def test_a_zombie_does_not_disturb_the_attempt_that_completes_its_write(driver, events_in):
    zombie, parts = await driver.start(), await driver.write(b"a", b"b")
    stored = await driver.prepare(zombie, parts)
    await driver.end(parts[0], commit=True)
    await driver.end(parts[1], commit=False)
    await driver.protocol.commit(await driver.start(), await driver.write(b"a", b"b"))

    with pytest.raises(TransactionAbortedError):
        await driver.end(parts[1], commit=True)
    with pytest.raises(WriteSupersededError):
        await driver.ledger.finish(stored)
    assert await events_in() == [b"a", b"b"]


class SlowLedger(CommitLedger):
    """A ledger that takes so long to decide that something else happens meanwhile."""

    meanwhile: Callable[[], Awaitable[None]]

    async def prepare(self, record, replaces=None):
        stored = await super().prepare(record, replaces)
        await self.meanwhile()
        return stored


async def test_leases_that_run_out_while_all_is_committed_ask_for_one_more_run(
    driver, client, scope, make_driver, events_in, eventually
):
    async def first_is_visible() -> bool:  # its commit is decided, and done a little later
        return bool(await events_in() == [b"a"])

    job, parts = await driver.start(), await driver.write(b"a", b"b")
    slow = SlowLedger(client.controller, client.store, client.tail, scope)
    slow.meanwhile = lambda: driver.end(parts[1], commit=False)

    with pytest.raises(TransactionAbortedError, match="1 of its 2 transactions.*Run it again with the same write id"):
        await make_driver(ledger=slow).protocol.commit(job, parts)
    await eventually(first_is_visible)

    await driver.protocol.commit(await driver.start(), await driver.write(b"a", b"b"))
    assert await events_in() == [b"a", b"b"]


async def test_a_write_that_nobody_remembers_is_for_a_person(driver, events_in):
    committed = await driver.write(b"a")
    await driver.end(committed[0], commit=True)
    forgotten = committed[0].model_copy(update={"partition": 1, "txn_id": uuid.UUID(int=committed[0].txn_id.int ^ 1)})
    await driver.prepare(await driver.start(), [*committed, forgotten])

    with pytest.raises(PartialCommitError, match=r"no longer knows .* partitions 1; committed are 0.*pravega ledger"):
        await driver.begin()
    assert await events_in() == [b"a"]
