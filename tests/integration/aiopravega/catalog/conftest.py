"""A client of the real registry, and the catalog over both."""

import pytest

from aiopravega import PravegaClient
from aiopravega.catalog import PravegaCatalog
from aiopravega.schema import SchemaFormat, SchemaInfo, SchemaRegistry

ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}%s]}'


@pytest.fixture
def catalog(client: PravegaClient, registry: SchemaRegistry) -> PravegaCatalog:
    """The catalog of the plain server."""
    return PravegaCatalog(client, registry)


@pytest.fixture
def order() -> SchemaInfo:
    """A schema of Avro."""
    return SchemaInfo.of(SchemaFormat.AVRO, "shop.Order", ORDER % "")
