"""`pravega ledger`: what a person sees of writes, and decides about those that cannot be finished by themselves."""

import asyncio
import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from aiopravega.commands.main import main
from aiopravega.ledger import CommitProtocol, CommitState


@pytest.fixture
def command(pravega_config, scope, capsys):
    """Runs the command; returns its exit code, output and errors."""

    async def command(*words: str) -> tuple[int, str, str]:
        verb, *others = words
        where = [] if others and "/" in others[0] and not others[0].startswith("-") else [scope]
        typed = ["ledger", verb, *where, *others, "--controller", pravega_config.controller_uri]
        code = await asyncio.to_thread(main, typed)
        output = capsys.readouterr()
        return code, output.out, output.err

    return command


@pytest.fixture
async def partial(driver):
    """The write `daily`, of which partition 1 is in the stream, 0 is lost, and 2 is open."""
    return await driver.leave(b"a", b"b", b"c", committed=[1], lost=[0])


async def test_writes_are_listed(driver, command):
    await driver.protocol.commit(await driver.start("first"), await driver.write(b"a", b"bb"))
    await driver.prepare(await driver.start("second"), await driver.write(b"c"))

    code, text, _ = await command("list")
    assert code == 0
    header, first, second = text.splitlines()
    heads = ["stream", "write", "id", "generation", "state", "prepared", "done", "partitions", "events", "bytes"]
    assert header.split() == heads
    assert (str(driver.sink) in first, "first" in first, "done" in first) == (True, True, True)
    assert first.split()[-3:] == ["2", "2", "19"]
    assert "prepared" in second

    _, text, _ = await command("list", "--json", "--state", "prepared")
    assert [record["write_id"] for record in json.loads(text)] == ["second"]


async def test_generations_are_listed_with_their_cuts(driver, command):
    done = []
    for generation in (1, 2):
        job = await driver.start(generation=generation)
        done.append(await driver.protocol.commit(job, await driver.write(b"a")))

    _, text, _ = await command("show", "--write-id", "daily")
    assert [line.split()[2:4] for line in text.splitlines()[1:3]] == [["1", "done"], ["2", "done"]]
    assert [line for line in text.splitlines() if line.startswith(("start:", "end:"))] == [
        f"{which}: {cut}" for record in done for which, cut in (("start", record.start), ("end", record.end))
    ]

    _, text, _ = await command("list", "--json")
    found = json.loads(text)
    assert [(record["generation"], record["start"]) for record in found] == [(1, done[0].start), (2, done[1].start)]
    assert all("earlier" not in record for record in found)


async def test_one_write_is_shown_with_its_transactions(driver, command):
    parts = await driver.write(b"a", b"bb")
    await driver.protocol.commit(await driver.start(), parts)

    _, text, _ = await command("show", str(driver.sink), "--write-id", "daily")

    assert all(str(part.txn_id) in text and part.checksum in text for part in parts)


@pytest.mark.usefixtures("partial")
async def test_verification_reports_the_states_of_writes_and_what_to_do(driver, command):
    await driver.protocol.commit(await driver.start("done"), await driver.write(b"x"))

    code, text, _ = await command("verify")
    assert code == 1
    assert "1 aborted, 1 committed, 1 open" in text
    assert "the same rows complete it" in text

    code, text, _ = await command("verify", "--write-id", "done", "--json")
    assert code == 0
    assert [write["standing"] for write in json.loads(text)] == ["done"]


async def test_what_a_dead_driver_had_decided_can_be_finished_by_any_process(driver, command, events_in):
    partitions = await driver.write(b"a", b"b")
    await driver.prepare(await driver.start("without a name of its own"), partitions)
    await driver.end(partitions[1], commit=True)
    await driver.prepare(await driver.start("lost"), [part := (await driver.write(b"x"))[0]])
    await driver.end(part, commit=False)

    code, text, _ = await command("finish", "--json", "--yes")

    standings = {write["write_id"]: write["standing"] for write in json.loads(text)}
    assert (code, standings) == (1, {"without a name of its own": "done", "lost": "lost"})
    assert await events_in() == [b"a", b"b"]


