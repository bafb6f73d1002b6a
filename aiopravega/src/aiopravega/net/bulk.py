"""A blocking connection for bulk reads: large receives straight into the caller's buffers.

It does the Hello and then only moves bytes; its user knows their meaning.
"""

import socket
import ssl
from typing import Self

from aiopravega import wire
from aiopravega.errors import PravegaConnectionError, PravegaError
from aiopravega.net.endpoint import NETWORK_ERRORS, Endpoint, connection_error, opening_error


class BulkConnection:
    """A blocking socket after its Hello. Every call that waits has the time limit of `open`."""

    def __init__(self, endpoint: Endpoint, raw: socket.socket) -> None:
        self.endpoint = endpoint
        self._socket = raw

    @classmethod
    def open(cls, endpoint: Endpoint, ssl_context: ssl.SSLContext | None, timeout: float) -> Self:
        """Connect and exchange the Hello; `timeout` in seconds bounds this and every later wait.

        Raises:
            PravegaConnectionError: nothing listens there, or the listener closes the connection.
            TlsError: the certificate is refused, or the other side speaks no TLS.
            ProtocolError: the other side is not a segment store.
        """
        raw: socket.socket | None = None
        try:
            raw = socket.create_connection((endpoint.host, endpoint.port), timeout)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if ssl_context is not None:
                raw = ssl_context.wrap_socket(raw, server_hostname=endpoint.host)
            connection = cls(endpoint, raw)
            connection.send(wire.encode(wire.HELLO))
            connection._receive_hello()
        except (*NETWORK_ERRORS, PravegaError) as error:
            if raw is not None:
                raw.close()
            raise opening_error(error, endpoint, timeout, tls=ssl_context is not None) from error
        return connection

    def _receive_hello(self) -> None:
        frame = bytearray(wire.FRAME_HEADER)
        self.receive_into(memoryview(frame))
        kind, length = wire.parse_header(frame)
        payload = bytearray(length)
        self.receive_into(memoryview(payload))
        wire.check_hello(wire.decode(kind, payload), self.endpoint)

    def send(self, data: bytes) -> None:
        """Send all bytes.

        Raises:
            PravegaConnectionError: the connection is lost, or the server takes nothing within the time limit.
        """
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise connection_error(error, self.endpoint, "sending to", self._socket.gettimeout()) from error

    def receive_into(self, buffer: memoryview) -> None:
        """Fill the whole buffer.

        Raises:
            PravegaConnectionError: the connection is lost, or nothing comes within the time limit.
        """
        receive = self._socket.recv_into
        filled, size = 0, len(buffer)
        try:
            while filled < size:
                count = receive(buffer[filled:])
                if not count:
                    raise PravegaConnectionError(f"{self.endpoint} closed the connection")
                filled += count
        except OSError as error:
            raise connection_error(error, self.endpoint, "receiving from", self._socket.gettimeout()) from error

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
