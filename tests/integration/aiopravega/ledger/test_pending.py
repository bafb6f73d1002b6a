"""Unfinished writes are finished by the next write to the stream, whatever their ids.

What a driver that died left is made here by taking its steps and stopping.
"""

import asyncio
import logging
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from aiopravega import PravegaConfig
from aiopravega.control import Controller
from aiopravega.ledger import CommitProtocol, CommitState
from aiopravega.ledger.commits.keys import record_key
from pravega_jobs.writes import finished_write


@pytest.fixture
def next_write(driver):
    """Another write to the same stream, as each should begin; returns how many writes of others it has finished."""

    async def begin() -> int:
        return int(await driver.protocol.finish_unfinished(driver.sink))

    return begin


async def state_of(driver, write_id: str = "daily") -> CommitState:
    found = await driver.ledger.lookup(driver.sink, write_id)
    return CommitState(found.record.state)


async def test_a_decided_write_is_finished_by_the_next_one(driver, next_write, events_in):
    await driver.prepare(await driver.start("random"), await driver.write(b"a", b"b"))

    assert await next_write() == 1

    assert await events_in() == [b"a", b"b"]
    assert await state_of(driver, "random") is CommitState.DONE


async def test_a_write_stopped_between_commits_is_finished_by_the_next_write(driver, next_write, events_in):
    parts = await driver.write(b"a", b"b", b"c")
    await driver.prepare(await driver.start(), parts)
    await driver.end(parts[1], commit=True)

    assert await next_write() == 1

    assert await events_in() == [b"a", b"b", b"c"]


async def test_what_is_done_is_not_looked_at_again(driver, next_write):
    await driver.prepare(await driver.start("first"), await driver.write(b"a"))
    await driver.protocol.commit(await driver.start("second"), await driver.write(b"b"))
    assert [write.write_id for write in await driver.ledger.pending.of(driver.sink)] == ["first"]

    assert [await next_write(), await next_write()] == [1, 0]
    assert await driver.ledger.pending.of(driver.sink) == []


async def test_an_entry_that_was_left_after_the_write_was_done_goes(driver, next_write):
    record = await driver.protocol.commit(await driver.start(), await driver.write(b"a"))
    await driver.ledger.pending.note(record)

    assert await next_write() == 0
    assert await driver.ledger.pending.of(driver.sink) == []


async def test_an_entry_without_a_record_is_harmless_and_stays_for_its_driver(driver, next_write, events_in):
    """A driver may be between the two: what it decides later must be found."""
    parts = await driver.write(b"a")
    stored = await driver.prepare(await driver.start(), parts)
    await driver.ledger.forget(stored)  # as if it was not put yet

    assert await next_write() == 0
    assert len(await driver.ledger.pending.of(driver.sink)) == 1
    assert await events_in() == []


async def test_a_record_without_an_entry_is_found_by_its_write_id(driver, next_write, events_in):
    stored = await driver.prepare(await driver.start(), await driver.write(b"a"))
    await driver.ledger.pending.remove(stored.record.attempt, driver.sink)

    assert await next_write() == 0
    assert (await driver.begin()).done is not None
    assert await events_in() == [b"a"]


async def test_the_driver_may_live_and_do_the_same(driver, next_write, events_in):
    for number in range(5):
        job, parts = await driver.start(f"write {number}"), await driver.write(b"a", b"b")
        record, *_ = await asyncio.gather(driver.protocol.commit(job, parts), *(next_write() for _ in range(4)))
        assert (record.state, record.attempt) == (CommitState.DONE, job.attempt)

    assert await events_in() == [b"a"] * 5 + [b"b"] * 5
    assert await driver.ledger.pending.of(driver.sink) == []


async def test_a_driver_that_wakes_up_finds_its_write_done(driver, next_write, events_in):
    parts = await driver.write(b"a")
    stored = await driver.prepare(await driver.start(), parts)
    await next_write()

    record = await driver.protocol.finish(stored)

    assert record is not None
    assert record.state is CommitState.DONE
    assert await events_in() == [b"a"]


