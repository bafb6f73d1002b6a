"""A ledger forgets what is done long ago, and nothing else, however many writes there are."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from aiopravega.ledger import CommitProtocol, CommitRecord, CommitState, PartitionCommit
from aiopravega.ledger.commits import cleanup
from aiopravega.ledger.commits.keys import NOTES_FROM, record_key

DAY = 24 * 3600.0


@pytest.fixture
def put(ledger, sink):
    """Puts a record of a write so many days ago, by the clock of the writer and by that of the servers.

    `server` None: no server has given the time.
    """

    async def put(write_id: str, days: float, *, server: float | None = -1, retain: float | None = 30, events: int = 1):
        now = datetime.now(UTC)
        witness = days if server == -1 else server
        part = PartitionCommit(partition=0, txn_id=uuid.uuid4(), events=events, bytes=9, checksum="", hashes=0)
        record = CommitRecord(
            state=CommitState.PREPARED,
            sink=sink,
            incarnation=0,
            write_id=write_id,
            attempt=uuid.uuid4(),
            partitions=(part,),
            prepared_at=now,
            retain=None if retain is None else retain * DAY,
            witnessed_at=None if witness is None else now - timedelta(days=witness),
        )
        stored = await ledger.prepare(record)
        return await ledger.amend(stored, record.done(now - timedelta(days=days)))

    return put


@pytest.fixture
def sweep(ledger, sink):
    async def sweep() -> int:
        removed: int = await ledger.sweeper.sweep(record_key(sink, "any"), datetime.now(UTC))
        return removed

    return sweep


@pytest.fixture
def remembered(ledger):
    async def remembered() -> set[str]:
        return {stored.record.write_id async for stored in ledger.records()}

    return remembered


async def test_what_is_done_for_long_is_forgotten(driver, put, sweep, remembered):
    await put("old", 31)
    await put("young", 29)
    await driver.prepare(await driver.start("not done"), await driver.write(b"a"))

    assert await sweep() == 1
    assert await remembered() == {"young", "not done"}


async def test_each_write_is_remembered_for_as_long_as_it_says_itself(put, sweep, remembered):
    await put("a day", 2, retain=1)
    await put("a year", 300, retain=365)
    await put("forever", 3000, retain=None)

    assert await sweep() == 1
    assert await remembered() == {"a year", "forever"}


async def test_a_job_that_remembers_for_a_day_removes_nothing_of_others(driver, ledger, client, put, remembered):
    await put("another job's", 29)
    short = CommitProtocol(client.controller, ledger, retain=DAY)

    for number in range(20):
        await short.commit(await driver.start(f"write {number}"), [], datetime.now(UTC))

    assert "another job's" in await remembered()


@pytest.mark.parametrize(
    ("writer", "server"),
    [(40, 0), (0, 40), (40, None)],
    ids=["the writer's clock was behind", "the servers' clock was behind", "no server gave the time"],
)
async def test_one_wrong_clock_when_a_write_was_done_removes_nothing(put, sweep, remembered, writer, server):
    await put("young", writer, server=server)

    assert await sweep() == 0
    assert await remembered() == {"young"}


async def test_a_machine_whose_clock_is_ahead_removes_nothing(driver, put, remembered, monkeypatch):
    class Ahead(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(days=40)

    await put("young", 1)
    monkeypatch.setattr(cleanup, "datetime", Ahead)

    for number in range(20):
        transaction = await driver.client.open_transaction(driver.sink)
        witness = await transaction.witnessed_at()
        await transaction.abort()
        await driver.protocol.commit(await driver.start(f"write {number}"), [], witness)

    assert "young" in await remembered()


async def test_servers_whose_clock_is_ahead_remove_nothing(driver, put, remembered):
    await put("young", 1)

    for number in range(20):
        ahead = datetime.now(UTC) + timedelta(days=40)
        await driver.protocol.commit(await driver.start(f"write {number}"), [], ahead)

    assert "young" in await remembered()


async def test_a_transaction_tells_the_servers_time(driver):
    before = datetime.now(UTC)
    transaction = await driver.client.open_transaction(driver.sink)

    found = await transaction.witnessed_at()

    assert before - timedelta(seconds=1) < found <= datetime.now(UTC) + timedelta(seconds=1)
    await transaction.abort()


async def test_every_record_comes_in_turn(ledger, sink, put, remembered):
    for number in range(100):
        await put(f"old {number}", 2, retain=1)
        await put(f"young {number}", 0, retain=1)

    # One in eight removes records, each at a random position: about 38 of them reach each record several times.
    for number in range(300):
        await ledger.sweeper.after(record_key(sink, f"later {number}"), datetime.now(UTC))

    left = await remembered()
    assert len([name for name in left if name.startswith("young")]) == 100
    assert len(left) < 130


async def test_notes_of_transactions_that_have_ended_are_removed(client, ledger, sink):
    table = client.table(sink.scope, ledger.table)
    notes = ledger.lease_notes(uuid.uuid4())
    now = datetime.now(UTC).timestamp()
    await notes.note(uuid.UUID(int=1), 600, now - 3 * DAY)
    await notes.note(uuid.UUID(int=2), 600, now - DAY / 2)

    await ledger.sweeper.sweep(record_key(sink, "any"), datetime.now(UTC))

    assert [note.txn_id for note in await notes.all()] == [uuid.UUID(int=2)]
    assert len([entry async for entry in table.entries(NOTES_FROM)]) == 1


async def test_a_protocol_sweeps_as_it_commits(driver, put, remembered):
    await put("old", 31)

    for number in range(40):
        job = await driver.start(f"write {number}")
        await driver.protocol.commit(job, [], datetime.now(UTC))

    assert "old" not in await remembered()
    assert len(await remembered()) == 40
