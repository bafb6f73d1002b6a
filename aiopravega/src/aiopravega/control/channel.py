"""The gRPC channel to the controller: plain or TLS, and how it reconnects."""

import asyncio
import contextlib
import socket
import ssl
from pathlib import Path
from typing import Any

import grpc

from aiopravega.addresses import host_and_port
from aiopravega.config import PravegaConfig
from aiopravega.control.status import CallSite, unreachable
from aiopravega.errors import TlsError

_FIRST_RECONNECT = 0.1
# gRPC would wait up to two minutes, long after a controller is back.
_LONGEST_RECONNECT = 2.0
_PING_EVERY = 360.0
_PING_TIMEOUT = 20.0
# Seconds for a handshake; a slower server is recognized by the next attempt.
_LONGEST_PROBE = 2.0


def _options(config: PravegaConfig, server_name: str | None) -> list[tuple[str, str | int]]:
    options: list[tuple[str, str | int]] = [
        ("grpc.initial_reconnect_backoff_ms", round(_FIRST_RECONNECT * 1000)),
        ("grpc.max_reconnect_backoff_ms", round(_LONGEST_RECONNECT * 1000)),
        # gRPC calls it a pause, but it also limits one attempt to connect.
        ("grpc.min_reconnect_backoff_ms", round(config.connect_timeout * 1000)),
        # Calls on a connection that died without a word fail after this time, instead of a quarter of an hour. Pings
        # more often than every five minutes are an attack to a Java server, and it closes the connection.
        ("grpc.keepalive_time_ms", round(_PING_EVERY * 1000)),
        ("grpc.keepalive_timeout_ms", round(_PING_TIMEOUT * 1000)),
        # Channels would share connections, and with them the pause after another client's failure.
        ("grpc.use_local_subchannel_pool", 1),
        # Segment stores are reached directly, so the controller is too, without http_proxy.
        ("grpc.enable_http_proxy", 0),
        # Lists of a hundred thousand segments exceed the default of 4 MB.
        ("grpc.max_receive_message_length", -1),
    ]
    if server_name is not None:
        options.append(("grpc.ssl_target_name_override", server_name))
    return options


async def open_channel(config: PravegaConfig, site: CallSite) -> grpc.Channel:
    """Make a channel for a first call; it connects by itself when it is used.

    Raises:
        TlsError: the CA file holds no certificates, or the server does not speak TLS.
        PravegaConnectionError: no server is there (only found here if names of servers are not to be checked).
    """
    context = config.ssl_context()
    target = await _target(config, site)
    if context is None:
        return grpc.insecure_channel(target, _options(config, None))
    # Without a CA file, trust what the connections to segment stores trust: Python's defaults, not gRPC's own list.
    authorities = config.ca_file or ssl.get_default_verify_paths().cafile
    credentials = grpc.ssl_channel_credentials(_content(authorities) if authorities else None)
    if not config.verify_hostname:
        server_name: str | None = await _certified_name(config, context, site)
    else:  # a target of several has no name
        server_name = config.controllers[0].host if len(config.controllers) > 1 else None
    return grpc.secure_channel(target, credentials, _options(config, server_name))


async def _target(config: PravegaConfig, site: CallSite) -> str:
    """The controllers in gRPC's form, which takes one name, or several IP addresses of one kind."""
    if len(config.controllers) == 1:
        return str(config.controllers[0])
    found: list[tuple[str, int]] = []
    for each in config.controllers:
        try:
            answers = await asyncio.get_running_loop().getaddrinfo(each.host, each.port, type=socket.SOCK_STREAM)
        except OSError:  # another one may be known
            continue
        found += [(str(answer[4][0]), each.port) for answer in answers]
    if not found:
        raise unreachable("name resolution failed for each of them", site)
    kind = "ipv6" if any(":" in host for host, _ in found) else "ipv4"
    mapped = [(f"::ffff:{host}" if kind == "ipv6" and ":" not in host else host, port) for host, port in found]
    return f"{kind}:{','.join(dict.fromkeys(host_and_port(host, port) for host, port in mapped))}"


def _content(file: str) -> bytes:
    return Path(file).read_bytes()


async def _certified_name(config: PravegaConfig, context: ssl.SSLContext, site: CallSite) -> str:
    """A name for which the server's certificate is good.

    gRPC cannot leave out the check of the name, but it can check another one than that in the URI: so the server is
    asked for its certificate first (which must be signed by a trusted authority all the same).
    """
    asked = config.controllers[0]
    try:
        async with asyncio.timeout(config.connect_timeout):
            _, writer = await asyncio.open_connection(asked.host, asked.port, ssl=context)
    except OSError as error:  # ssl.SSLError and TimeoutError are OSErrors
        raise unreachable(str(error) or f"timed out after {config.connect_timeout:g} s", site) from error
    certificate: Any = writer.get_extra_info("peercert")
    await _close(writer)
    names = [name for kind, name in certificate.get("subjectAltName", ()) if kind in ("DNS", "IP Address")]
    names += [value for part in certificate.get("subject", ()) for kind, value in part if kind == "commonName"]
    if not names:
        raise TlsError(f"the certificate of {config.controller_uri} contains no name, so gRPC refuses it")
    first: str = names[0]
    return first.replace("*", "any", 1)  # a wildcard stands for any one label


async def speaks_tls(config: PravegaConfig) -> bool:
    """True if the server encrypts: a server that wants TLS drops plain connections without an answer."""
    asked = config.controllers[0]
    # Only the handshake is sent, so the owner of the certificate does not matter.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(min(_LONGEST_PROBE, config.connect_timeout)):
            _, writer = await asyncio.open_connection(asked.host, asked.port, ssl=context)
    except OSError:  # ssl.SSLError and TimeoutError are OSErrors
        return False
    await _close(writer)
    return True


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
