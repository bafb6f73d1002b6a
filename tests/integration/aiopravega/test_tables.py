"""Key-value tables with and without secondary keys: we and the Java client see each other's entries."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.java.peer import JavaClient

from aiopravega import TableConfiguration
from aiopravega.blocking import PravegaClient as BlockingClient
from aiopravega.commands.main import main
from aiopravega.errors import ConfigurationError, ScopeNotFoundError, TableConflictError, TableNotFoundError

# Of a primary and a secondary part; the same primary part comes with several secondary ones.
LENGTHS = [(8, 0), (4, 12), (16, 4)]


@pytest.fixture(scope="module")
def java(pravega_config, tmp_path_factory) -> Iterator[JavaClient]:
    with JavaClient(pravega_config.controller_uri, tmp_path_factory.mktemp("java")) as peer:
        yield peer


@pytest.fixture
def ask(java, scope):
    """Asks Java about a table of the test's scope."""

    async def ask(what: str, **how: Any) -> dict[str, Any]:
        return await asyncio.to_thread(java.ask, what, scope=scope, **how)

    return ask


def entries_of(primary: int, secondary: int, count: int = 60) -> dict[tuple[bytes, bytes], bytes]:
    """Entries whose primary parts come three times, where there are secondary parts."""
    same = 3 if secondary else 1
    keys = [
        ((b"%d-" % (number // same)).ljust(primary, b"p"), (b"%d-" % number).ljust(secondary, b"s")[:secondary])
        for number in range(count)
    ]
    return {key: b"value-%d" % number for number, key in enumerate(keys)}


def as_json(entries: dict[tuple[bytes, bytes], bytes]) -> list[dict[str, str]]:
    return [
        {"primary": primary.hex(), "secondary": secondary.hex(), "value": value.hex()}
        for (primary, secondary), value in entries.items()
    ]


@pytest.mark.parametrize(("primary", "secondary"), LENGTHS)
async def test_we_see_the_entries_of_java(client, scope, ask, primary, secondary):
    entries = entries_of(primary, secondary)
    made = await ask("create_table", table="table", partitions=5, primary=primary, secondary=secondary)
    assert made["done"]
    await ask("put", table="table", entries=as_json(entries))

    table = client.table(scope, "table")

    assert await client.describe_table(scope, "table") == TableConfiguration(5, primary, secondary)
    for (first, second), value in entries.items():
        found = await table.get(first + second)
        assert found is not None
        assert found.value == value
    assert {entry.key: entry.value async for entry in table.entries()} == {
        first + second: value for (first, second), value in entries.items()
    }


@pytest.mark.parametrize(("primary", "secondary"), LENGTHS)
async def test_java_sees_our_entries(client, scope, ask, primary, secondary):
    entries = entries_of(primary, secondary)
    await client.create_table(scope, "table", key_length=primary, secondary_key_length=secondary, partitions=5)
    table = client.table(scope, "table")
    for (first, second), value in entries.items():
        await table.put(first + second, value)

    values = await ask("get", table="table", keys=as_json(entries))
    found = await ask("entries", table="table")

    assert values["values"] == [value.hex() for value in entries.values()]
    assert sorted(found["entries"], key=lambda entry: entry["value"]) == sorted(
        as_json(entries), key=lambda entry: entry["value"]
    )


async def test_conditions_hold_for_entries_of_all_writers(client, scope, ask):
    await ask("create_table", table="table", partitions=3, primary=4, secondary=4)
    await ask("put", table="table", entries=as_json({(b"aaaa", b"bbbb"): b"java"}))
    table = client.table(scope, "table")

    entry = await table.get(b"aaaabbbb")
    assert entry is not None
    await table.replace(b"aaaabbbb", b"ours", entry.version)

    answer = await ask("get", table="table", keys=as_json({(b"aaaa", b"bbbb"): b""}))
    assert answer["values"] == [b"ours".hex()]


async def test_a_refused_update_finds_the_entry_that_came_first(client, scope):
    """A server refuses an update because of one that it has not stored yet, and shows the entry as it was."""
    await client.create_table(scope, "table", key_length=4)
    table = client.table(scope, "table")
    version = await table.put(b"key-", b"")

    async def replace(number: int, version: int) -> tuple[int, bytes]:
        value = b"%d" % number
        try:
            return await table.replace(b"key-", value, version), value
        except TableConflictError:
            entry = await table.get(b"key-")
            return entry.version, entry.value

    for _ in range(200):
        outcomes = set(await asyncio.gather(*(replace(number, version) for number in range(3))))
        assert len(outcomes) == 1
        [(newer, _)] = outcomes
        assert newer > version
        version = newer


async def test_entries_that_a_server_has_moved_are_changed_by_their_versions(client, scope):
    """A server compacts a table half a minute after an update, if 4 MiB came since and most of them are old."""
    await client.create_table(scope, "table", key_length=4)
    table = client.table(scope, "table")
    keys = [b"one-", b"two-", b"last"]
    versions = {key: await table.put(key, b"old") for key in keys}
    for _ in range(12):
        await table.put(b"many", bytes(500_000))

    async def index() -> dict[bytes, int]:
        return {key: version async for page in table.key_versions() for key, version in page.items() if key in keys}

    async with asyncio.timeout(300):
        while any(version == versions[key] for key, version in (await index()).items()):  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(1)
    assert {entry.key: entry.version for entry in await table.get_all(keys)} == versions

    newer = await table.replace(b"one-", b"new", versions[b"one-"])
    with pytest.raises(TableConflictError):
        await table.replace(b"one-", b"newer", versions[b"one-"])
    await table.replace_all({b"one-": (b"newer", newer), b"two-": (b"new", versions[b"two-"])})
    await table.remove(b"last", versions[b"last"])
    assert [entry.value for entry in await table.get_all(keys)] == [b"newer", b"new"]


async def test_entries_of_one_primary_part_are_in_one_partition(client, scope):
    await client.create_table(scope, "table", key_length=1, secondary_key_length=2, partitions=8)
    table = client.table(scope, "table")
    keys = [b"a%02d" % number for number in range(40)]
    for key in reversed(keys):
        await table.put(key, b"")

    assert [entry.key async for entry in table.entries()] == keys


async def test_a_key_of_another_length_is_refused(client, scope):
    await client.create_table(scope, "table", key_length=4, secondary_key_length=2)
    table = client.table(scope, "table")

    for call in (table.get(b"abcd"), table.put(b"abcdefg", b""), table.remove(b"")):
        with pytest.raises(ConfigurationError, match=r"the table's keys have 6 \(4 for the primary part\)"):
            await call


async def test_tables_are_listed_described_and_deleted_by_both(client, scope, ask):
    await ask("create_table", table="of-java", partitions=2, primary=8, secondary=4)
    await client.create_table(scope, "ours", key_length=16)

    assert await client.list_tables(scope) == sorted((await ask("list_tables"))["tables"]) == ["of-java", "ours"]
    assert await client.describe_table(scope, "of-java") == TableConfiguration(2, 8, 4)
    assert await client.delete_table(scope, "of-java")
    assert (await ask("delete_table", table="ours"))["done"]

    assert await client.list_tables(scope) == (await ask("list_tables"))["tables"] == []
    assert not await client.delete_table(scope, "ours")
    with pytest.raises(TableNotFoundError, match="does not exist"):
        await client.describe_table(scope, "ours")
    with pytest.raises(TableNotFoundError):
        await client.table(scope, "ours").get(bytes(16))
    with pytest.raises(ScopeNotFoundError):
        await client.list_tables("absent")


async def test_the_blocking_client_does_the_same(scope, client, pravega_config):
    def work():
        with BlockingClient(pravega_config) as blocking:
            blocking.create_table(scope, "table", key_length=2, secondary_key_length=2)
            blocking.table(scope, "table").put(b"abcd", b"value")
            described = blocking.describe_table(scope, "table")
            return blocking.list_tables(scope), described, blocking.delete_table(scope, "table")

    assert await asyncio.to_thread(work) == (["table"], TableConfiguration(1, 2, 2), True)
    assert await client.list_tables(scope) == []


# --- the command --------------------------------------------------------------------------------------------


@pytest.fixture
def command(pravega_config, capsys):
    """Runs `pravega tables`; returns its exit code, output and errors."""

    async def command(*words: str) -> tuple[int, str, str]:
        code = await asyncio.to_thread(main, ["tables", *words, "--controller", pravega_config.controller_uri])
        output = capsys.readouterr()
        return code, output.out, output.err

    return command


async def test_the_command_lists_shows_and_deletes(client, scope, command):
    await client.create_table(scope, "table", key_length=4, secondary_key_length=2, partitions=3)
    for number in range(7):
        await client.table(scope, "table").put(b"key%d__" % number, b"")

    assert (await command("create", f"{scope}/table", "--key-length", "4"))[0] == 1
    code, text, _ = await command("list", scope)
    assert (code, text.splitlines()[1].split()) == (0, [f"{scope}/table", "3", "4", "2"])
    code, text, _ = await command("show", f"{scope}/table", "--json")
    assert json.loads(text) == {
        "table": f"{scope}/table",
        "partitions": 3,
        "key_length": 4,
        "secondary_key_length": 2,
        "entries": 7,
    }
    code, _, said = await command("delete", f"{scope}/table")
    assert (code, "has 7 entries" in said, "--yes" in said) == (1, True, True)
    assert await client.list_tables(scope) == ["table"]
    assert (await command("get", f"{scope}/table", "key0__"))[:2] == (0, "\n")
    assert (await command("get", f"{scope}/table", "key9__"))[0] == 1
    assert "has 4 bytes, and those of" in (await command("get", f"{scope}/table", "key9"))[2]
    assert (await command("put", f"{scope}/table", "key9__", "new"))[0] == 0
    code, _, said = await command("put", f"{scope}/table", "key9__", "newer")
    assert (code, "has the value 'new': replaced" in said) == (1, True)
    assert (await command("put", f"{scope}/table", "6b6579395f5f", "6e65776572", "--format", "hex", "--yes"))[0] == 0
    assert (await command("get", f"{scope}/table", "key9__"))[1] == "newer\n"
    code, text, _ = await command("entries", f"{scope}/table", "--json", "--max", "2")
    assert [len(json.loads(line)["key"]) for line in text.splitlines()] == [6, 6]
    assert "key9__\tnewer" in (await command("entries", f"{scope}/table"))[1].splitlines()
    assert (await command("remove", f"{scope}/table", "key9__"))[0] == 1
    assert (await command("remove", f"{scope}/table", "key9__", "--yes"))[0] == 0
    assert (await command("remove", f"{scope}/table", "key9__", "--yes"))[0] == 1
    code, text, _ = await command("delete", f"{scope}/table", "--yes")
    assert (code, text) == (0, f"{scope}/table: deleted\n")
    assert await client.list_tables(scope) == []
    code, _, said = await command("show", f"{scope}/table")
    assert (code, "TableNotFoundError" in said) == (2, True)
