"""`pravega streams` and `scopes`: a person lists, makes, changes and deletes them, and is asked before what is lost."""

import asyncio
import json

import pytest

from aiopravega.commands.main import main


@pytest.fixture
def command(pravega_config, pravega_emulator, capsys, monkeypatch):
    """Runs the command; returns its exit code, output and errors."""
    monkeypatch.setenv("PRAVEGA_SCHEMA_REGISTRY_URI", pravega_emulator.schema_registry_uri)

    async def command(*words: str, topic: str = "streams") -> tuple[int, str, str]:
        code = await asyncio.to_thread(main, [topic, *words, "--controller", pravega_config.controller_uri])
        output = capsys.readouterr()
        return code, output.out, output.err

    return command


async def test_a_stream_is_made_from_a_file_listed_shown_and_deleted(command, scope, order, tmp_path, capsys):
    file = tmp_path / "order.avsc"
    file.write_text(order.text)
    stream = f"{scope}/orders"

    code, text, _ = await command("create", stream, "--schema", str(file), "--segments", "2", "--tag", "sales")
    assert (code, "shop.Order v0" in text) == (0, True)

    code, text, _ = await command("list", scope)
    header, row = text.splitlines()
    assert (code, header.split()) == (0, ["stream", "segments", "bytes", "schema", "policy", "tags"])
    assert row.split() == ["orders", "2", "0", "Avro", "shop.Order", "v0", "BackwardTransitive", "sales"]
    [found] = json.loads((await command("list", scope, "--json"))[1])
    assert (found["stream"], found["schema"]["group"]) == (stream, "orders")

    _, text, _ = await command("show", stream)
    assert text.splitlines()[-1].split() == ["id", "long", "no"]
    assert await asyncio.to_thread(main, ["schema", "columns", stream]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["id", "int64"]

    code, text, said = await command("delete", stream)
    assert (code, text) == (1, "")
    assert "all of them are deleted, and the schemas of its events" in said
    assert "Nothing was done. To do it, say --yes." in said
    assert (await command("delete", stream, "--yes"))[:2] == (0, f"{stream} is deleted\n")
    assert (await command("delete", stream, "--yes"))[0] == 2


async def test_a_stream_is_changed_only_with_a_yes(command, client, scope):
    stream = f"{scope}/orders"
    await client.create_stream(stream)
    async with client.writer(stream) as writer:
        await writer.write(b"event")

    async def changed(*words):
        code, text, said = await command(words[0], stream, *words[1:])
        assert (code, text, "say --yes" in said) == (1, "", True)
        code, text, said = await command(words[0], stream, *words[1:], "--yes")
        assert (code, said) == (0, "")
        return text

    assert "1 segments becomes: at least 2 segments" in await changed(
        "update", "--events-per-second", "100", "--segments", "2"
    )
    assert "7 days, 0:00:00 stay" in await changed("update", "--keep-time", "7d")
    assert "sales" in await changed("tag", "--add", "sales", "--add", "eu")
    assert await changed("tag", "--remove", "eu") == f"{stream}: sales\n"
    assert "has 3 segments now" in await changed("scale", "--segments", "3")
    assert "13 bytes are removed" in await changed("truncate", "latest")
    assert "is sealed" in await changed("seal")
    assert (await command("seal", stream, "--yes"))[0] == 1
    shown = json.loads((await command("show", stream, "--json"))[1])
    assert (shown["tags"], shown["bytes"], shown["sealed"]) == (["sales"], 0, True)


async def test_what_cannot_be_made_or_changed_is_an_error(command, client, scope, tmp_path):
    (tmp_path / "no.avsc").write_text("{")
    stream = f"{scope}/orders"

    async def error(*words, topic="streams"):
        code, text, said = await command(*words, topic=topic)
        assert (code, text) == (2, "")
        return said

    assert "no.avsc is not JSON" in await error("create", stream, "--schema", str(tmp_path / "no.avsc"))
    assert "ScopeNotFoundError" in await error("list", f"{scope}-missing")
    assert f"there is no scope {scope}-made" in await error("create", f"{scope}-made/raw")
    assert (await command("create", f"{scope}-made/raw", "--create-scope"))[0] == 0
    assert "already" in await error("create", f"{scope}-made/raw")
    for words in (["show"], ["scale", "--segments", "2"], ["truncate", "latest"], ["seal"], ["update", "--keep-all"]):
        assert "StreamNotFoundError" in await error(words[0], f"{scope}/missing", *words[1:])
    await client.create_stream(stream)
    assert "nothing is to be changed" in await error("update", stream)
    assert "has no tag 'eu'" in await error("tag", stream, "--remove", "eu")
    assert "is the mark of a ledger" in await error("tag", stream, "--add", "commit-ledger=x")
    assert "not both" in await error("update", stream, "--events-per-second", "1", "--kbytes-per-second", "1")
    assert "give one of --keep-bytes" in await error("update", stream, "--keep-bytes", "1k", "--keep-all")
    assert "ScopeNotEmptyError" in await error("delete", scope, "--yes", topic="scopes")
    for words in (["list", f"{scope}/missing"], ["verify", f"{scope}/missing"]):
        await client.cut_ledger(scope).create()
        assert f"there is no stream {scope}/missing" in await error(*words, topic="cuts")
    await client.commit_ledger(scope).create()
    assert f"there is no stream {scope}/missing" in await error("list", f"{scope}/missing", topic="ledger")


async def test_a_scope_is_made_shown_and_deleted(command, scope):
    made = f"{scope}-other"

    assert (await command("create", made, topic="scopes"))[0] == 0
    assert (await command("create", made, topic="scopes"))[:2] == (1, f"{made} exists already\n")
    assert made in (await command("list", topic="scopes"))[1].splitlines()
    assert (await command("create", f"{made}/orders"))[0] == 0
    shown = json.loads((await command("show", made, "--json", topic="scopes"))[1])
    assert shown == {"scope": made, "streams": ["orders"], "tables": [], "reader_groups": []}
    assert (await command("delete", f"{made}/orders", "--yes"))[0] == 0
    assert (await command("delete", made, topic="scopes"))[0] == 1
    assert (await command("delete", made, "--yes", topic="scopes"))[0] == 0
    assert (await command("delete", made, "--yes", topic="scopes"))[0] == 2
