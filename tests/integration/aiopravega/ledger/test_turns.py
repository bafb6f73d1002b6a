"""Between the cuts of a write are its own events: writes take turns, and a range with others' events is refused."""

import asyncio
import logging

import pytest

from aiopravega.blocking import PravegaClient as BlockingClient
from aiopravega.errors import InvalidStreamCutError, MixedRangeError
from aiopravega.ledger import CommitRecord
from aiopravega.ledger.commits import turns
from aiopravega.ledger.commits.pending import TURN, entry_key


@pytest.fixture
def events_between(client):
    async def events(record: CommitRecord) -> list[bytes]:
        assert record.cuts is not None
        return sorted([event.data async for event in client.read(record.cuts)])

    return events


@pytest.fixture
async def turn_is_free(client, ledger, sink):
    async def is_free() -> bool:
        return await client.table(ledger.scope, ledger.table).get(entry_key(sink, TURN)) is None

    return is_free


async def test_writes_at_the_same_moment_have_only_their_own_events(
    make_driver, client, events_between, turn_is_free, pravega_config
):
    drivers = {f"part-{number}": make_driver() for number in range(6)}
    jobs = {name: await each.start(name) for name, each in drivers.items()}
    parts = {name: await each.write(f"{name} a".encode(), f"{name} b".encode()) for name, each in drivers.items()}

    done = await asyncio.gather(*(drivers[name].protocol.commit(jobs[name], parts[name]) for name in drivers))

    for name, record in zip(drivers, done, strict=True):
        assert await events_between(record) == [f"{name} a".encode(), f"{name} b".encode()]
        assert await client.range_of_write(record) == record.cuts
    assert await turn_is_free()
    with BlockingClient(pravega_config) as blocking:
        assert await asyncio.to_thread(blocking.range_of_write, done[0]) == done[0].cuts


async def test_a_range_in_which_others_have_written_is_refused(driver, client, sink):
    head = (await client.head(sink)).to_text()
    await driver.protocol.commit(await driver.start("another"), await driver.write(b"x"))
    record = await driver.protocol.commit(await driver.start(), await driver.write(b"a", b"b"))
    mixed = record.model_copy(update={"start": head})

    with pytest.raises(MixedRangeError, match=r"write 'daily' to .* has 18 bytes, and between its cuts are 27: others"):
        await client.range_of_write(mixed)

    empty = mixed.model_copy(update={"partitions": ()})
    assert (await client.range_of_write(empty)).start == (await client.range_of_write(empty)).end
    with pytest.raises(InvalidStreamCutError, match="its record has no cuts"):
        await client.range_of_write(record.model_copy(update={"end": None}))


async def test_a_holder_of_the_turn_that_died_is_outlived(
    driver, ledger, sink, events_between, turn_is_free, monkeypatch
):
    monkeypatch.setattr(turns, "_LEASE", 0.5)
    dead = ledger.turns.take(sink, "dead")
    await dead.__aenter__()
    assert not await turn_is_free()
    assert await ledger.pending.of(sink) == []

    record = await driver.protocol.commit(await driver.start(), await driver.write(b"a"))

    assert await events_between(record) == [b"a"]
    assert await turn_is_free()
    await dead.__aexit__(None, None, None)  # it was not dead, and finds that its turn is over


async def test_a_write_that_gets_no_turn_is_done_without_it(driver, ledger, sink, events_in, caplog, monkeypatch):
    monkeypatch.setattr(turns, "_PATIENCE", 0.5)
    async with ledger.turns.take(sink, "long"):
        with caplog.at_level(logging.WARNING):
            await driver.protocol.commit(await driver.start(), await driver.write(b"a"))

    assert await events_in() == [b"a"]
    assert "is done out of turn" in caplog.text


async def test_a_write_that_does_not_wait_for_its_events_takes_no_turn(make_driver, ledger, sink):
    driver = make_driver(visible_within=None)
    async with ledger.turns.take(sink, "long"):
        record = await driver.protocol.commit(await driver.start(), await driver.write(b"a"))

    assert record.end is None


async def test_a_record_says_who_made_it(client, driver, ledger):
    protocol = ledger.protocol(claimant="run 1/step load")

    await protocol.commit(await driver.start(), await driver.write(b"a"))

    assert [record.claimant for record in await client.written(driver.sink, "daily")] == ["run 1/step load"]
