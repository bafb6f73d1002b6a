"""A ledger forgets what is done long ago, and nothing else, however many writes there are."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from aiopravega.ledger import CommitRecord, CommitState, WriteJob
from aiopravega.ledger.commits.commit_record import record_key
from aiopravega.ledger.commits.notes import NOTES_FROM

DAY = 24 * 3600.0


@pytest.fixture
def put(ledger, sink):
    """Puts a record that came so many days ago."""

    async def put(write_id: str, state: CommitState, days: float) -> None:
        at = datetime.now(UTC) - timedelta(days=days)
        record = CommitRecord(
            state=state,
            sink=sink,
            incarnation=0,
            write_id=write_id,
            attempt=uuid.uuid4(),
            partitions=(),
            prepared_at=at,
            done_at=at if state is CommitState.DONE else None,
        )
        await ledger.prepare(record)

    return put


@pytest.fixture
def remembered(ledger):
    async def remembered() -> set[str]:
        return {stored.record.write_id async for stored in ledger.records()}

    return remembered


async def test_what_is_done_for_long_is_forgotten(ledger, sink, put, remembered):
    await put("old", CommitState.DONE, days=31)
    await put("young", CommitState.DONE, days=29)
    await put("old, but not done", CommitState.PREPARED, days=300)

    assert await ledger.sweeper.sweep(record_key(sink, "any"), retain=30 * DAY) == 1
    assert await remembered() == {"young", "old, but not done"}


async def test_every_record_comes_in_turn(ledger, sink, put, remembered):
    for number in range(100):
        await put(f"old {number}", CommitState.DONE, days=2)
        await put(f"young {number}", CommitState.DONE, days=0)

    for number in range(100):
        await ledger.sweeper.after(record_key(sink, f"later {number}"), retain=DAY)

    left = await remembered()
    assert len([name for name in left if name.startswith("young")]) == 100
    assert len(left) < 130


async def test_notes_of_transactions_that_have_ended_are_removed(client, ledger, sink):
    table = client.table(sink.scope, ledger.table)
    notes = ledger.notes(uuid.uuid4())
    now = datetime.now(UTC).timestamp()
    await notes.note(uuid.UUID(int=1), 600, now - 3 * DAY)
    await notes.note(uuid.UUID(int=2), 600, now - DAY / 2)

    await ledger.sweeper.sweep(record_key(sink, "any"), retain=DAY)

    assert [note.txn_id for note in await notes.all()] == [uuid.UUID(int=2)]
    assert len([entry async for entry in table.entries(NOTES_FROM)]) == 1


async def test_a_protocol_sweeps_as_it_commits(driver, put, remembered):
    await put("old", CommitState.DONE, days=31)

    for number in range(40):
        job = await driver.start(f"write {number}")
        assert isinstance(job, WriteJob)
        await driver.protocol.commit(job, [])

    assert "old" not in await remembered()
    assert len(await remembered()) == 40
