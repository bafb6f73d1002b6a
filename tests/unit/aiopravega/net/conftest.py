"""A segment store that a test plays on a real socket, command by command, and two ways to connect to it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from aiopravega import wire
from aiopravega.net import BulkConnection, Connection, Endpoint
from pravega_emulator.certificates import make_certificates

# A limit that no test reaches, however busy the machine is.
PATIENT = 60.0


class Peer:
    """The server's side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def receive(self) -> Any:
        """The next command that is not a keep-alive."""
        while True:
            kind, length = wire.parse_header(await self.reader.readexactly(wire.FRAME_HEADER))
            command = wire.decode(kind, await self.reader.readexactly(length))
            if not isinstance(command, wire.KeepAlive):
                return command

    async def greet(self) -> None:
        assert await self.receive() == wire.HELLO
        self.send(wire.Hello(16, 5))

    def send(self, *answers: wire.Command | bytes) -> None:
        self.writer.write(b"".join(one if isinstance(one, bytes) else wire.encode(one) for one in answers))

    async def closed(self) -> None:
        """Wait until the client ends the connection."""
        try:
            while await self.reader.read(1 << 20):
                pass
        except ConnectionError:
            pass

    def reset(self) -> None:
        """End the connection at once, with all that is under way."""
        self.writer.transport.abort()


Play = Callable[[Peer], Awaitable[None]]
Serve = Callable[..., Awaitable[Endpoint]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Starts servers that play a part for each connection, by default after the Hello, and then close it.

    What fails in a part fails the test.
    """
    servers: list[asyncio.Server] = []
    parts: list[asyncio.Task[None]] = []

    async def start(play: Play, *, greet: bool = True, tls: ssl.SSLContext | None = None) -> Endpoint:
        async def part(peer: Peer) -> None:
            try:
                if greet:
                    await peer.greet()
                await play(peer)
            except (asyncio.IncompleteReadError, ConnectionError):
                pass  # the client is gone, and the test has its own opinion about that
            finally:
                peer.writer.close()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            parts.append(asyncio.create_task(part(Peer(reader, writer))))

        server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
        servers.append(server)
        return Endpoint(*server.sockets[0].getsockname())

    yield start
    for server in servers:
        server.close()
    for task in parts:
        if not task.done():
            task.cancel()
    for outcome in await asyncio.gather(*parts, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome


@pytest.fixture
async def connect(serve: Serve) -> AsyncIterator[Callable[..., Awaitable[Connection]]]:
    """Plays a part and connects to it; the connections end with the test."""
    opened: list[Connection] = []

    async def make(play: Play, **limits: float) -> Connection:
        opened.append(await Connection.open(await serve(play), None, PATIENT, **limits))
        return opened[-1]

    yield make
    for connection in opened:
        await connection.close()


OpenAny = Callable[..., Awaitable[Connection | BulkConnection]]


@pytest.fixture(params=[Connection, BulkConnection])
async def open_any(request: pytest.FixtureRequest) -> AsyncIterator[OpenAny]:
    """Opens a connection of each kind; what holds for one holds for the other."""
    opened: list[Connection | BulkConnection] = []

    async def make(
        endpoint: Endpoint, tls: ssl.SSLContext | None = None, timeout: float = PATIENT
    ) -> Connection | BulkConnection:
        if request.param is Connection:
            opened.append(await Connection.open(endpoint, tls, timeout))
        else:
            opened.append(await asyncio.to_thread(BulkConnection.open, endpoint, tls, timeout))
        return opened[-1]

    yield make
    for connection in opened:
        if isinstance(connection, Connection):
            await connection.close()
        else:
            connection.close()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An authority, and a certificate for localhost and 127.0.0.1."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def server_tls(certificates: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.chain, certificates.key)
    return context


@pytest.fixture
def client_tls(certificates: Any) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificates.ca)