async def test_finishing_does_no_harm_while_the_driver_does_the_same(driver, events_in):
    job, partitions = await driver.start(), await driver.write(b"a", b"b")
    stored = await driver.prepare(job, partitions)

    records = await asyncio.gather(*(driver.protocol.finish(stored) for _ in range(3)))

    assert {record.state for record in records} == {CommitState.DONE}
    assert await events_in() == [b"a", b"b"]


async def test_expire_lists_old_records_and_removes_them_with_a_yes(driver, ledger, command):
    long_ago = datetime.now(UTC) - timedelta(days=2)
    short = CommitProtocol(driver.client.controller, ledger, retain=86_400)
    for name in ("old", "young"):
        await short.commit(await driver.start(name), await driver.write(b"a"), datetime.now(UTC))
    stored = await ledger.lookup(driver.sink, "old")
    await ledger.amend(stored, stored.record.model_copy(update={"witnessed_at": long_ago}).done(long_ago))

    code, _, said = await command("expire")
    assert (code, "old" in said, "young" in said) == (1, True, False)
    assert await ledger.lookup(driver.sink, "old") is not None

    code, text, _ = await command("expire", "--yes")
    assert (code, "old" in text, "1 records were removed" in text) == (0, True, True)
    assert await ledger.lookup(driver.sink, "old") is None
    assert await ledger.lookup(driver.sink, "young") is not None


@pytest.mark.usefixtures("partial")
async def test_a_write_of_a_deleted_stream_needs_no_decision(driver, client, command):
    await client.delete_stream(driver.sink)

    code, text, _ = await command("verify", "--json")

    assert (code, json.loads(text)[0]["standing"]) == (0, "gone")


@pytest.mark.usefixtures("partial")
async def test_nothing_is_decided_without_a_yes(driver, command):
    code, _, said = await command("resolve", "--write-id", "daily", "--forget")

    assert code == 1
    assert "is partial (1 aborted, 1 committed, 1 open). forget: forget its newest generation" in said
    assert (await driver.ledger.lookup(driver.sink, "daily")).record.state is CommitState.PREPARED


async def test_what_is_there_can_be_accepted(driver, partial, command, events_in):
    code, text, _ = await command("resolve", "--write-id", "daily", "--accept", "--yes")

    assert (code, "resolved: accept" in text) == (0, True)
    record = (await driver.begin()).done
    assert (record.state, [part.partition for part in record.partitions]) == (CommitState.DONE, [1])
    assert await driver.is_thrown_away(partial[2])
    assert await events_in() == [b"b"]


async def test_a_forgotten_write_can_be_declared_done(driver, command):
    [committed] = await driver.write(b"a")
    await driver.end(committed, commit=True)
    unknown = committed.model_copy(update={"partition": 1, "txn_id": uuid.UUID(int=committed.txn_id.int ^ 1)})
    await driver.prepare(await driver.start(), [committed, unknown])
    _, text, _ = await command("verify", "--json")
    assert json.loads(text)[0]["standing"] == "forgotten"

    await command("resolve", "--write-id", "daily", "--done", "--yes")

    record = (await driver.begin()).done
    assert (record.state, len(record.partitions)) == (CommitState.DONE, 2)


async def test_a_write_can_be_forgotten_and_run_again(driver, partial, command):
    await command("resolve", "--write-id", "daily", "--forget", "--yes")

    job = await driver.begin()
    assert job.done is None
    assert job.lost is None
    assert await driver.is_thrown_away(partial[2])


@pytest.mark.parametrize("decision", ["--accept", "--done", "--forget"])
async def test_a_write_that_can_be_finished_is_not_decided_about(driver, command, decision):
    await driver.prepare(await driver.start(), await driver.write(b"a"))

    code, _, said = await command("resolve", "--write-id", "daily", decision, "--yes")

    assert (code, "start the write again, or say `finish`: it is finished then" in said) == (2, True)


@pytest.mark.usefixtures("ledger")
async def test_a_write_that_is_not_there_is_an_error(command):
    code, _, said = await command("resolve", "--write-id", "no such", "--forget", "--yes")

    assert (code, "0 writes 'no such'" in said) == (2, True)
