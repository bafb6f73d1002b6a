"""How the client handles answers, and missing ones: over real sockets, with a server whose answers a test gives."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from aiopravega.errors import (
    AuthenticationError,
    GroupNotFoundError,
    PermissionDeniedError,
    PravegaConnectionError,
    PravegaTimeoutError,
    SchemaNotFoundError,
    SchemaRefusedError,
    ServerError,
)
from aiopravega.schema import CodecType, GroupProperties, RegistryConfig, SchemaFormat, SchemaInfo, SchemaRegistry

GROUP = b'{"serializationFormat":{"serializationFormat":"Avro"},"compatibility":{"policy":"AllowAny"}}'


def answer(status: int, body: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d Whatever\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, len(body)) + body


@asynccontextmanager
async def saying(*answers: bytes | None) -> AsyncIterator[tuple[SchemaRegistry, list[bytes]]]:
    """A registry's client, and the requests that its server got; None as an answer: it sends no answer."""
    got: list[bytes] = []
    script = iter(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readuntil(b"\r\n\r\n"))
        said = next(script)
        if said is None:
            await reader.read()  # until the client goes
        else:
            writer.write(said)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    config = RegistryConfig(uri=f"http://127.0.0.1:{port}", request_timeout=0.5, retry_timeout=5)
    async with server, SchemaRegistry(config) as registry:
        yield registry, got


async def test_a_group_is_read_with_its_namespace():
    async with saying(answer(200, GROUP)) as (registry, got):
        group = await registry.group("a/b ä", "ns")

    assert group.format is SchemaFormat.AVRO
    assert got[0].startswith(b"GET /v1/groups/a%2Fb%20%C3%A4?namespace=ns ")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, AuthenticationError),
        (403, PermissionDeniedError),
        (404, GroupNotFoundError),
        (409, SchemaRefusedError),
        (500, ServerError),
    ],
)
async def test_every_status_is_an_error_of_ours_at_once(status, error):
    async with saying(answer(status, b"because")) as (registry, got):
        with pytest.raises(error, match=f"orders.*status {status}: because"):
            await registry.group("orders")

    assert len(got) == 1


async def test_a_write_that_met_a_stale_token_of_the_server_is_sent_again():
    stale = answer(500, b"updateEntries in table: _schemaregistry/groups/0")
    async with saying(stale, answer(201), answer(200, GROUP)) as (registry, got):
        assert await registry.create_group("orders", GroupProperties.of(SchemaFormat.AVRO, "Backward"))

    assert [request.partition(b" ")[0] for request in got] == [b"POST", b"POST", b"GET"]


async def test_a_server_that_is_not_ready_is_asked_again():
    async with saying(answer(503), answer(502), answer(200, GROUP)) as (registry, got):
        await registry.group("orders")

    assert len(got) == 3


async def test_a_request_that_is_never_answered_ends_and_is_not_sent_again():
    async with saying(None) as (registry, got):
        with pytest.raises(PravegaTimeoutError, match="no answer within 0.5 s"):
            await registry.group("orders")

    assert len(got) == 1


async def test_a_change_whose_answer_is_lost_is_not_sent_again():
    async with saying(b"") as (registry, got):
        with pytest.raises(PravegaConnectionError, match="the connection was lost"):
            await registry.add_codec("orders", CodecType(name="x"))

    assert len(got) == 1


async def test_an_answer_that_is_none_of_the_registrys_is_an_error():
    for body in (b"<html>", b'{"a": 1}'):
        async with saying(answer(200, body)) as (registry, _):
            with pytest.raises(ServerError, match="gave an answer"):
                await registry.group("orders")


async def test_a_registry_that_is_not_there_is_an_error_that_says_so(unused_tcp_port_factory: Callable[[], int]):
    config = RegistryConfig(uri=f"http://127.0.0.1:{unused_tcp_port_factory()}", retry_timeout=0)

    async with SchemaRegistry(config) as registry:
        with pytest.raises(PravegaConnectionError, match="is it running there"):
            await registry.group("orders")


async def test_a_token_that_the_registry_did_not_give_out_is_a_clear_error():
    async with saying(None) as (registry, _):
        with pytest.raises(PravegaTimeoutError, match="after 'made-up', if that is a token of this registry's.*0.5 s"):
            await registry.groups_page(token="made-up")


async def test_pages_of_groups_end_where_the_token_does_not_go_on():
    def page(names: list[str], token: str) -> bytes:
        groups = ",".join(f'"{name}":{GROUP.decode()}' for name in names)
        return answer(200, f'{{"groups":{{{groups}}},"continuationToken":"{token}"}}'.encode())

    # The second page has groups that this account may not read.
    async with saying(page(["a", "b"], "1"), page([], "2"), page(["c"], "3"), page([], "3")) as (registry, got):
        names = [name async for name, _ in registry.groups(page=2)]

    assert names == ["a", "b", "c"]
    assert b"continuationToken=3" in got[-1]


async def test_an_unknown_type_is_not_found_though_the_registry_says_it_failed():
    async with saying(answer(500, b"is null"), answer(200, b'{"schemas":[]}')) as (registry, _):
        with pytest.raises(SchemaNotFoundError, match="no type 'nope'"):
            await registry.latest("orders", type_name="nope")


async def test_a_type_in_a_second_format_is_refused_before_the_registry_hangs():
    info = b'{"type":"A","serializationFormat":{"serializationFormat":"Avro"},"schemaData":""}'
    version = b'{"type":"A","serializationFormat":"Avro","version":0,"id":0}'
    schemas = b'{"schemas":[{"schemaInfo":%s,"versionInfo":%s}]}' % (info, version)
    async with saying(answer(200, GROUP.replace(b"Avro", b"Any")), answer(200, schemas)) as (registry, got):
        with pytest.raises(SchemaRefusedError, match="keep the format Avro, or use another type"):
            await registry.add_schema("orders", SchemaInfo.of(SchemaFormat.JSON, "A", "{}"))

    assert not [request for request in got if request.startswith(b"POST")]


async def test_a_schema_whose_answer_is_lost_is_sent_again_and_compared():
    group, none = answer(200, GROUP), answer(200, b'{"schemas":[]}')
    version = answer(201, b'{"type":"A","serializationFormat":"Avro","version":0,"id":0}')
    schema = SchemaInfo.of(SchemaFormat.AVRO, "A", '{"type":"record","name":"A","fields":[]}')
    async with saying(group, none, b"", version, none) as (registry, got):
        assert (await registry.add_schema("orders", schema)).version == 0

    assert [request.partition(b" ")[0] for request in got] == [b"GET", b"GET", b"POST", b"POST", b"GET"]
