"""Writes into two streams: whatever an attempt left, all of it is there once, or none of it is.

What a killed attempt leaves is made here by taking its steps and stopping.
"""

import asyncio
import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from aiopravega.commands.main import main
from aiopravega.errors import (
    LedgerError,
    NotVisibleError,
    PartialCommitError,
    SinksError,
    TransactionAbortedError,
    WriteSupersededError,
)
from aiopravega.ledger import CommitState
from aiopravega.ledger.commits.closing import close_write
from aiopravega.ledger.commits.keys import record_key
from aiopravega.ledger.commits.recovery import Resolution, Standing, inspect, resolve
from aiopravega.ledger.commits.write_job import part_records, prepared


class Both:
    """Drivers of one write into two streams, step by step: partition 0 is in the first one, 1 in the second."""

    def __init__(self, first, second):
        self.drivers = (first, second)
        self.first, self.second = first.sink, second.sink
        self.ledger, self.protocol = first.ledger, first.protocol

    async def begin(self, write_id="daily"):
        return await self.protocol.begin(self.second, write_id, uuid.uuid4(), others=[self.first])

    async def write(self, *events, partitions=(0, 1)):
        parts = [
            await self.drivers[number].write_partition(number, event)
            for number, event in zip(partitions, events, strict=True)
        ]
        return [part.model_copy(update={"stream": self.second if part.partition else None}) for part in parts]

    async def prepare(self, job, parts):
        """Decide the write, and no more: a driver that is killed after that leaves this."""
        await self.note(job)
        starts = [await self.ledger.tail(stream) for stream in job.streams]
        return await self.ledger.prepare(prepared(job, parts, starts, None, None, None), job.replaces)

    async def note(self, job):
        """Do what comes before the decision, and no more."""
        for part in part_records(job):
            await self.ledger.join(*part)

    async def end(self, part, *, commit):
        await self.drivers[part.partition].end(part, commit=commit)


@pytest.fixture
async def both(make_driver, make_stream):
    return Both(make_driver(await make_stream(2, "first")), make_driver(await make_stream(1, "second")))


@pytest.fixture
def events_in(read_all, both):
    async def events():
        return [sorted(event.data for event in await read_all(sink)) for sink in (both.first, both.second)]

    return events


@pytest.fixture
def command(pravega_config, capsys):
    async def command(*words):
        code = await asyncio.to_thread(main, ["ledger", *words, "--controller", pravega_config.controller_uri])
        output = capsys.readouterr()
        return code, output.out + output.err

    return command


async def test_a_decided_write_is_finished_by_the_next_writer_to_either_stream(both, events_in):
    for number, finished in enumerate((both.first, both.second)):
        stored = await both.prepare(await both.begin(f"write {number}"), await both.write(b"a", b"b"))
        assert [len(await both.ledger.pending.of(sink)) for sink in (both.first, both.second)] == [1, 1]

        assert await both.protocol.finish_unfinished(finished) == 1

        assert (await both.ledger.lookup(both.first, f"write {number}")).record.state is CommitState.DONE
        assert [await both.ledger.pending.of(sink) for sink in (both.first, both.second)] == [[], []]
        assert await events_in() == [[b"a"] * (number + 1), [b"b"] * (number + 1)]
        assert stored.record.streams == (both.first, both.second)


async def test_a_write_that_is_in_one_stream_is_completed_by_the_same_rows(both, events_in):
    parts = await both.write(b"a", b"b")
    await both.prepare(await both.begin(), parts)
    await both.end(parts[0], commit=True)
    await both.end(parts[1], commit=False)

    job = await both.begin()
    assert job.lost == {1}
    with pytest.raises(PartialCommitError, match="partition 1 has other rows"):
        await both.protocol.commit(job, await both.write(b"x", partitions=(1,)))
    record = await both.protocol.commit(await both.begin(), await both.write(b"b", partitions=(1,)))

    assert record.state is CommitState.DONE
    assert await events_in() == [[b"a"], [b"b"]]
    assert (await both.begin()).done == record


async def test_a_write_whose_leases_ran_out_is_in_no_stream(both, events_in):
    parts = await both.write(b"a", b"b")
    await both.prepare(await both.begin(), parts)
    await both.end(parts[1], commit=False)

    job = await both.begin()

    assert (job.done, job.lost) == (None, None)
    assert await both.drivers[0].is_thrown_away(parts[0])
    await both.protocol.commit(job, await both.write(b"a", b"b"))
    assert await events_in() == [[b"a"], [b"b"]]


async def test_of_two_attempts_one_is_done_and_the_other_aborted(both, events_in):
    jobs = [await both.begin(), await both.begin()]
    parts = [await both.write(b"a", b"b") for _ in jobs]

    done = await asyncio.gather(
        *(both.protocol.commit(job, each) for job, each in zip(jobs, parts, strict=True)), return_exceptions=True
    )

    assert sum(isinstance(each, WriteSupersededError) for each in done) == 1
    loser = parts[[isinstance(each, WriteSupersededError) for each in done].index(True)]
    assert [await driver.is_thrown_away(part) for driver, part in zip(both.drivers, loser, strict=True)] == [True, True]
    assert await events_in() == [[b"a"], [b"b"]]


async def test_a_write_to_one_of_the_streams_and_to_both_do_not_both_happen(both, events_in):
    alone, job = await both.drivers[1].start(), await both.begin()
    parts = await both.write(b"a", b"b")
    await both.drivers[1].protocol.commit(alone, await both.drivers[1].write(b"alone"))

    with pytest.raises(WriteSupersededError, match="another write has this write id"):
        await both.protocol.commit(job, parts)
    with pytest.raises(SinksError, match=f"it was written to {both.second}"):
        await both.begin()
    assert await events_in() == [[], [b"alone"]]
    assert await both.drivers[0].is_thrown_away(parts[0])


