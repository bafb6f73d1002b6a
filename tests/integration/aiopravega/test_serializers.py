"""Serializers and a real registry: their requests, and the errors for bad input."""

import asyncio
import zlib

import pyarrow as pa
import pytest

from aiopravega.blocking import blocks
from aiopravega.blocking import serializers as blocking
from aiopravega.blocking.registry import SchemaRegistry as BlockingRegistry
from aiopravega.errors import (
    CodecNotRegisteredError,
    ConfigurationError,
    GroupNotFoundError,
    InvalidSchemaError,
    MalformedEventError,
    PermissionDeniedError,
    PravegaConnectionError,
    SchemaNotFoundError,
    SchemaRefusedError,
)
from aiopravega.schema import CodecType, GroupProperties, RegistryConfig, SchemaFormat, SchemaRegistry, header
from aiopravega.schema.open.blocks import open_block_reader, open_block_serializer
from aiopravega.schema.registry.codecs import GZIP, SNAPPY
from aiopravega.schema.serializers import AvroFormat, CustomFormat, JsonFormat, open_deserializer, open_serializer

AVRO = GroupProperties.of(SchemaFormat.AVRO, "Backward")
FIELDS = [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}]
USER = AvroFormat({"type": "record", "name": "demo.User", "fields": FIELDS})
OTHER = AvroFormat({"type": "record", "name": "demo.User", "fields": [{"name": "id", "type": "string"}]})
ALICE = {"id": 7, "name": "alice"}


@pytest.fixture
async def counted(registry_config):
    """The registry after a proxy that counts its requests, as they are on the wire."""
    host, port = registry_config.uri.removeprefix("http://").split(":")
    requests: list[bytes] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, note: bool) -> None:
        while data := await reader.read(65536):
            if note:
                requests.extend(line for line in data.split(b"\r\n") if line.endswith(b" HTTP/1.1"))
            writer.write(data)
            await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pump(reader, upstream_writer, True), pump(upstream_reader, writer, False))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with SchemaRegistry(RegistryConfig(uri=address)) as opened:
            yield opened, requests


async def test_the_registry_gets_one_request_a_schema_and_none_for_events(counted, group):
    registry, requests = counted
    serializer = await open_serializer(registry, group, USER)
    asked = len(requests)
    events = serializer.serialize_many([ALICE] * 1000)
    assert len(requests) == asked

    deserializer = await open_deserializer(registry, group)
    assert await deserializer.deserialize_many(events) == [ALICE] * 1000
    assert [await deserializer.deserialize(event) for event in events[:10]] == [ALICE] * 10
    reader = await open_block_reader(registry, group)
    for _ in range(3):
        assert (await reader.batch(pa.array(events, pa.binary()))).num_rows == 1000

    assert len([line for line in requests if b"/encodings/" in line]) == 1
    assert len(requests) - asked <= 4  # twice the group's history, its newest schema, and the encoding
    for _ in range(3):
        with pytest.raises(SchemaNotFoundError):
            await deserializer.deserialize(header(999) + b"x")
    assert len([line for line in requests if b"/encodings/999" in line]) == 1


async def test_a_group_that_is_made_again_is_noticed(registry, group):
    first = await open_serializer(registry, group, USER)
    deserializer = await open_deserializer(registry, group)
    assert await deserializer.deserialize(first.serialize(ALICE)) == ALICE
    assert not await deserializer.refresh()

    await registry.delete_group(group)
    again = await open_serializer(registry, group, OTHER)

    assert again.encoding_id == first.encoding_id  # so the event alone would not show it
    assert await deserializer.refresh()
    assert await deserializer.deserialize(again.serialize({"id": "seven"})) == {"id": "seven"}


async def test_a_schema_may_be_looked_for_only(registry, group):
    await registry.create_group(group, AVRO)
    with pytest.raises(SchemaNotFoundError, match="register=True"):
        await open_serializer(registry, group, USER, register=False)
    await registry.add_schema(group, USER.info)
    with pytest.raises(CodecNotRegisteredError, match="does not allow the codec"):
        await open_serializer(registry, group, USER, codec=GZIP, register=False)
    await registry.add_codec(group, CodecType(name=GZIP))

    serializer = await open_serializer(registry, group, USER, codec=GZIP, register=False)

    assert await (await open_deserializer(registry, group)).deserialize(serializer.serialize(ALICE)) == ALICE


async def test_nothing_of_a_refused_schema_is_registered(registry, group):
    with pytest.raises(GroupNotFoundError):
        await open_serializer(registry, group, USER, register=False)
    with pytest.raises(InvalidSchemaError):
        await open_serializer(registry, group, JsonFormat('{"type": "nonsense"}', "x"))
    with pytest.raises(ConfigurationError, match="Sideways"):
        await open_serializer(registry, group, USER, new_policy="Sideways")
    with pytest.raises(GroupNotFoundError):
        await registry.group(group)
    await registry.create_group(group, AVRO)
    columns = pa.schema([("id", pa.string()), ("name", pa.string())])
    for refused, error in (
        (open_serializer(registry, group, JsonFormat("{}", "x")), SchemaRefusedError),
        (open_serializer(registry, group, CustomFormat("f", "x", b"", bytes, lambda *_: 0)), SchemaRefusedError),
        (open_serializer(registry, group, USER, codec="application/x-unheard"), CodecNotRegisteredError),
        (open_serializer(registry, group, USER, header=False), ConfigurationError),
        (open_block_serializer(registry, group, USER.info, columns), ConfigurationError),
    ):
        with pytest.raises(error):
            await refused
    assert (await registry.versions(group), await registry.codecs(group)) == ([], [])

    await open_serializer(registry, group, USER)
    with pytest.raises(SchemaRefusedError, match="refused: demo.User"):
        await open_serializer(registry, group, OTHER, codec=GZIP)
    assert (len(await registry.versions(group)), await registry.codecs(group)) == (1, [])


