"""A ledger goes into a file, and is restored from it: into an emptied one, and not where writes would be done twice.

Each export and import goes through all scopes of its server, so these tests use the one that has the fewest.
"""

import asyncio
import json

import pytest

from aiopravega import ScalingPolicy, StreamCutRange, StreamName
from aiopravega.commands.main import main
from aiopravega.errors import WrongLedgerError
from aiopravega.ledger import CommitState, Interval


@pytest.fixture(scope="session")
def pravega_config(pravega_emulator_secure):
    return pravega_emulator_secure.config


@pytest.fixture
def command(pravega_emulator_secure, scope, capsys, tmp_path, monkeypatch):
    """Runs the command on a ledger's file; returns its exit code, output and errors."""
    for name, value in pravega_emulator_secure.environment().items():
        monkeypatch.setenv(name, value)

    async def command(word: str, *words: str, ledger: str = "commit-ledger") -> tuple[int, str, str]:
        typed = ["ledger", word, f"{scope}/{ledger}", str(tmp_path / f"{ledger}.json"), *words]
        code = await asyncio.to_thread(main, typed)
        output = capsys.readouterr()
        return code, output.out, output.err

    return command


@pytest.fixture
async def written(driver):
    """A write that is done, to a stream that knows the ledger."""
    assert await driver.ledger.mark(driver.sink) is None
    job = await driver.start("first")
    return await driver.protocol.commit(job, await driver.write(b"a", b"bb"))


async def test_a_ledger_that_was_lost_comes_back_and_writes_are_known_again(
    driver, make_driver, client, command, scope, written
):
    code, said, error = await command("export")
    assert code == 0, error
    assert "1 streams" in said
    assert await client.delete_table(scope, "commit-ledger")

    # A job that runs meanwhile makes an empty ledger, and is refused.
    emptied = client.commit_ledger(scope)
    await emptied.create()
    with pytest.raises(WrongLedgerError, match="Put the ledger back from a backup"):
        await emptied.mark(driver.sink)
    code, said, error = await command("import")
    assert (code, "say --yes" in error) == (1, True)
    with pytest.raises(WrongLedgerError):
        await client.commit_ledger(scope).mark(driver.sink)
    code, _, error = await command("import", "--yes")
    assert code == 0, error

    restored = make_driver(ledger=client.commit_ledger(scope))
    assert await restored.ledger.mark(driver.sink) is None
    assert (await restored.begin("first")).done == written
    # Once more it changes nothing, and a new write can begin.
    assert (await command("import", "--yes"))[0] == 0
    assert (await restored.begin("second")).done is None


@pytest.mark.usefixtures("written")
async def test_a_file_that_is_older_than_a_stream_is_refused(driver, make_driver, client, command, scope):
    await command("export")
    later = await driver.protocol.commit(await driver.start("later"), await driver.write(b"c"))
    assert later.state is CommitState.DONE
    await client.delete_table(scope, "commit-ledger")

    code, _, error = await command("import", "--yes")
    assert code == 2
    assert f"{driver.sink} was written to" in error
    assert "commit-ledger" not in await client.list_tables(scope)

    assert (await command("import", "--yes", "--accept-written", str(driver.sink)))[0] == 0
    restored = make_driver(ledger=client.commit_ledger(scope))
    assert (await restored.begin("first")).done is not None
    assert (await restored.begin("later")).done is None


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("exported", ["of the first stream", "of no stream"])
async def test_a_stream_that_was_made_again_is_a_reason_to_refuse(
    driver, client, command, scope, make_stream, events_in, exported
):
    if exported == "of the first stream":
        await command("export")
    await client.delete_stream(driver.sink)
    if exported == "of no stream":
        await command("export")
    assert await make_stream(2) == driver.sink
    await driver.ledger.mark(driver.sink)
    again = await driver.protocol.commit(await driver.start("first"), await driver.write(b"a", b"bb"))
    assert again.state is CommitState.DONE
    await client.delete_table(scope, "commit-ledger")

    code, _, error = await command("import", "--yes")

    assert code == 2
    assert f"{driver.sink} was deleted and made again" in error
    assert "--accept-written" in error
    assert "commit-ledger" not in await client.list_tables(scope)
    assert await events_in() == [b"a", b"bb"]
    assert (await command("import", "--yes", "--accept-written", str(driver.sink)))[0] == 0


async def test_a_stream_that_could_not_be_marked_counts_too(driver, client, command, scope):
    for write_id in ("first", "later"):
        await driver.protocol.commit(await driver.start(write_id), await driver.write(b"a"))
        code, _, error = await command("export") if write_id == "first" else (0, "", "")
        assert code == 0, error
    await client.delete_table(scope, "commit-ledger")

    code, _, error = await command("import", "--yes")

    assert code == 2
    assert f"{driver.sink} was written to" in error


@pytest.mark.usefixtures("written")
async def test_a_stream_that_the_file_does_not_know_is_a_reason_to_refuse(make_driver, client, command, scope):
    await command("export")
    assert await client.create_stream(f"{scope}/another", ScalingPolicy.fixed(1))
    another = make_driver(StreamName(scope, "another"))
    assert await another.ledger.mark(another.sink) is None
    await another.protocol.commit(await another.start("other"), await another.write(b"c"))
    await client.delete_table(scope, "commit-ledger")

    code, _, error = await command("import", "--yes")

    assert code == 2
    assert f"{scope}/another came to the ledger" in error


@pytest.mark.usefixtures("written")
async def test_a_ledger_that_is_in_use_and_a_changed_file_are_refused(driver, command, tmp_path):
    await command("export")
    code, _, error = await command("export")
    assert (code, "exists: give the name of a new file" in error) == (2, True)
    await driver.protocol.commit(await driver.start("later"), await driver.write(b"c"))
    code, _, error = await command("import", "--yes")
    assert (code, "is not empty" in error) == (2, True)

    file = tmp_path / "commit-ledger.json"
    content = json.loads(file.read_text())
    for change, complaint in (
        ({"exported_at": "2026-01-01T00:00:00+00:00"}, "was changed or cut off"),
        ({"version": 2}, "has version 2, and this release reads 1"),
        ({"format": "another"}, "is not a file of"),
    ):
        file.write_text(json.dumps(content | change))
        code, _, error = await command("import", "--yes")
        assert (code, complaint in error) == (2, True), error
    file.write_text(json.dumps(content)[:-100])
    assert "cannot be read" in (await command("import", "--yes"))[2]


async def test_a_ledger_of_intervals_comes_back(client, command, scope, sink):
    ledger = client.cut_ledger(scope)
    await ledger.create()
    day = Interval("etl", sink, "2026-01-05")
    head, tail = await client.head(sink), await client.tail(sink)
    await ledger.record(day, StreamCutRange(head, tail), after=None)
    record = await ledger.find(day)
    await command("export", ledger="cut-ledger")
    await client.delete_table(scope, "cut-ledger")

    code, said, _ = await command("import", "--yes", ledger="cut-ledger")

    assert code == 0
    assert "they will be taken again" in said
    assert await client.cut_ledger(scope).find(day) == record
