"""The bytes of a range of one segment, in order, with many requests under way.

The server answers out of order and short, segments move, connections break and tokens expire: this module hides that
and fills buffers one after another. Each answer is received straight into its buffer. It knows nothing of events.
"""

import time
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Final, Protocol

from aiopravega import wire
from aiopravega.config import PravegaConfig
from aiopravega.cuts import SegmentRange
from aiopravega.errors import InvalidRangeError, PravegaError, PravegaTimeoutError, ProtocolError
from aiopravega.names import SegmentId
from aiopravega.net import BulkConnection, Endpoint
from aiopravega.retry import Retries, RetryPolicy

# The server sends at most 2 MiB at a time, and short answers are rarer for requests of 1 MiB.
REQUEST_BYTES: Final = 1024 * 1024
# Enough to keep one connection busy when the data is in the server's cache.
REQUESTS: Final = 8
# Idle connections that are kept for each segment store.
_KEPT_CONNECTIONS: Final = 8

Allocate = Callable[[int], memoryview | bytearray]


class Locate(Protocol):
    """Finds the owner of a segment, and a token to read it (empty: none is needed)."""

    def __call__(self, segment: SegmentId, *, again: bool = False) -> tuple[Endpoint, str]:
        """`again` after either has turned out to be stale."""
        ...


class BulkConnections:
    """Opens connections for bulk reads, and keeps some that are idle. Threads may share it."""

    def __init__(self, locate: Locate, config: PravegaConfig) -> None:
        self._locate = locate
        self._ssl_context = config.ssl_context()
        self._timeout = config.request_timeout
        self._idle: dict[Endpoint, deque[BulkConnection]] = {}
        self.retry_policy = RetryPolicy(total=config.retry_timeout)

    def connect(self, segment: SegmentId, *, again: bool) -> tuple[BulkConnection, str]:
        """A connection to the owner of `segment` without open requests, and a token; `again` asks for both again.

        Raises:
            PravegaError: the owner cannot be found or reached.
        """
        endpoint, token = self._locate(segment, again=again)
        while (connection := self._idle_connection(endpoint)) is not None:
            if not again:
                return connection, token
            connection.close()  # as old as the one that has just failed
        return BulkConnection.open(endpoint, self._ssl_context, self._timeout), token

    def _idle_connection(self, endpoint: Endpoint) -> BulkConnection | None:
        try:
            return self._idle[endpoint].popleft()
        except LookupError:  # none, or another thread was faster
            return None

    def release(self, connection: BulkConnection) -> None:
        """Give back a connection without open requests."""
        idle = self._idle.setdefault(connection.endpoint, deque())
        if len(idle) < _KEPT_CONNECTIONS:
            idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close the idle connections."""
        for endpoint in list(self._idle):
            while (connection := self._idle_connection(endpoint)) is not None:
                connection.close()


@dataclass(slots=True)
class Window:
    """Consecutive bytes of a range in their own buffer: from offset `start` on, at `buffer[headroom:]`."""

    start: int
    buffer: memoryview
    headroom: int
    missing: int

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return self.start + self.size

    @property
    def size(self) -> int:
        """The number of the segment's bytes in it."""
        return len(self.buffer) - self.headroom

    def slot(self, offset: int, length: int) -> memoryview:
        """The part of the buffer for bytes of the segment."""
        at = self.headroom + offset - self.start
        return self.buffer[at : at + length]


