"""Opening a connection, asyncio or blocking: both sides greet, and what goes wrong is said with the remedy."""

import asyncio
import socket
import ssl

import pytest

from aiopravega import wire
from aiopravega.errors import PravegaConnectionError, PravegaTimeoutError, ProtocolError, TlsError
from aiopravega.net import Connection, Endpoint


async def stay(peer):
    await peer.closed()


async def test_both_sides_greet(serve, open_any):
    greeted = asyncio.Event()

    async def play(peer):
        greeted.set()
        await peer.closed()

    endpoint = await serve(play)
    connection = await open_any(endpoint)

    await greeted.wait()
    assert connection.endpoint == endpoint


async def test_a_hello_that_comes_byte_by_byte(serve, open_any):
    async def play(peer):
        assert await peer.receive() == wire.HELLO
        for byte in wire.encode(wire.Hello(16, 5)):
            peer.send(bytes([byte]))
            await asyncio.sleep(0)
        await peer.closed()

    await open_any(await serve(play, greet=False))


async def test_connecting_to_a_closed_port_names_the_endpoint(open_any):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = Endpoint(*listener.getsockname())

    with pytest.raises(PravegaConnectionError, match=rf"connecting to the segment store {endpoint}") as refused:
        await open_any(endpoint)
    assert "tls" not in str(refused.value)


@pytest.mark.parametrize("host", ["a..name", "x" * 64 + ".example", "no-such-host.invalid"])
async def test_a_name_that_leads_nowhere(open_any, host):
    with pytest.raises(PravegaConnectionError, match=f"connecting to the segment store {host}:6000"):
        await open_any(Endpoint(host, 6000))


async def test_a_server_that_accepts_and_never_greets(serve, open_any):
    with pytest.raises(
        PravegaTimeoutError, match=r"(connecting to the segment store|receiving from) .*: no answer within 0\.2 s"
    ):
        await open_any(await serve(stay, greet=False), timeout=0.2)


async def test_a_server_that_closes_before_its_hello_may_be_busy_or_speak_tls(serve, open_any):
    async def play(peer):
        await peer.receive()

    with pytest.raises(
        PravegaConnectionError, match=r"before the Hello: .* restarting, or it speaks TLS.*tls://"
    ) as lost:
        await open_any(await serve(play, greet=False))
    assert lost.value.retryable


async def test_a_server_of_another_version(serve, open_any):
    async def play(peer):
        peer.send(wire.Hello(30, 20))
        await peer.closed()

    with pytest.raises(ProtocolError, match="speaks versions 20 to 30"):
        await open_any(await serve(play, greet=False))


async def test_a_server_that_says_something_else_first(serve, open_any):
    async def play(peer):
        peer.send(wire.KeepAlive())
        await peer.closed()

    with pytest.raises(ProtocolError, match="began with KeepAlive"):
        await open_any(await serve(play, greet=False))


async def test_a_web_server(serve, open_any):
    async def play(peer):
        peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await peer.closed()

    with pytest.raises(ProtocolError, match="unknown command"):
        await open_any(await serve(play, greet=False))


async def test_tls_with_a_known_authority(serve, open_any, server_tls, client_tls):
    await open_any(await serve(stay, tls=server_tls), client_tls)


async def test_an_unknown_authority_asks_for_the_ca_file(serve, open_any, server_tls):
    with pytest.raises(TlsError, match=r"certificate was refused .* ca_file") as refused:
        await open_any(await serve(stay, tls=server_tls), ssl.create_default_context())
    assert not refused.value.retryable


async def test_a_certificate_for_another_name(serve, open_any, server_tls, client_tls):
    endpoint = await serve(stay, tls=server_tls)
    # All of 127/8 is this machine, and the certificate contains 127.0.0.1 only.
    listener = Endpoint("127.0.0.2", endpoint.port)
    forwarding = await asyncio.start_server(lambda *ends: forward(endpoint, *ends), listener.host, listener.port)

    async with forwarding:
        with pytest.raises(TlsError, match=r"127\.0\.0\.2.*use a host name that it contains"):
            await open_any(listener, client_tls)


async def forward(to, reader, writer):
    there_reader, there_writer = await asyncio.open_connection(to.host, to.port)

    async def copy(source, target):
        while data := await source.read(65536):
            target.write(data)
        target.close()

    await asyncio.gather(copy(reader, there_writer), copy(there_reader, writer), return_exceptions=True)


async def test_plain_to_a_server_of_tls(serve, open_any, server_tls):
    with pytest.raises((PravegaConnectionError, ProtocolError), match="TLS"):
        await open_any(await serve(stay, greet=False, tls=server_tls))


async def test_tls_to_a_plain_server(serve, open_any, client_tls):
    async def play(peer):
        await peer.reader.readexactly(8)  # Pravega cannot read this as a frame and closes

    with pytest.raises(PravegaConnectionError, match=r"restarting, or it speaks no TLS.*tcp://"):
        await open_any(await serve(play, greet=False), client_tls)


async def test_tls_to_a_plain_server_that_talks_first(serve, open_any, client_tls):
    async def play(peer):
        peer.send(wire.Hello(16, 5))
        await peer.closed()

    with pytest.raises(TlsError, match=r"does the server speak TLS\? If not: tcp://"):
        await open_any(await serve(play, greet=False), client_tls)


async def test_tls_to_a_server_that_says_nothing(serve, open_any, client_tls):
    with pytest.raises(PravegaTimeoutError, match=r"connecting to the segment store .*: no answer within \d"):
        await open_any(await serve(stay, greet=False), client_tls, timeout=0.2)


async def test_opening_that_is_cancelled_leaves_no_socket(serve):
    accepted, ended = asyncio.Event(), asyncio.Event()

    async def play(peer):
        accepted.set()
        await peer.closed()
        ended.set()

    opening = asyncio.create_task(Connection.open(await serve(play, greet=False), None, 60.0))
    await accepted.wait()
    opening.cancel()

    with pytest.raises(asyncio.CancelledError):
        await opening
    await ended.wait()
