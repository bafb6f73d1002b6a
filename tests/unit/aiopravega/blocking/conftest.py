"""Blocking forms of all objects of the asyncio API, of a cluster that gets no requests."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from aiopravega import PravegaConfig, StreamCut, StreamCutRange, intervals
from aiopravega.blocking import PravegaClient, Transaction
from aiopravega.blocking.blocks import BlockReader
from aiopravega.blocking.bridge import Face
from aiopravega.blocking.catalog import PravegaCatalog
from aiopravega.blocking.intervals import TakenRange
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.blocking.serializers import Deserializer
from aiopravega.control import KeyRange
from aiopravega.names import SegmentId, StreamName
from aiopravega.schema import GroupId, RegistryConfig, SchemaFormat, SchemaInfo, serializers
from aiopravega.schema.open import blocks as opening
from aiopravega.schema.open.blocks.targets import target_of
from aiopravega.schema.serializers.reading import Readers
from aiopravega.write import transaction as aio

STREAM = StreamName("examples", "orders")
CUT = StreamCut(STREAM, {SegmentId(STREAM, 0, 0): 0})
GROUP = GroupId("orders", "", None)
SCHEMA = SchemaInfo.of(
    SchemaFormat.AVRO, "Order", '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
)


async def open_transaction(client: PravegaClient) -> aio.Transaction:
    asynchronous, segments = client.asynchronous, [KeyRange(SegmentId(STREAM, 0, 0), 0.0, 1.0)]
    return aio.Transaction(
        asynchronous.controller, asynchronous.store, STREAM, uuid.uuid4(), segments, 60.0, writer_id="orders"
    )


@pytest.fixture(scope="module")
def faces() -> Iterator[dict[str, Face[Any]]]:
    """One of each class, by its name; nothing answers at the addresses."""
    client = PravegaClient(PravegaConfig(controller_uri="tcp://localhost:1"))
    registry = SchemaRegistry(RegistryConfig(uri="http://localhost:1"))
    ledger = client.commit_ledger("examples")
    transaction = Transaction(client.loop, client.run(open_transaction(client)))
    readers = Readers(registry.asynchronous, GROUP)
    reader = opening.BlockReader(registry.asynchronous, GROUP, target_of(SCHEMA))
    made: list[Face[Any]] = [
        client,
        client.writer(STREAM),
        client.follow(STREAM, since=CUT),
        transaction,
        client.attach_transaction(STREAM, uuid.uuid4()),
        client.table("examples", "table"),
        client.cut_ledger("examples"),
        ledger,
        ledger.protocol(),
        ledger.keeper(STREAM, uuid.uuid4()),
        registry,
        registry.encodings,
        PravegaCatalog(client, registry),
        Deserializer(client.loop, serializers.Deserializer(readers)),
        BlockReader(client.loop, reader),
        TakenRange(client.loop, intervals.TakenRange(client.asynchronous, StreamCutRange(CUT, CUT))),
    ]
    yield {type(face).__name__: face for face in made}
    transaction.detach()
    registry.close()
    client.close()
