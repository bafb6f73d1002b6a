"""Compatibility beside a real registry: its verdicts on Avro are as recorded; the command compares with its groups."""

import asyncio
import json
import uuid

import pytest
from tests.unit.aiopravega.schema.changes import changes

from aiopravega.commands.main import main
from aiopravega.schema import Compatibility, GroupProperties, SchemaFormat, SchemaInfo

USER = '{"type":"record","name":"User","namespace":"demo","fields":[{"name":"id","type":"int"}]}'
FULLER = USER.replace("]}", ',{"name":"email","type":"string","default":""}]}')
STRICT = FULLER.replace(',"default":""', "")


def avro(text: str) -> SchemaInfo:
    return SchemaInfo.of(SchemaFormat.AVRO, "demo.User", text)


@pytest.mark.slow
async def test_the_registry_s_verdicts_are_those_of_the_table(registry):
    """All changes that it takes; the docs page says what its own check misses."""
    different = []
    for change in changes(SchemaFormat.AVRO):
        if change.server is None:
            continue
        old, new = (named(schema) for schema in (change.old, change.new))
        group = f"compatibility-{uuid.uuid4().hex}"
        await registry.create_group(group, GroupProperties.of(SchemaFormat.AVRO, "AllowAny"))
        await registry.add_schema(group, old)
        for direction, recorded in change.server.items():
            policy = Compatibility(policy=direction.capitalize())
            if await registry.validate(group, new, policy) != recorded:
                different.append((change.name, direction))
        await registry.delete_group(group)
    assert not different


def named(schema: SchemaInfo) -> SchemaInfo:
    """With the record's own name, as the registry wants."""
    value = json.loads(schema.text)
    return schema.model_copy(update={"type": f"{value['namespace']}.{value['name']}"})


async def test_the_command_compares_with_the_versions_of_a_group_by_its_policy(registry, tmp_path, capsys):
    group = f"compatibility-{uuid.uuid4().hex}"
    await registry.create_group(group, GroupProperties.of(SchemaFormat.AVRO, "BackwardTransitive"))
    await registry.add_schema(group, avro(USER))
    await registry.add_schema(group, avro(FULLER))
    file = tmp_path / "new.avsc"
    file.write_text(STRICT)
    words = ["schema", "check", "--group", group, "--registry", registry.config.uri, "--new", str(file)]

    assert await in_a_thread(words) == 1
    assert "1 violation (Avro, BackwardTransitive, compared with versions: 0, 1)" in capsys.readouterr().out
    assert await in_a_thread([*words, "--policy", "BackwardTill=1"]) == 0
    assert len(await registry.versions(group)) == 2
    assert await in_a_thread([*words, "--type", "demo.Other"]) == 1
    assert "keep the type demo.User" in capsys.readouterr().out


async def in_a_thread(words: list[str]) -> int:
    """The command has an event loop of its own."""
    return await asyncio.to_thread(main, words)
