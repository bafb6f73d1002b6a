"""Streams as tables of a catalog: made with their schemas, described, listed, dropped."""

import asyncio
import uuid

import pytest

from aiopravega import PravegaClient, PravegaConfig, ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient as BlockingClient
from aiopravega.blocking.catalog import PravegaCatalog as BlockingCatalog
from aiopravega.blocking.registry import SchemaRegistry as BlockingRegistry
from aiopravega.catalog import Column, PravegaCatalog
from aiopravega.errors import (
    AlreadyExistsError,
    ConfigurationError,
    GroupNotFoundError,
    InvalidSchemaError,
    PermissionDeniedError,
    ScopeNotFoundError,
    StreamNotFoundError,
)
from aiopravega.schema import RegistryConfig, SchemaFormat, SchemaInfo, SchemaRegistry
from aiopravega.schema.open import GroupAddress, find_group


async def test_a_stream_is_made_with_its_schema_and_described(catalog, client, scope, order):
    name = StreamName(scope, "orders")

    made = await catalog.create(name, order, scaling=ScalingPolicy.fixed(3), tags=["sales"])
    async with client.writer(f"{scope}/orders") as writer:
        await writer.write(b"12345", routing_key="k")
    found = await catalog.describe(str(name))

    assert (made.size, found.size) == (0, 8 + 5)
    assert (found.segments, found.tags) == (3, ("sales",))
    assert (found.head, found.tail) == (await client.head(f"{scope}/orders"), await client.tail(f"{scope}/orders"))
    assert (found.group.name, found.group.namespace, found.group.policy) == ("orders", scope, "BackwardTransitive")
    assert found.schema.version_info.type == "shop.Order"
    assert found.columns == (Column("id", "long", nullable=False),)


async def test_the_streams_of_a_scope_are_listed_with_and_without_schemas(catalog, client, scope, order):
    await catalog.create(f"{scope}/orders", order, tags=["sales"])
    await catalog.create(f"{scope}/raw")
    await client.seal_stream(f"{scope}/raw")

    orders, raw = await catalog.list_tables(scope)

    assert scope in await catalog.list_scopes()
    assert (orders.schema is None, raw.schema, raw.columns) == (False, None, ())
    assert (orders.is_sealed, raw.is_sealed) == (False, True)
    assert [one.stream.stream for one in await catalog.list_tables(scope, "sales")] == ["orders"]
    assert [one.group for one in await PravegaCatalog(client).list_tables(scope)] == [None, None]


async def test_a_group_asks_for_what_the_registry_cannot_check_itself(catalog, registry, scope):
    schema = SchemaInfo.of(SchemaFormat.JSON, "", '{"type":"object","properties":{"id":{"type":"integer"}}}')

    made = await catalog.create(f"{scope}/orders", schema, new_policy="Full")

    assert made.group.policy == "Full"
    assert made.columns == (Column("id", "integer", nullable=True),)
    assert (await registry.group("orders", scope)).format is SchemaFormat.JSON


async def test_nothing_is_made_if_one_part_cannot_be(catalog, registry, client, scope, order):
    name = StreamName(scope, "orders")
    wrong = SchemaInfo.of(SchemaFormat.AVRO, "shop.Order", '{"type":"record"}')

    with pytest.raises(InvalidSchemaError):
        await catalog.create(name, wrong)
    with pytest.raises(ConfigurationError, match="no compatibility policy 'Sideways'"):
        await catalog.create(name, order, new_policy="Sideways")
    with pytest.raises(ConfigurationError, match="no Schema Registry"):
        await PravegaCatalog(client).create(name, order)
    with pytest.raises(ConfigurationError, match="tags"):
        await catalog.create(name, order, tags=["x" * 300])
    with pytest.raises(ScopeNotFoundError):
        await catalog.create(f"{scope}-missing/orders", order)

    assert await find_group(registry, GroupAddress.of_stream(name)) is None
    assert not await client.stream_exists(f"{scope}/orders")


async def test_a_stream_is_made_once_also_by_two_at_a_time(catalog, scope, order):
    both = [catalog.create(f"{scope}/orders", order) for _ in range(2)]
    results = await asyncio.gather(*both, return_exceptions=True)

    assert sorted(isinstance(result, AlreadyExistsError) for result in results) == [False, True]
    with pytest.raises(AlreadyExistsError):
        await catalog.create(f"{scope}/orders", order)
    assert (await catalog.describe(f"{scope}/orders")).schema is not None


async def test_a_stream_is_dropped_with_its_schemas_unless_they_may_be_shared(catalog, registry, scope, order):
    await catalog.create(f"{scope}/orders", order)
    assert await catalog.drop(f"{scope}/orders")
    assert not await catalog.drop(f"{scope}/orders")
    with pytest.raises(GroupNotFoundError):
        await registry.group("orders", scope)
    with pytest.raises(StreamNotFoundError):
        await catalog.describe(f"{scope}/orders")

    await catalog.create(f"{scope}/orders", order)
    assert await catalog.drop(f"{scope}/orders", keep_schemas=True)
    assert (await registry.group("orders", scope)).format is SchemaFormat.AVRO


def test_the_blocking_catalog_has_the_same_calls(pravega_config: PravegaConfig, pravega_emulator, scope, order):
    address = RegistryConfig(uri=pravega_emulator.schema_registry_uri)
    with BlockingClient(pravega_config) as client, BlockingRegistry(address) as registry:
        catalog = BlockingCatalog(client, registry)
        made = catalog.create(f"{scope}/orders", order)
        assert catalog.describe(f"{scope}/orders") == made
        assert catalog.list_tables(scope) == [made]
        assert scope in catalog.list_scopes()
        assert catalog.drop(f"{scope}/orders")


async def test_an_account_that_may_only_read_sees_tables_and_makes_none(pravega_emulator_secure, order):
    server = pravega_emulator_secure
    uri = server.schema_registry_uri
    scope = f"client-{uuid.uuid4().hex}"
    async with (
        PravegaClient(server.config) as admin,
        SchemaRegistry(RegistryConfig.beside(server.config, uri)) as schemas,
    ):
        await admin.create_scope(scope)
        made = await PravegaCatalog(admin, schemas).create(f"{scope}/orders", order)

    reader = server.config_for("reader")
    async with PravegaClient(reader) as client, SchemaRegistry(RegistryConfig.beside(reader, uri)) as registry:
        catalog = PravegaCatalog(client, registry)
        assert await catalog.list_tables(scope) == [made]
        with pytest.raises(PermissionDeniedError):
            await catalog.create(f"{scope}/more", order)
        with pytest.raises(PermissionDeniedError):
            await catalog.drop(f"{scope}/orders")
        assert await find_group(registry, GroupAddress.of_stream(StreamName(scope, "more"))) is None
        assert [table.stream.stream for table in await catalog.list_tables(scope)] == ["orders"]