async def test_bad_events_are_reported_with_their_faults(registry, group):
    serializer = await open_serializer(registry, group, USER)
    packing = await open_serializer(registry, group, USER, codec=GZIP)
    deserializer = await open_deserializer(registry, group, limit=1000)
    event = serializer.serialize(ALICE)
    bomb = zlib.compressobj(wbits=31)
    packed = bomb.compress(bytes(10_000_000)) + bomb.flush()

    for bad, error, said in (
        (b"", MalformedEventError, "of 0 bytes"),
        (b"\x02" + event[1:], MalformedEventError, "its first byte is 2"),
        (b'{"id":7}', MalformedEventError, "no header of a Schema Registry"),
        (header(77) + event[5:], SchemaNotFoundError, "encoding 77"),
        (event[:-1], MalformedEventError, "not a datum of its Avro schema"),
        (event + b"more", MalformedEventError, "bytes follow the end"),
        (packing.serialize(ALICE)[:-3], MalformedEventError, "cut off"),
        (packing.serialize(ALICE)[:5] + packed, MalformedEventError, "more than the limit of 1000 bytes"),
    ):
        with pytest.raises(error, match=said):
            await deserializer.deserialize(bad)

    await registry.add_codec(group, CodecType(name="application/x-unheard"))
    unheard = await registry.encoding_id(group, serializer.version, "application/x-unheard")
    with pytest.raises(CodecNotRegisteredError, match="register_codec"):
        await deserializer.deserialize(header(unheard) + b"x")


@pytest.mark.parametrize("codec", ["", SNAPPY])
async def test_blocks_go_there_and_back(registry, group, codec):
    rows = pa.RecordBatch.from_pylist([{"id": 7, "name": "alice"}, {"id": 8, "name": ""}])

    serializer = await open_block_serializer(registry, group, USER.info, rows.schema, codec=codec)
    events = serializer.events(rows)
    reader = await open_block_reader(registry, group)

    assert (await reader.batch(events)).to_pylist() == rows.to_pylist()
    assert await (await open_deserializer(registry, group)).deserialize_many(events.to_pylist()) == rows.to_pylist()
    with pytest.raises(MalformedEventError, match="event 1 of 2"):
        await reader.batch(pa.array([events[0].as_py(), header(99) + b"x"], pa.binary()))
    with pytest.raises(MalformedEventError, match="event 0 of 1.*no header"):
        await reader.batch(pa.array([b"nonsense"]))


def test_the_blocking_form_does_the_same(registry_config, group):
    with BlockingRegistry(registry_config) as registry:
        serializer = blocking.open_serializer(registry, group, USER)
        event = serializer.serialize(ALICE)
        many = blocking.open_multi_serializer(registry, group, [USER], codec=GZIP)
        deserializer = blocking.open_deserializer(registry, group)

        assert deserializer.deserialize(event) == ALICE
        assert deserializer.deserialize_many([event, many.serialize(ALICE, "demo.User")]) == [ALICE] * 2
        assert deserializer.encoding(event).version_info == serializer.version
        assert not deserializer.refresh()
        for bad in (b"nonsense", event[:-1]):
            with pytest.raises(MalformedEventError):
                deserializer.deserialize(bad)
            with pytest.raises(MalformedEventError):
                deserializer.deserialize_many([event, bad])
        assert deserializer.deserialize_each([event, event]) == ([ALICE, ALICE], {})
        values, errors = deserializer.deserialize_each(iter([b"nonsense", event, event[:-1], header(99), event]))
        assert values == [ALICE, ALICE]
        assert {number: type(error) for number, error in errors.items()} == {
            0: MalformedEventError,
            2: MalformedEventError,
            3: SchemaNotFoundError,
        }
        rows = pa.RecordBatch.from_pylist([ALICE])
        events = blocks.open_block_serializer(registry, group, USER.info, rows.schema).events(rows)
        assert events.to_pylist() == [event]
        assert blocks.open_block_reader(registry, group).batch(events).to_pylist() == [ALICE]


async def test_who_may_only_read_cannot_open_a_serializer(pravega_emulator_secure, group):
    uri = pravega_emulator_secure.schema_registry_uri
    async with SchemaRegistry(RegistryConfig.beside(pravega_emulator_secure.config, uri)) as registry:
        await registry.create_group(group, AVRO)
    async with SchemaRegistry(RegistryConfig.beside(pravega_emulator_secure.config_for("reader"), uri)) as registry:
        with pytest.raises(PermissionDeniedError):
            await open_serializer(registry, group, USER)


async def test_a_missing_registry_is_reported_within_the_time_limit(unused_tcp_port):
    config = RegistryConfig(uri=f"http://127.0.0.1:{unused_tcp_port}", retry_timeout=0.2)
    async with SchemaRegistry(config) as registry:
        with pytest.raises(PravegaConnectionError, match="is it running there"):
            await open_deserializer(registry, "orders")
