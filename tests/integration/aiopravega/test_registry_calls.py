"""Every call of the Schema Registry, on a real one."""

import time
import uuid

import pytest

from aiopravega.blocking.registry import SchemaRegistry as BlockingRegistry
from aiopravega.errors import InvalidSchemaError, SchemaNotFoundError, SchemaRefusedError
from aiopravega.schema import (
    CodecType,
    Compatibility,
    GroupProperties,
    SchemaFormat,
    SchemaInfo,
)
from aiopravega.schema.policy import advanced

AVRO = GroupProperties.of(SchemaFormat.AVRO, "Backward", properties={"owner": "me"})
ANY = GroupProperties.of(SchemaFormat.ANY, multiple_types=True)
FIRST = '{"type":"record","name":"User","namespace":"demo","fields":[{"name":"id","type":"int"}]}'
SECOND = FIRST.replace("]}", ',{"name":"email","type":"string","default":""}]}')
OTHER = FIRST.replace("int", "string")


def user(text: str) -> SchemaInfo:
    return SchemaInfo.of(SchemaFormat.AVRO, "demo.User", text, {"by": "a test"})


@pytest.fixture
def group() -> str:
    return f"group / {uuid.uuid4().hex} é"


@pytest.fixture
async def versions(registry, group):
    """The two versions of a group of its own."""
    await registry.create_group(group, AVRO)
    return [await registry.add_schema(group, user(text)) for text in (FIRST, SECOND)]


async def test_groups_are_listed_page_by_page(registry):
    namespace = uuid.uuid4().hex
    for number in range(5):
        await registry.create_group(f"group-{number}", AVRO, namespace)

    found = {name: properties async for name, properties in registry.groups(namespace, page=2)}

    assert sorted(found) == [f"group-{number}" for number in range(5)]
    assert found["group-3"].properties == {"owner": "me"}
    assert [group async for group in registry.groups(uuid.uuid4().hex)] == []
    await registry.ping()


async def test_a_policy_is_changed_if_it_is_still_the_one_that_was_seen(registry, group, versions):
    seen = (await registry.group(group)).compatibility
    till = advanced(backward=versions[0], forward="Forward")
    with pytest.raises(SchemaRefusedError, match="changing the compatibility"):
        await registry.update_compatibility(group, till, previous=Compatibility(policy="Full"))

    await registry.update_compatibility(group, till, previous=seen)

    assert (await registry.group(group)).compatibility == till
    with pytest.raises(InvalidSchemaError):
        await registry.update_compatibility(group, Compatibility(policy="Sideways"))


async def test_schemas_are_found_by_type_id_version_and_content(registry, group, versions):
    assert (await registry.latest(group, type_name="demo.User"))[0].version_info == versions[1]
    assert len(await registry.versions(group, type_name="demo.User")) == 2
    assert (await registry.schema(group, versions[0].id)).text == FIRST
    assert (await registry.schema_of_version(group, SchemaFormat.AVRO, "demo.User", 1)).text == SECOND
    assert await registry.find_version(group, user(SECOND)) == versions[1]
    assert (await registry.references(user(SECOND)))[group] == versions[1]

    for nothing in (
        registry.latest(group, type_name="demo.Nope"),
        registry.schema(group, 99),
        registry.schema_of_version(group, SchemaFormat.AVRO, "demo.User", 77),
        registry.schema_of_version(group, SchemaFormat.PROTOBUF, "demo.User", 0),
        registry.find_version(group, user(OTHER)),
    ):
        with pytest.raises(SchemaNotFoundError):
            await nothing


@pytest.mark.usefixtures("versions")
async def test_the_registry_says_what_it_would_do(registry, group):
    assert await registry.validate(group, user(FIRST))
    assert not await registry.validate(group, user(OTHER))
    assert await registry.validate(group, user(OTHER), Compatibility(policy="AllowAny"))
    assert await registry.can_read(group, user(FIRST))
    assert not await registry.can_read(group, user(OTHER))
    assert len(await registry.versions(group)) == 2


async def test_deleted_schemas_are_no_versions_but_their_events_stay_readable(registry, group, versions):
    encoding_id = await registry.encoding_id(group, versions[0])
    await registry.delete_version(group, SchemaFormat.AVRO, "demo.User", 0)
    await registry.delete_schema(group, versions[1])

    assert await registry.versions(group) == []
    assert await registry.history(group) == []
    assert (await registry.encoding(group, encoding_id)).schema_info.text == FIRST


@pytest.mark.usefixtures("versions")
async def test_codecs_are_listed(registry, group):
    assert await registry.codecs(group) == []
    await registry.add_codec(group, CodecType(name="my", properties={"a": "b"}))
    assert await registry.codecs(group) == [CodecType(name="my", properties={"a": "b"})]


async def test_a_group_of_any_format_has_each_type_in_one_format(registry, group):
    await registry.create_group(group, ANY)
    await registry.add_schema(group, user(FIRST))
    custom = await registry.add_schema(group, SchemaInfo.of("my.format", "x", b"\0\1"))
    before = time.monotonic()

    with pytest.raises(SchemaRefusedError, match="use another type"):
        await registry.add_schema(group, SchemaInfo.of(SchemaFormat.JSON, "demo.User", '{"type":"object"}'))

    assert time.monotonic() - before < registry.config.request_timeout  # which it would wait for
    assert custom.serialization_format == "my.format"
    assert (await registry.schema(group, custom.id)).name_of_format == "my.format"
    assert len(await registry.versions(group)) == 2


def test_the_blocking_client_mirrors_the_asynchronous_one(registry_config, group):
    with BlockingRegistry(registry_config) as registry:
        registry.ping()
        registry.create_group(group, AVRO, group)
        assert [name for name, _ in registry.groups(group)] == [group]
        assert list(registry.groups_page(group, 1).groups) == [group]
        version = registry.add_schema(group, user(FIRST), group)
        assert registry.latest(group, group, "demo.User")[0].version_info == version
        assert registry.find_version(group, user(FIRST), group) == version
        assert registry.schema(group, version.id, group).text == FIRST
        assert registry.schema_of_version(group, "Avro", "demo.User", 0, group).text == FIRST
        assert registry.validate(group, user(SECOND), namespace=group)
        assert registry.can_read(group, user(FIRST), group)
        assert registry.references(user(FIRST), group) == {group: version}
        assert registry.codecs(group, group) == []
        registry.update_compatibility(group, Compatibility(policy="AllowAny"), namespace=group)
        known = registry.encodings.identify(group, group)
        assert registry.encodings.get(known, registry.encoding_id(group, version, "", group)).schema_info.text == FIRST
        registry.delete_version(group, "Avro", "demo.User", 0, group)
        registry.delete_schema(group, version, group)
        assert registry.versions(group, group) == []
        registry.delete_group(group, group)
