"""The client and a real Schema Registry."""

import pytest

from aiopravega.blocking.registry import SchemaRegistry as BlockingRegistry
from aiopravega.errors import (
    AuthenticationError,
    CodecNotRegisteredError,
    GroupNotFoundError,
    InvalidSchemaError,
    PermissionDeniedError,
    SchemaNotFoundError,
    SchemaRefusedError,
    TlsError,
)
from aiopravega.schema import (
    CodecType,
    EncodingCache,
    GroupId,
    GroupProperties,
    RegistryConfig,
    SchemaFormat,
    SchemaInfo,
    SchemaRegistry,
)

FIRST = '{"type":"record","name":"User","namespace":"demo","fields":[{"name":"id","type":"int"}]}'
SECOND = FIRST.replace("]}", ',{"name":"email","type":"string","default":""}]}')
OTHER = FIRST.replace("int", "string")
AVRO = GroupProperties.of(SchemaFormat.AVRO, "Backward")


def user(text: str) -> SchemaInfo:
    return SchemaInfo.of(SchemaFormat.AVRO, "demo.User", text)


async def test_a_group_has_the_schemas_that_were_added(registry, group):
    assert await registry.create_group(group, AVRO)
    assert not await registry.create_group(group, AVRO)

    first = await registry.add_schema(group, user(FIRST))
    second = await registry.add_schema(group, user(SECOND))

    assert (first.version, second.version) == (0, 1)
    assert await registry.add_schema(group, user(FIRST)) == first
    assert (await registry.group(group)).format is SchemaFormat.AVRO
    assert [one.schema_info.text for one in await registry.versions(group)] == [FIRST, SECOND]
    assert [one.version_info for one in await registry.latest(group)] == [second]


async def test_an_encoding_id_stands_for_a_schema_and_a_codec(registry, group):
    await registry.create_group(group, AVRO)
    version = await registry.add_schema(group, user(FIRST))
    await registry.add_codec(group, CodecType(name="application/x-gzip"))

    plain = await registry.encoding_id(group, version)
    packed = await registry.encoding_id(group, version, "application/x-gzip")

    assert plain != packed
    encoding = await registry.encoding(group, packed)
    assert (encoding.schema_info.text, encoding.codec_type.name) == (FIRST, "application/x-gzip")


async def test_namespaces_keep_groups_apart(registry, group):
    await registry.create_group(group, AVRO, "one")

    assert (await registry.group(group, "one")).compatibility.policy == "Backward"
    with pytest.raises(GroupNotFoundError, match="default namespace"):
        await registry.group(group)


async def test_what_the_registry_refuses_is_an_error_of_ours(registry, group):
    await registry.create_group(group, AVRO)
    version = await registry.add_schema(group, user(FIRST))

    with pytest.raises(SchemaRefusedError, match="type-changed"):
        await registry.add_schema(group, user(OTHER))
    with pytest.raises(SchemaRefusedError, match="has schemas of format Avro, but the candidate is Json"):
        await registry.add_schema(group, SchemaInfo.of(SchemaFormat.JSON, "User", '{"type":"object"}'))
    with pytest.raises(InvalidSchemaError, match="is not JSON"):
        await registry.add_schema(group, user("{"))
    with pytest.raises(CodecNotRegisteredError, match="not registered"):
        await registry.encoding_id(group, version, "application/x-unknown")
    with pytest.raises(SchemaNotFoundError, match="encoding 55"):
        await registry.encoding(group, 55)
    with pytest.raises(GroupNotFoundError, match="no group"):
        await registry.versions(f"{group}-other")
    await registry.delete_group(group)
    await registry.delete_group(group)


async def test_a_group_that_is_made_again_is_another_one(registry, group):
    ids = []
    for text in (FIRST, OTHER):
        await registry.create_group(group, AVRO)
        encoding_id = await registry.encoding_id(group, await registry.add_schema(group, user(text)))
        ids.append((GroupId.of(group, "", await registry.history(group)), encoding_id))
        encodings = EncodingCache(registry)
        assert (await encodings.get(*ids[-1])).schema_info.text == text
        await registry.delete_group(group)

    (before, id_before), (after, id_after) = ids
    assert id_before == id_after  # so the id alone would not distinguish them
    assert before != after


async def test_an_encoding_is_asked_for_once(registry, group):
    await registry.create_group(group, AVRO)
    encoding_id = await registry.encoding_id(group, await registry.add_schema(group, user(FIRST)))
    known = GroupId.of(group, "", await registry.history(group))
    encodings = EncodingCache(registry)
    first = await encodings.get(known, encoding_id)
    await registry.delete_group(group)

    assert await encodings.get(known, encoding_id) is first


def test_the_blocking_client_has_the_same_calls(registry_config, group):
    with BlockingRegistry(registry_config) as registry:
        assert registry.create_group(group, AVRO)
        version = registry.add_schema(group, user(FIRST))
        registry.add_codec(group, CodecType(name="application/x-gzip"))
        encoding_id = registry.encoding_id(group, version, "application/x-gzip")
        known = GroupId.of(group, "", registry.history(group))

        assert registry.encodings.get(known, encoding_id).schema_info.text == FIRST
        assert registry.group(group).format is SchemaFormat.AVRO
        assert registry.versions(group) == registry.latest(group)
        registry.delete_group(group)


async def test_credentials_and_certificates_are_checked(pravega_emulator_secure, group):
    uri = pravega_emulator_secure.schema_registry_uri
    admin = RegistryConfig.beside(pravega_emulator_secure.config, uri)
    async with SchemaRegistry(admin) as registry:
        await registry.create_group(group, AVRO)
        assert (await registry.group(group)).format is SchemaFormat.AVRO

    async with SchemaRegistry(RegistryConfig.beside(pravega_emulator_secure.config_for("reader"), uri)) as registry:
        with pytest.raises(PermissionDeniedError, match="this account may not"):
            await registry.add_schema(group, user(FIRST))

    nobody = RegistryConfig(uri=uri, username="nobody", password="wrong", ca_file=admin.ca_file)
    async with SchemaRegistry(nobody) as registry:
        with pytest.raises(AuthenticationError, match="check username and password"):
            await registry.group(group)

    async with SchemaRegistry(RegistryConfig(uri=uri, retry_timeout=0)) as registry:
        with pytest.raises(TlsError, match="ca_file"):
            await registry.group(group)
