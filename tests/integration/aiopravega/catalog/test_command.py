"""`pravega catalog`: what a person sees of scopes and streams, and makes and drops."""

import asyncio
import json

import pytest

from aiopravega.commands.main import main


@pytest.fixture
def command(pravega_config, pravega_emulator, capsys):
    """Runs the command; returns its exit code, output and errors."""

    async def command(*words: str) -> tuple[int, str, str]:
        address = ["--controller", pravega_config.controller_uri, "--registry", pravega_emulator.schema_registry_uri]
        code = await asyncio.to_thread(main, ["catalog", *words, *address])
        output = capsys.readouterr()
        return code, output.out, output.err

    return command


async def test_a_stream_is_made_from_a_file_listed_described_and_dropped(command, scope, order, tmp_path):
    file = tmp_path / "order.avsc"
    file.write_text(order.text)
    stream = f"{scope}/orders"

    code, text, _ = await command("create", stream, "--schema", str(file), "--segments", "2", "--tag", "sales")
    assert (code, "shop.Order v0" in text) == (0, True)

    code, text, _ = await command("ls", scope)
    header, row = text.splitlines()
    assert (code, header.split()) == (0, ["stream", "segments", "bytes", "schema", "policy", "tags"])
    assert row.split() == ["orders", "2", "0", "Avro", "shop.Order", "v0", "BackwardTransitive", "sales"]
    assert scope in (await command("ls"))[1].splitlines()
    [found] = json.loads((await command("ls", scope, "--json"))[1])
    assert (found["stream"], found["schema"]["group"]) == (stream, "orders")

    _, text, _ = await command("describe", stream)
    assert text.splitlines()[-1].split() == ["id", "long", "no"]

    code, _, said = await command("drop", stream)
    assert (code, "To delete all of them, say --yes" in said) == (1, True)
    assert (await command("drop", stream, "--yes"))[:2] == (0, f"{stream} is deleted\n")
    assert (await command("drop", stream, "--yes"))[0] == 1


async def test_what_cannot_be_made_is_an_error(command, scope, tmp_path):
    (tmp_path / "no.avsc").write_text("{")

    code, _, said = await command("create", f"{scope}/orders", "--schema", str(tmp_path / "no.avsc"))
    assert (code, "no.avsc is not JSON" in said) == (2, True)
    code, _, said = await command("ls", f"{scope}-missing")
    assert (code, "ScopeNotFoundError" in said) == (2, True)
    code, _, said = await command("create", f"{scope}-made/raw")
    assert (code, f"there is no scope {scope}-made" in said) == (2, True)
    assert (await command("create", f"{scope}-made/raw", "--create-scope"))[0] == 0
    code, _, said = await command("describe", f"{scope}/missing")
    assert (code, "StreamNotFoundError" in said) == (2, True)
