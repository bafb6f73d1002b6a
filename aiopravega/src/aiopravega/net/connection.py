"""One asyncio connection to a segment store, shared by many requests and writers.

It matches answers to requests, and detects when the server is gone. It knows nothing of segments, tokens or retries.
"""

import asyncio
import ssl
import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

from aiopravega import wire
from aiopravega.errors import PravegaConnectionError, PravegaError, PravegaTimeoutError, ProtocolError
from aiopravega.net.endpoint import NETWORK_ERRORS, Endpoint, connection_error, opening_error

# Seconds between keep-alives, as in Pravega's own client (`FlowHandler`). The server answers each at once, so one
# that is silent for three of them in a row is gone, even if TCP has not noticed.
KEEP_ALIVE = 20.0
_UNANSWERED = 3
# Up to this many bytes are joined and sent at once; more are not worth a copy.
_JOINED = 64 * 1024
# A refused read has its offset in the field of the request id (0.13.0). Ids are larger than any offset, so both differ.
_FIRST_REQUEST_ID = 1 << 62

OnReply = Callable[[wire.Reply], None]
OnClosed = Callable[[PravegaError], None]


class _Writer(NamedTuple):
    request_id: int
    on_reply: OnReply
    on_closed: OnClosed


def _about(command: wire.Request) -> str:
    """The segment that a command names, for a message."""
    segment = getattr(command, "segment", None)
    return "" if segment is None else f" about {segment}"


class CommandReceiver(asyncio.BufferedProtocol):
    """Receives commands from an asyncio transport with few copies, and knows whether the transport takes more.

    It hands every command to `on_command`, and the end of the connection to `on_closed`, once.
    `writable` is set while the transport takes more; `heard` is set whenever bytes come, and its owner clears it.
    """

    def __init__(
        self, on_command: Callable[[wire.Command], None], on_closed: Callable[[BaseException | None], None]
    ) -> None:
        self._on_command = on_command
        self._on_closed = on_closed
        self._decoder = wire.FrameDecoder()
        self._failure: PravegaError | None = None
        self._transport: asyncio.Transport | None = None
        self.heard = False
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._decoder.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self.heard = True
        try:
            for command in self._decoder.received(nbytes):
                self._on_command(command)
        except PravegaError as error:
            self._failure = error
            if self._transport is not None:
                self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_closed(self._failure or exc)
        self.writable.set()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()


