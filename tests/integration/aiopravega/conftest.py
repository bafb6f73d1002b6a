"""A client of the real server, names that no other test uses, and a way to read a whole stream."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from aiopravega import PravegaClient, PravegaConfig, ScalingPolicy, StreamCut, StreamCutRange
from aiopravega.names import StreamName
from aiopravega.read import Event
from aiopravega.schema import RegistryConfig, SchemaRegistry
from pravega_emulator import PravegaServer

MakeStream = Callable[..., Awaitable[StreamName]]
ReadAll = Callable[[StreamName], Awaitable[list[Event]]]
Eventually = Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]


@pytest.fixture
async def client(pravega_config: PravegaConfig) -> AsyncIterator[PravegaClient]:
    """A client of the plain server."""
    async with PravegaClient(pravega_config) as opened:
        yield opened


@pytest.fixture
async def scope(client: PravegaClient) -> str:
    """A scope of the test's own."""
    name = f"client-{uuid.uuid4().hex}"
    assert await client.create_scope(name)
    return name


@pytest.fixture
def registry_config(pravega_emulator: PravegaServer) -> RegistryConfig:
    """The registry beside the plain server."""
    return RegistryConfig(uri=pravega_emulator.schema_registry_uri)


@pytest.fixture
async def registry(registry_config: RegistryConfig) -> AsyncIterator[SchemaRegistry]:
    """A client of it."""
    async with SchemaRegistry(registry_config) as opened:
        yield opened


@pytest.fixture
def group() -> str:
    """A name of the test's own for a group of schemas."""
    return f"group-{uuid.uuid4().hex}"


@pytest.fixture
def make_stream(client: PravegaClient, scope: str) -> MakeStream:
    """Makes streams in the test's scope."""

    async def make(segments: int = 1, name: str = "stream") -> StreamName:
        assert await client.create_stream(f"{scope}/{name}", ScalingPolicy.fixed(segments))
        return StreamName(scope, name)

    return make


@pytest.fixture
def read_all(client: PravegaClient) -> ReadAll:
    """Reads a stream from head to tail."""

    async def read(stream: StreamName) -> list[Event]:
        everything = StreamCutRange(StreamCut.unbounded(), StreamCut.unbounded())
        return [event async for event in client.read(everything, stream)]

    return read


@pytest.fixture
def eventually() -> Eventually:
    """Asks until the answer is yes; five minutes are the limit."""

    async def ask(question: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(300):
            while True:
                if await question():
                    return
                await asyncio.sleep(0.05)

    return ask
