"""Transactions of finished tasks stay open for as long as any task of their write runs, in whatever process.

Leases are the shortest that the server grants here, so that what takes hours is seen within seconds.
"""

import asyncio
import time
import uuid

import pytest

from aiopravega import PravegaClient
from aiopravega.control import TransactionState
from aiopravega.errors import TransactionAbortedError
from aiopravega.ledger import LeaseKeeper

LEASE = 10.0


@pytest.fixture
def make_keeper(ledger, sink):
    """Makes keepers of an attempt, each as in a process of its own; what they keep dies with `close`."""
    keepers = []

    def make(client: PravegaClient, attempt: uuid.UUID, longest: float = LEASE) -> LeaseKeeper:
        keepers.append(
            LeaseKeeper(client.controller, ledger.lease_notes(attempt), sink, longest=longest, look_every=0.2)
        )
        return keepers[-1]

    yield make
    for keeper in keepers:
        keeper.close()


async def test_another_process_keeps_transactions_of_a_dead_process_open(driver, client, make_keeper, events_in):
    job = await driver.start()
    finished, other = make_keeper(client, job.attempt), make_keeper(client, job.attempt)
    async with finished:
        parts = await driver.write(b"a", b"b", lease=LEASE)
        for part in parts:
            await finished.keep(part.txn_id)
    finished.close()
    async with other:
        await asyncio.sleep(1.5 * LEASE)
        await driver.protocol.commit(job, parts)

    assert await events_in() == [b"a", b"b"]


async def test_without_a_task_that_runs_they_end_with_their_leases(driver, client, make_keeper, eventually):
    (part,) = await driver.write(b"a", lease=LEASE)
    keeper = make_keeper(client, uuid.uuid4())
    async with keeper:
        await keeper.keep(part.txn_id)
    keeper.close()

    await eventually(lambda: driver.is_thrown_away(part))
    with pytest.raises(TransactionAbortedError):
        await keeper.keep(part.txn_id)


async def test_clocks_that_differ_end_no_lease(driver, client, ledger, make_keeper):
    job = await driver.start()
    parts = await driver.write(b"a", b"b", lease=LEASE)
    for part, ahead in zip(parts, (-3600.0, 3600.0), strict=True):
        await ledger.lease_notes(job.attempt).note(part.txn_id, LEASE, time.time() + ahead)

    async with make_keeper(client, job.attempt):
        await asyncio.sleep(1.5 * LEASE)

    states = [await client.controller.transaction_state(driver.sink, part.txn_id) for part in parts]
    assert states == [TransactionState.OPEN] * 2


async def test_a_lease_is_renewed_by_one_of_many_processes(driver, ledger):
    (part,) = await driver.write(b"a", lease=LEASE)
    notes = ledger.lease_notes(uuid.uuid4())
    await notes.note(part.txn_id, LEASE, 0.0)
    (found,) = await notes.all()

    taken = await asyncio.gather(*(notes.start_renewal(found) for _ in range(8)))

    assert taken.count(True) == 1


async def test_a_task_that_has_waited_for_others_keeps_their_short_leases(driver, client, make_keeper, events_in):
    """It has seen no note for long, and cannot know how short leases are here."""
    job = await driver.start()
    straggler, finished = make_keeper(client, job.attempt, longest=600.0), make_keeper(client, job.attempt)
    async with straggler:
        await asyncio.sleep(1.0)
        async with finished:
            parts = await driver.write(b"a", lease=LEASE)
            await finished.keep(parts[0].txn_id)
        finished.close()
        await asyncio.sleep(1.5 * LEASE)
        await driver.protocol.commit(job, parts)

    assert await events_in() == [b"a"]


async def test_after_a_write_there_are_no_notes_and_nobody_looks_for_any(
    driver, client, ledger, make_keeper, eventually
):
    job = await driver.start()
    keeper = make_keeper(client, job.attempt)
    async with keeper:
        parts = await driver.write(b"a", b"b")
        for part in parts:
            await keeper.keep(part.txn_id)
        assert len(await ledger.lease_notes(job.attempt).all()) == len(parts)
        await driver.protocol.commit(job, parts)

    async def idle() -> bool:
        return bool(keeper.idle)

    await eventually(idle)
    assert await ledger.lease_notes(job.attempt).all() == []


async def test_a_finished_write_removes_notes_and_aborts_repeated_transactions(driver, ledger, events_in):
    job = await driver.start()
    parts, twice = await driver.write(b"a", b"b"), await driver.write(b"a")
    for part in (*parts, *twice):
        await ledger.lease_notes(job.attempt).note(part.txn_id, LEASE, time.time())

    await driver.protocol.commit(job, parts)

    assert await ledger.lease_notes(job.attempt).all() == []
    assert await driver.is_thrown_away(twice[0])
    assert await events_in() == [b"a", b"b"]


async def test_giving_up_ends_what_is_noted_only(driver, ledger):
    job, parts = await driver.start(), await driver.write(b"a")
    await ledger.lease_notes(job.attempt).note(parts[0].txn_id, LEASE, time.time())

    await driver.protocol.abandon(job, [])

    assert await driver.is_thrown_away(parts[0])
    assert await ledger.lease_notes(job.attempt).all() == []


async def test_a_client_has_one_keeper_for_all_tasks_of_an_attempt(client, ledger, sink):
    attempt = uuid.uuid4()

    assert ledger.keeper(sink, attempt) is client.commit_ledger(ledger.scope).keeper(sink, attempt)
    assert ledger.keeper(sink, uuid.uuid4()) is not ledger.keeper(sink, attempt)