async def test_a_deleted_stream_takes_its_part_and_the_other_is_finished(both, client, read_all):
    job, parts = await both.begin(), await both.write(b"a", b"b")
    stored = await both.prepare(job, parts)
    await client.delete_stream(both.second)

    assert (await inspect(client.controller, stored)).standing is Standing.UNFINISHED
    assert await both.protocol.finish_unfinished(both.first) == 1

    assert [event.data for event in await read_all(both.first)] == [b"a"]
    await client.create_stream(both.second)
    with pytest.raises(PartialCommitError, match=f"{both.second} was deleted and made again"):
        await both.begin()


async def test_a_stream_that_is_made_again_meanwhile_decides_nothing(both, client, read_all):
    job, parts = await both.begin(), await both.write(b"a", b"b")
    await client.delete_stream(both.second)
    await client.create_stream(both.second)

    with pytest.raises(TransactionAbortedError, match=f"{both.second} was deleted and made again"):
        await both.protocol.commit(job, [parts[0]])
    assert [await read_all(sink) for sink in (both.first, both.second)] == [[], []]


async def test_readers_wait_until_all_parts_are_visible(both, client, events_in):
    parts = await both.write(b"a", b"b")
    await both.prepare(await both.begin(), parts)
    await both.end(parts[0], commit=True)
    with pytest.raises(NotVisibleError, match="it is prepared"):
        await client.visible_write(both.first, "daily")
    with pytest.raises(NotVisibleError):
        [event async for event in client.read_visible(both.first, "daily")]

    waiting = asyncio.create_task(client.visible_write(both.second, "daily", within=60))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    await both.protocol.finish_unfinished(both.second)

    assert (await waiting).total_events == 2
    assert await events_in() == [[b"a"], [b"b"]]
    for sink, event in ((both.first, b"a"), (both.second, b"b")):
        assert [one.data async for one in client.read_visible(sink, "daily")] == [event]


async def test_a_writer_that_does_not_wait_is_visible_when_its_commits_are(both, client):
    quick = both.ledger.protocol(visible_within=None)
    job = await both.begin()
    record = await quick.commit(job, await both.write(b"a", b"b"))

    assert (record.end, record.others[0].end) == (None, None)
    assert (await client.visible_write(both.second, "daily", within=60)).attempt == job.attempt


async def test_the_command_shows_each_stream_and_finishes_both(both, command, events_in):
    await both.prepare(await both.begin(), await both.write(b"a", b"bb"))

    for where in (both.first.scope, str(both.first), str(both.second)):
        code, text = await command("list", where)
        assert (code, [line.split()[0] for line in text.splitlines()[1:]]) == (0, [str(both.first), str(both.second)])
    code, text = await command("verify", str(both.second), "--json")
    [found] = json.loads(text)
    assert (code, found["standing"], found["streams"]) == (1, "unfinished", [str(both.first), str(both.second)])
    code, _ = await command("finish", str(both.second), "--yes")

    assert code == 0
    assert await events_in() == [[b"a"], [b"bb"]]
    _, text = await command("show", str(both.second), "--write-id", "daily")
    assert text.count("end: H4s") == 2


async def test_a_forgotten_write_leaves_nothing_at_either_stream(both, command):
    await both.protocol.commit(await both.begin(), await both.write(b"a", b"b"))
    named = (str(both.second), "--write-id", "daily", "--yes")

    code, text = await command("resolve", *named, "--forget")

    assert code == 0, text
    assert [await both.ledger.lookup(sink, "daily") for sink in (both.first, both.second)] == [None, None]
    assert (await both.drivers[1].begin()).done is None


async def test_what_was_not_decided_is_forgotten_or_closed_with_the_write(both, client, command):
    await both.note(await both.begin())
    code, text = await command("verify", str(both.second))
    assert (code, "undecided" in text) == (1, True)
    with pytest.raises(SinksError, match=f"{both.first} has its record"):
        await both.drivers[1].begin()
    [stored] = [stored async for stored in both.ledger.records()]
    with pytest.raises(LedgerError, match="can only be forgotten"):
        await resolve(client.controller, both.ledger, await inspect(client.controller, stored), Resolution.DONE)
    assert await close_write(both.protocol, both.ledger, both.second, "daily") is None
    assert (await both.ledger.lookup(both.first, "daily")).record.state is CommitState.CLOSED

    await both.note(await both.begin("another"))
    code, text = await command("resolve", str(both.second), "--write-id", "another", "--yes", "--forget")

    assert code == 0, text
    assert (await both.drivers[1].begin("another")).done is None


async def test_marks_of_streams_go_when_the_record_is_forgotten(both, ledger):
    record = await both.protocol.commit(await both.begin(), await both.write(b"a", b"b"))
    now = datetime.now(UTC)
    await ledger.sweeper.sweep(record_key(both.first, "any"), now + timedelta(days=3))
    assert await ledger.lookup(both.second, "daily") is not None
    found = await ledger.lookup(both.first, "daily")
    assert found.record == record

    await ledger._table.remove(record_key(both.first, "daily"))
    await ledger.sweeper.sweep(record_key(both.first, "any"), now)
    assert await ledger.lookup(both.second, "daily") is not None  # an attempt may live
    await ledger.sweeper.sweep(record_key(both.first, "any"), now + timedelta(days=3))
    assert await ledger.lookup(both.second, "daily") is None