async def test_an_invisible_write_that_lost_a_part_is_aborted(driver, next_write, events_in, caplog):
    parts = await driver.leave(b"a", b"b", committed=[], lost=[0])

    assert await next_write() == 0

    assert await driver.is_thrown_away(parts[1])
    assert "write 'daily' to" in caplog.text
    assert "it is lost" in caplog.text
    assert await driver.ledger.pending.of(driver.sink) == []
    await driver.protocol.commit(await driver.start(), await driver.write(b"a", b"b"))
    assert await events_in() == [b"a", b"b"]


async def test_the_rest_of_a_partial_write_is_committed_and_the_write_named(driver, next_write, caplog):
    await driver.leave(b"a", b"b", b"c", committed=[1], lost=[0])

    assert await next_write() == 0

    assert "it is partial (transactions: 1 aborted, " in caplog.text
    assert await driver.ledger.pending.of(driver.sink) == []
    job = await driver.start()  # the same write completes it
    assert job.lost == {0}


async def test_a_write_to_a_stream_that_was_made_again_is_let_be(driver, client, next_write, make_stream, events_in):
    await driver.prepare(await driver.start(), await driver.write(b"a"))
    await client.delete_stream(driver.sink)
    await make_stream(2)

    assert await next_write() == 0
    assert await driver.ledger.pending.of(driver.sink) == []
    assert await events_in() == []


async def test_a_scheduler_that_looks_for_its_write_finishes_other_writes(driver, client, events_in):
    await driver.prepare(await driver.start("random"), await driver.write(b"a"))

    assert await finished_write(client, driver.sink, "its own") is None

    assert await events_in() == [b"a"]


async def test_writes_to_other_streams_are_not_touched(make_driver, make_stream, next_write):
    other = make_driver(await make_stream(1, "other"))
    await other.prepare(await other.start(), await other.write(b"a"))

    assert await next_write() == 0
    assert await state_of(other) is CommitState.PREPARED


async def test_a_write_not_finished_in_time_is_named_and_blocks_no_other(driver, caplog):
    """The controller that this writer asks takes connections and never answers."""
    await driver.prepare(await driver.start(), await driver.write(b"a"))

    async with silent_controller() as silent:
        protocol = CommitProtocol(silent, driver.ledger)
        assert await protocol.finish_unfinished(driver.sink, within=2.0) == 0

    assert "write 'daily' to" in caplog.text
    assert "could not be finished within 2 s" in caplog.text
    assert await driver.protocol.finish_unfinished(driver.sink) == 1


async def test_a_failure_with_one_write_does_not_stop_finishing_the_others(driver, next_write, client, caplog):
    caplog.set_level(logging.WARNING)
    await driver.prepare(await driver.start("first"), await driver.write(b"a"))
    await driver.prepare(await driver.start("second"), await driver.write(b"b"))
    key = record_key(driver.sink, "first")
    await client.table(driver.sink.scope, driver.ledger.table).put(key, b'{"version": 99}')

    assert await next_write() == 1

    assert "write 'first' to" in caplog.text
    assert "version 99" in caplog.text
    assert await state_of(driver, "second") is CommitState.DONE


async def test_without_a_ledger_there_is_nothing_to_finish(client, sink, scope, caplog):
    protocol = client.commit_ledger(scope, "no-such-table").protocol()

    assert await protocol.finish_unfinished(sink) == 0
    assert caplog.text == ""


async def test_entries_of_transactions_that_have_ended_are_removed(driver):
    stored = await driver.prepare(await driver.start(), [])
    await driver.ledger.forget(stored)

    for days, left in ((1, 1), (3, 0)):
        now = datetime.now(UTC) + timedelta(days=days)
        await driver.ledger.sweeper.sweep(record_key(driver.sink, "any"), now)
        assert len(await driver.ledger.pending.of(driver.sink)) == left


@asynccontextmanager
async def silent_controller():
    """A controller behind which nobody answers."""
    ended = asyncio.Event()

    async def take(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ended.wait()
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    controller = Controller(PravegaConfig(controller_uri=f"tcp://127.0.0.1:{port}"))
    try:
        yield controller
    finally:
        await controller.close()
        ended.set()
        server.close()
