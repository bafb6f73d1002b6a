"""A client of the real registry, a group of Avro, and schemas that may follow in it or not."""

import uuid
from collections.abc import Callable

import pytest

from aiopravega.schema import GroupProperties, SchemaFormat, SchemaInfo, SchemaRegistry

FIELDS = {
    "v1": "",
    "good": ',{"name":"note","type":"string","default":""}',
    "bad": ',{"name":"amount","type":"double"}',
}


@pytest.fixture
def order() -> Callable[..., SchemaInfo]:
    """Schemas of Avro: the first one, one that may follow it, one that may not."""

    def order(which: str = "v1", name: str = "Order") -> SchemaInfo:
        text = f'{{"type":"record","name":"{name}","fields":[{{"name":"id","type":"long"}}{FIELDS[which]}]}}'
        return SchemaInfo.of(SchemaFormat.AVRO, name, text)

    return order


@pytest.fixture
async def group(registry: SchemaRegistry, order: Callable[..., SchemaInfo]) -> str:
    """A group with the first schema, which newer ones must be able to read."""
    name = f"group-{uuid.uuid4().hex}"
    await registry.create_group(name, GroupProperties.of(SchemaFormat.AVRO, "Backward"))
    await registry.add_schema(name, order())
    return name
