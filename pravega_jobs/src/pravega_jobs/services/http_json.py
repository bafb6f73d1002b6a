"""JSON from a server by HTTP, with a limit for the whole answer. Only the standard library is needed.

A server that sends a byte now and then keeps a limit of each read from ever being reached. So the connection is shut
when the time is over.
"""

import base64
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import urlsplit

from aiopravega.errors import (
    ConfigurationError,
    PravegaConnectionError,
    PravegaTimeoutError,
    ProtocolError,
    SecurityError,
)

# Longer answers are a mistake: an overview of a cluster with thousands of jobs has less.
_LONGEST: Final = 16 * 1024 * 1024
_REFUSED: Final = (401, 403)


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server that answers with JSON.

    Args:
        uri: `http://host:port` or `https://host:port`, maybe with a path before all others.
        timeout: limit for a whole answer, in seconds.
        username: name for Basic authentication, together with the password.
        password: password for Basic authentication.
        token: token for Bearer authentication.
        ca_file: PEM file of the certificate authority; None: the system's.

    Raises:
        ConfigurationError: the address is not of HTTP, or has a password; or the credentials are not of one kind.
    """

    uri: str
    timeout: float = 10.0
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    ca_file: str | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.uri)
        if parts.username is not None or parts.password is not None:
            raise ConfigurationError("the address of a server has a name or a password: give username and password")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ConfigurationError(f"{self.uri!r} is not an address of HTTP: give http://host:port")
        if (self.username is None) != (self.password is None) or (self.username is not None and self.token is not None):
            raise ConfigurationError(f"credentials for {self.uri}: give a name with its password, or a token")
        if self.timeout <= 0:
            raise ConfigurationError(f"the timeout for {self.uri} is {self.timeout}, but must be greater than 0")

    def get(self, path: str, accepted: tuple[int, ...] = (200,)) -> tuple[int, Any]:
        """The status and the JSON of an answer.

        Raises:
            PravegaConnectionError: nobody answers there.
            PravegaTimeoutError: the answer was not complete within the time.
            SecurityError: the credentials or the certificate are refused.
            ProtocolError: the answer has another status, or is not JSON.
        """
        end = time.monotonic() + self.timeout
        parts = urlsplit(self.uri)
        where = f"{self.uri.rstrip('/')}{path}"
        connection = self._connection(parts.scheme, str(parts.hostname), parts.port)
        try:
            connection.connect()
            with _shut_at(connection, end):
                connection.request("GET", f"{parts.path.rstrip('/')}{path}", headers=self._headers())
                status, body = self._answer(connection, where)
        except TimeoutError:
            raise PravegaTimeoutError(f"{where} has not answered within {self.timeout:g} s") from None
        except ssl.SSLCertVerificationError as error:
            raise SecurityError(f"the certificate of {where} is refused: {error.verify_message}") from error
        except (OSError, http.client.HTTPException) as error:
            raise PravegaConnectionError(f"cannot ask {where}: {type(error).__name__}: {error}") from error
        finally:
            connection.close()
        if status in _REFUSED:
            raise SecurityError(f"{where} answers {status}: check the credentials")
        if status not in accepted:
            raise ProtocolError(f"{where} answers {status}: is it the right address?")
        try:
            return status, json.loads(body)
        except ValueError as error:
            raise ProtocolError(f"{where} does not answer with JSON: is it the right address?") from error

    def _connection(self, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
        if scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self.timeout)
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise ConfigurationError(f"cannot read the certificate authority {self.ca_file}: {error}") from error
        return http.client.HTTPSConnection(host, port, timeout=self.timeout, context=context)

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        elif self.username is not None:
            pair = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        return headers

    def _answer(self, connection: http.client.HTTPConnection, where: str) -> tuple[int, bytes]:
        answer = connection.getresponse()
        body = answer.read(_LONGEST + 1)
        if len(body) > _LONGEST:
            raise ProtocolError(f"{where} answers with more than {_LONGEST:,} bytes: is it the right address?")
        return answer.status, body


@contextmanager
def _shut_at(connection: http.client.HTTPConnection, end: float) -> Generator[None, None, None]:
    """Shut a connection at a time, so that a read from it ends; a TimeoutError then says why."""
    taken = cast("socket.socket", connection.sock)

    def shut() -> None:
        with suppress(OSError):  # the server was first
            # Not the method of a TLS connection: it is not made for two threads.
            socket.socket.shutdown(taken, socket.SHUT_RDWR)

    timer = threading.Timer(max(end - time.monotonic(), 0.0), shut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException):
        if time.monotonic() < end:
            raise
        raise TimeoutError from None
    finally:
        timer.cancel()
    if time.monotonic() >= end:  # a body without a length ends where the connection does
        raise TimeoutError
