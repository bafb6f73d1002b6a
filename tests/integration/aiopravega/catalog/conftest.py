"""A client of the real registry, and the catalog over both."""

from collections.abc import AsyncIterator

import pytest

from aiopravega import PravegaClient
from aiopravega.catalog import PravegaCatalog
from aiopravega.emulator import PravegaServer
from aiopravega.schema import RegistryConfig, SchemaFormat, SchemaInfo, SchemaRegistry

ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}%s]}'


@pytest.fixture
async def registry(pravega_emulator: PravegaServer) -> AsyncIterator[SchemaRegistry]:
    """A client of the registry beside the plain server."""
    async with SchemaRegistry(RegistryConfig(uri=pravega_emulator.schema_registry_uri)) as opened:
        yield opened


@pytest.fixture
def catalog(client: PravegaClient, registry: SchemaRegistry) -> PravegaCatalog:
    """The catalog of the plain server."""
    return PravegaCatalog(client, registry)


@pytest.fixture
def order() -> SchemaInfo:
    """A schema of Avro."""
    return SchemaInfo.of(SchemaFormat.AVRO, "shop.Order", ORDER % "")