class ReadAhead:
    """Fills windows of a range in order, and requests bytes ahead across their borders.

    Args:
        connections: where connections come from and go back to.
        wanted: the range.
        window_bytes: size of a window; the last one is smaller.
        headroom: bytes that stay free in front of each window's data.
        allocate: makes a writable buffer of so many bytes.
        request_bytes: size of one request.
        requests: how many requests are open at a time.
    """

    def __init__(
        self,
        connections: BulkConnections,
        wanted: SegmentRange,
        *,
        window_bytes: int,
        headroom: int,
        allocate: Allocate,
        request_bytes: int = REQUEST_BYTES,
        requests: int = REQUESTS,
    ) -> None:
        self._connections = connections
        self._wanted = wanted
        self._window_bytes, self._headroom, self._allocate = window_bytes, headroom, allocate
        self._request_bytes, self._requests = request_bytes, requests
        # The reader waits for one window; the others have room for all other requests.
        self._most_windows = 1 + -(-requests * request_bytes // window_bytes)
        self._windows: deque[Window] = deque()
        self._next = wanted.start
        # Open requests: from which offset to which. An offset is also the id of its request, because the server answers
        # a refused token with the offset (`PravegaRequestProcessor.readSegment`).
        self._asked: dict[int, int] = {}
        self._connection: BulkConnection | None = None
        self._token = ""
        self._stale = False
        self._segment = str(wanted.segment)
        self._frame_header = memoryview(bytearray(wire.FRAME_HEADER))
        self._head = wire.SegmentReadHead(self._segment)
        self._head_buffer = memoryview(bytearray(self._head.size))

    def windows(self) -> Generator[Window, None, None]:
        """All windows of the range, filled, in order.

        Raises:
            StreamTruncatedError: the range begins before the segment's head.
            SegmentNotFoundError: the segment was deleted, or truncated as a whole.
            InvalidRangeError: the segment is sealed and ends before the range does.
            PravegaError: any other answer of the server, or why it could not be reached within the retry timeout.
        """
        try:
            while self._windows or self._next < self._wanted.end:
                self._fill_first()
                yield self._windows.popleft()
        finally:
            if self._connection is not None and not self._asked:
                self._connections.release(self._connection)
            else:
                self._disconnect()

    def _fill_first(self) -> None:
        retries = Retries(self._connections.retry_policy, f"reading {self._segment}")
        while not self._windows or self._windows[0].missing:
            try:
                self._ask_ahead()
                if self._receive():
                    retries.progressed()
            except PravegaError as error:
                self._disconnect()
                self._stale = True
                timed_out = isinstance(error, PravegaTimeoutError)
                named = PravegaTimeoutError(f"reading {self._segment}: {error}") if timed_out else error
                time.sleep(retries.pause_after(named))

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask_ahead(self) -> None:
        if self._connection is None:
            self._connection, self._token = self._connections.connect(self._wanted.segment, again=self._stale)
            self._stale = False
            frames = [self._request(start, end) for start, end in self._asked.items()]
        else:
            frames = []
        while len(self._asked) < self._requests and self._next < self._wanted.end:
            if not self._windows or self._next == self._windows[-1].end:
                if len(self._windows) == self._most_windows:
                    break
                self._windows.append(self._new_window())
            end = min(self._next + self._request_bytes, self._windows[-1].end)
            self._asked[self._next] = end
            frames.append(self._request(self._next, end))
            self._next = end
        if frames:
            self._connection.send(b"".join(frames))

    def _new_window(self) -> Window:
        size = min(self._window_bytes, self._wanted.end - self._next)
        buffer = memoryview(self._allocate(self._headroom + size)).cast("B")
        return Window(self._next, buffer, self._headroom, size)

    def _request(self, start: int, end: int) -> bytes:
        return wire.encode(wire.ReadSegment(self._segment, start, end - start, self._token, start))

    def _receive(self) -> int:
        """Receive one answer; returns how many bytes of the range it brought."""
        assert self._connection is not None
        self._connection.receive_into(self._frame_header)
        kind, length = wire.parse_header(self._frame_header)
        if kind != wire.SegmentRead.TYPE or length < self._head.size:
            self._receive_other(kind, length)
            return 0
        self._connection.receive_into(self._head_buffer)
        offset, size, end_of_segment = self._head.parse(self._head_buffer, length)
        end = self._asked.get(offset)
        if end is None or size > end - offset:
            raise ProtocolError(
                f"{self._segment}: the server sent {size} bytes from {offset}, which it was not asked for"
            )
        window = next(window for window in self._windows if offset < window.end)
        if size:
            self._connection.receive_into(window.slot(offset, size))
        elif end_of_segment:
            raise InvalidRangeError(
                f"{self._segment} ends at offset {offset}, but the range continues to {self._wanted.end}: "
                "the StreamCut belongs to a deleted stream of this name, or was changed by hand"
            )
        self._connection.receive_into(memoryview(bytearray(length - self._head.size - size)))
        # Only now has the whole answer arrived: after a failure before this line it is requested again.
        del self._asked[offset]
        window.missing -= size
        if offset + size < end:  # short: the server ends its answers where its cache entries end
            self._ask_again(offset + size, end)
        return size

    def _ask_again(self, start: int, end: int) -> None:
        assert self._connection is not None
        self._asked[start] = end
        self._connection.send(self._request(start, end))

    def _receive_other(self, kind: int, length: int) -> None:
        assert self._connection is not None
        payload = bytearray(length)
        self._connection.receive_into(memoryview(payload))
        reply = wire.decode(kind, bytes(payload))
        if isinstance(reply, wire.SegmentIsSealed) and reply.request_id in self._asked:
            # A read that waited at the tail when the segment was sealed: there may be data now, or the end.
            self._ask_again(reply.request_id, self._asked[reply.request_id])
            return
        if isinstance(reply, wire.Reply):
            error = wire.error_for(reply, self._segment)
            if error is not None:
                raise error
        if not isinstance(reply, wire.KeepAlive):
            raise ProtocolError(f"{self._segment}: the server answered a read with {type(reply).__name__}")