class Connection:
    """A connection after its Hello; made by `open`, usually through `ConnectionPool`."""

    def __init__(self, endpoint: Endpoint, keep_alive: float = KEEP_ALIVE) -> None:
        self.endpoint = endpoint
        self._keep_alive = keep_alive
        self._receiver = CommandReceiver(self._on_command, self._on_closed)
        self._transport: asyncio.Transport | None = None
        self._hello: asyncio.Future[wire.Command] = asyncio.get_running_loop().create_future()
        self._waiting: dict[int, asyncio.Future[wire.Reply]] = {}
        self._reads: dict[int, list[int]] = {}  # offset that is asked for -> request ids, the oldest first
        self._writers: dict[uuid.UUID, _Writer] = {}
        self._writer_of_request: dict[int, uuid.UUID] = {}
        self._next_request_id = _FIRST_REQUEST_ID
        self._tick: asyncio.TimerHandle | None = None
        self._unanswered = 0
        self._error: PravegaError | None = None

    @classmethod
    async def open(
        cls,
        endpoint: Endpoint,
        ssl_context: ssl.SSLContext | None,
        timeout: float,
        *,
        keep_alive: float = KEEP_ALIVE,
    ) -> Self:
        """Connect and exchange the Hello, within `timeout` seconds; then send a keep-alive every `keep_alive` seconds.

        Raises:
            PravegaConnectionError: nothing listens there, or the listener closes the connection.
            PravegaTimeoutError: no Hello within the time limit.
            TlsError: the certificate is refused, or the other side speaks no TLS.
            ProtocolError: the other side is not a segment store.
        """
        self = cls(endpoint, keep_alive)
        try:
            async with asyncio.timeout(timeout):
                server_name = endpoint.host if ssl_context is not None else None
                self._transport, _ = await asyncio.get_running_loop().create_connection(
                    lambda: self._receiver, endpoint.host, endpoint.port, ssl=ssl_context, server_hostname=server_name
                )
                self._transport.write(wire.encode(wire.HELLO))
                wire.check_hello(await self._hello, endpoint)
        except (*NETWORK_ERRORS, PravegaError) as error:
            await self.close()
            raise opening_error(error, endpoint, timeout, tls=ssl_context is not None) from error
        except BaseException:  # cancelled: only this call has the socket
            await self.close()
            raise
        self._stay_alive()
        return self

    @property
    def closed(self) -> bool:
        """True if the connection has ended; another one is needed then."""
        return self._error is not None

    def next_request_id(self) -> int:
        """A number that no other request of this connection has."""
        self._next_request_id += 1
        return self._next_request_id

    async def request(self, command: wire.Request, timeout: float) -> wire.Reply:
        """Send a command with a request id from `next_request_id`; returns the answer, also if it is a failure.

        Raises:
            PravegaConnectionError: the connection was lost first.
            PravegaTimeoutError: no answer within `timeout` seconds; a later one is dropped.
        """
        request_id: int = command.request_id  # type: ignore[attr-defined]  # every request that is answered has one
        answer: asyncio.Future[wire.Reply] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        if isinstance(command, wire.ReadSegment):
            self._reads.setdefault(command.offset, []).append(request_id)
        try:
            async with asyncio.timeout(timeout):
                await self.send([wire.encode(command)])
                return await answer
        except PravegaError:  # a lost connection may be a TimeoutError too
            raise
        except TimeoutError as error:
            raise PravegaTimeoutError(
                f"{self.endpoint} did not answer {type(command).__name__}{_about(command)} within {timeout:g} s"
            ) from error
        finally:
            del self._waiting[request_id]
            if isinstance(command, wire.ReadSegment):
                self._reads[command.offset].remove(request_id)
                if not self._reads[command.offset]:
                    del self._reads[command.offset]

    def register_writer(self, writer_id: uuid.UUID, on_reply: OnReply, on_closed: OnClosed) -> int:
        """Send the answers to a writer's appends to `on_reply`; returns the request id for its appends."""
        request_id = self.next_request_id()
        self._writers[writer_id] = _Writer(request_id, on_reply, on_closed)
        self._writer_of_request[request_id] = writer_id
        if self._error is not None:
            on_closed(self._error)
        return request_id

    def unregister_writer(self, writer_id: uuid.UUID) -> None:
        """Forget a writer; later answers to its appends are dropped."""
        registered = self._writers.pop(writer_id, None)
        if registered is not None:
            del self._writer_of_request[registered.request_id]

    async def send(self, buffers: Sequence[bytes | memoryview]) -> None:
        """Send bytes, without a break and in order; waits while the socket takes no more.

        Raises:
            PravegaConnectionError: the connection has ended.
        """
        if self._error is not None or self._transport is None:
            raise self._error or PravegaConnectionError(f"{self.endpoint}: not connected")
        if sum(map(len, buffers)) <= _JOINED:
            buffers = [b"".join(buffers)]
        for buffer in buffers:
            if self._transport.is_closing():  # lost; the loop reports it in its next round, and asyncio warns of writes
                raise PravegaConnectionError(f"{self.endpoint}: the connection was lost while sending")
            self._transport.write(buffer)
        await self._receiver.writable.wait()
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        """End the connection; callers that wait for an answer get an error."""
        self._on_closed(None)
        if self._transport is not None:
            self._transport.abort()

    def _stay_alive(self) -> None:
        if self._transport is None or self.closed or self._transport.is_closing():
            return
        self._unanswered = 0 if self._receiver.heard else self._unanswered + 1
        self._receiver.heard = False
        if self._unanswered == _UNANSWERED:
            silence = self._keep_alive * _UNANSWERED
            self._on_closed(PravegaTimeoutError(f"{self.endpoint} has been silent for {silence:g} s: it is gone"))
            self._transport.abort()
            return
        self._transport.write(wire.encode(wire.KeepAlive()))
        self._tick = asyncio.get_running_loop().call_later(self._keep_alive, self._stay_alive)

    def _on_command(self, command: wire.Command) -> None:
        if not self._hello.done():
            self._hello.set_result(command)
        elif isinstance(command, wire.DataAppended | wire.InvalidEventNumber):
            self._to_writer(command.writer_id, command)
        elif isinstance(command, wire.KeepAlive | wire.Hello):
            pass
        elif isinstance(command, wire.Reply):
            self._to_request(command)
        else:
            raise ProtocolError(f"{self.endpoint} sent {type(command).__name__}, which is not an answer")

    def _to_request(self, reply: wire.Reply) -> None:
        request_id: int = reply.request_id  # type: ignore[attr-defined]  # every answer but the ones above has one
        if isinstance(reply, wire.AuthTokenCheckFailed):
            request_id = self._refused_read(request_id)
        answer = self._waiting.get(request_id)
        if answer is not None:
            if not answer.done():
                answer.set_result(reply)
        elif request_id in self._writer_of_request:
            self._to_writer(self._writer_of_request[request_id], reply)

    def _refused_read(self, offset: int) -> int:
        """The request id of the oldest open read at an offset; any other number is a request id itself."""
        for request_id in self._reads.get(offset, ()):
            if not self._waiting[request_id].done():
                return request_id
        return offset

    def _to_writer(self, writer_id: uuid.UUID, reply: wire.Reply) -> None:
        writer = self._writers.get(writer_id)
        if writer is not None:
            writer.on_reply(reply)

    def _on_closed(self, cause: BaseException | None) -> None:
        if self._error is not None:
            return
        self._error = connection_error(
            cause or ConnectionError("the connection was closed"), self.endpoint, "talking to"
        )
        if self._tick is not None:
            self._tick.cancel()
        answers: list[asyncio.Future[Any]] = [self._hello, *self._waiting.values()]
        for answer in answers:
            if not answer.done():
                answer.set_exception(self._error)
                answer.exception()  # taken here, so that asyncio logs nothing if nobody waits for it any more
        for writer in list(self._writers.values()):
            writer.on_closed(self._error)
