"""One asyncio connection to a segment store, shared by many requests and writers.

It matches answers to questions and keeps itself alive. It knows nothing of segments, tokens or retries.
"""

import asyncio
import ssl
import uuid
from collections.abc import Callable, Sequence
from typing import Self

from aiopravega import wire
from aiopravega.errors import PravegaConnectionError, PravegaError, PravegaTimeoutError, ProtocolError
from aiopravega.net.endpoint import Endpoint, connection_error
from aiopravega.net.receiver import FrameReceiver

# The server closes connections that are silent for long.
_KEEP_ALIVE = 20.0
# A refused read names its offset where the request id belongs (0.13.0). Ids far beyond any offset tell them apart.
_FIRST_REQUEST_ID = 1 << 62

OnReply = Callable[[wire.Reply], None]
OnClosed = Callable[[PravegaError], None]


class Connection:
    """A connection after its Hello; made by `open`, usually through `ConnectionPool`."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._receiver = FrameReceiver(self._on_command, self._on_closed)
        self._transport: asyncio.Transport | None = None
        self._hello: asyncio.Future[wire.Hello] = asyncio.get_running_loop().create_future()
        self._waiting: dict[int, asyncio.Future[wire.Reply]] = {}
        self._reads: dict[int, int] = {}  # offset that is asked for -> request id
        self._writers: dict[uuid.UUID, tuple[int, OnReply, OnClosed]] = {}
        self._writer_of_request: dict[int, uuid.UUID] = {}
        self._next_request_id = _FIRST_REQUEST_ID
        self._keep_alive: asyncio.TimerHandle | None = None
        self._error: PravegaError | None = None

    @classmethod
    async def open(cls, endpoint: Endpoint, ssl_context: ssl.SSLContext | None, timeout: float) -> Self:
        """Connect and exchange the Hello, within `timeout` seconds.

        Raises:
            PravegaConnectionError: nobody listens there, or whoever does closes the connection.
            TlsError: the certificate is refused, or the other side speaks no TLS.
            ProtocolError: the other side is no segment store.
        """
        self = cls(endpoint)
        try:
            async with asyncio.timeout(timeout):
                server_name = endpoint.host if ssl_context is not None else None
                self._transport, _ = await asyncio.get_running_loop().create_connection(
                    lambda: self._receiver, endpoint.host, endpoint.port, ssl=ssl_context, server_hostname=server_name
                )
                self._transport.write(wire.encode(wire.HELLO))
                hello = await self._hello
        except (OSError, PravegaError) as error:  # ssl.SSLError and TimeoutError are OSErrors
            await self.close()
            raise connection_error(error, endpoint, "connecting to the segment store") from error
        if hello.low_version > wire.HELLO.high_version or hello.high_version < wire.HELLO.low_version:
            await self.close()
            raise ProtocolError(
                f"{endpoint} speaks versions {hello.low_version} to {hello.high_version} of the protocol, this client "
                f"{wire.HELLO.low_version} to {wire.HELLO.high_version}"
            )
        self._stay_alive()
        return self

    @property
    def closed(self) -> bool:
        """Whether the connection has ended; another one is needed then."""
        return self._error is not None

    def next_request_id(self) -> int:
        """A number that no other request of this connection has."""
        self._next_request_id += 1
        return self._next_request_id

    async def request(self, command: wire.Request, timeout: float) -> wire.Reply:
        """Send a command that has a request id of `next_request_id`; returns the answer, a failure included.

        Raises:
            PravegaConnectionError: the connection was lost first.
            PravegaTimeoutError: no answer within `timeout` seconds; a later one is dropped.
        """
        request_id: int = command.request_id  # type: ignore[attr-defined]  # every request that is answered has one
        answer: asyncio.Future[wire.Reply] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        if isinstance(command, wire.ReadSegment):
            self._reads[command.offset] = request_id
        try:
            async with asyncio.timeout(timeout):
                await self.send([wire.encode(command)])
                return await answer
        except TimeoutError as error:
            raise PravegaTimeoutError(
                f"{self.endpoint} did not answer {type(command).__name__} within {timeout:g} s"
            ) from error
        finally:
            del self._waiting[request_id]
            if isinstance(command, wire.ReadSegment) and self._reads.get(command.offset) == request_id:
                del self._reads[command.offset]

    def register_writer(self, writer_id: uuid.UUID, on_reply: OnReply, on_closed: OnClosed) -> int:
        """Send the answers to a writer's appends to `on_reply`; returns the request id for its appends."""
        request_id = self.next_request_id()
        self._writers[writer_id] = (request_id, on_reply, on_closed)
        self._writer_of_request[request_id] = writer_id
        if self._error is not None:
            on_closed(self._error)
        return request_id

    def unregister_writer(self, writer_id: uuid.UUID) -> None:
        """Forget a writer; later answers to its appends are dropped."""
        registered = self._writers.pop(writer_id, None)
        if registered is not None:
            del self._writer_of_request[registered[0]]

    async def send(self, buffers: Sequence[bytes | memoryview]) -> None:
        """Send bytes, in one piece and in order; waits while the socket takes no more.

        Raises:
            PravegaConnectionError: the connection has ended.
        """
        if self._error is not None or self._transport is None:
            raise self._error or PravegaConnectionError(f"{self.endpoint}: not connected")
        for buffer in buffers:
            self._transport.write(buffer)
        await self._receiver.writable.wait()

    async def close(self) -> None:
        """End the connection; whoever waits for an answer gets an error."""
        self._on_closed(None)
        if self._transport is not None:
            self._transport.abort()

    def _stay_alive(self) -> None:
        if self._transport is not None and not self.closed:
            self._transport.write(wire.encode(wire.KeepAlive()))
            self._keep_alive = asyncio.get_running_loop().call_later(_KEEP_ALIVE, self._stay_alive)

    def _on_command(self, command: wire.Command) -> None:
        if isinstance(command, wire.Hello):
            if not self._hello.done():
                self._hello.set_result(command)
        elif isinstance(command, wire.DataAppended | wire.InvalidEventNumber):
            self._to_writer(command.writer_id, command)
        elif isinstance(command, wire.KeepAlive):
            pass
        elif isinstance(command, wire.Reply):
            self._to_request(command)
        else:
            raise ProtocolError(f"{self.endpoint} sent {type(command).__name__}, which is not an answer")

    def _to_request(self, reply: wire.Reply) -> None:
        request_id: int = reply.request_id  # type: ignore[attr-defined]  # every answer but the ones above has one
        if isinstance(reply, wire.AuthTokenCheckFailed):
            request_id = self._reads.get(request_id, request_id)
        answer = self._waiting.get(request_id)
        if answer is not None:
            if not answer.done():
                answer.set_result(reply)
        elif request_id in self._writer_of_request:
            self._to_writer(self._writer_of_request[request_id], reply)

    def _to_writer(self, writer_id: uuid.UUID, reply: wire.Reply) -> None:
        writer = self._writers.get(writer_id)
        if writer is not None:
            writer[1](reply)

    def _on_closed(self, cause: BaseException | None) -> None:
        if self._error is not None:
            return
        self._error = connection_error(
            cause or ConnectionError("the connection was closed"), self.endpoint, "talking to"
        )
        if self._keep_alive is not None:
            self._keep_alive.cancel()
        if not self._hello.done():
            self._hello.set_exception(self._error)
            self._hello.exception()  # taken here, so that nobody is told of it when nobody waits
        for answer in list(self._waiting.values()):
            if not answer.done():
                answer.set_exception(self._error)
        for _, _, on_closed in list(self._writers.values()):
            on_closed(self._error)
