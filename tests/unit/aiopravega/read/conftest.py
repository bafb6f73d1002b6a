"""A segment store with one segment, whose every answer a test can write itself."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Self

import pytest

from aiopravega import PravegaConfig, SegmentId, StreamName, wire
from aiopravega.net import Endpoint
from aiopravega.read.bulk import BulkReader

SEGMENT: Final = SegmentId(StreamName("scope", "stream"), 3, 1)
# Bytes to be sent, or None: close the connection.
Actions = Sequence[bytes | None]
Script = Callable[["ScriptedStore", wire.ReadSegment], Actions]


def plainly(store: "ScriptedStore", request: wire.ReadSegment) -> Actions:
    """Answer at once with all that is asked for."""
    return [store.answer(request)]


class ScriptedStore:
    """Listens on a port of its own. `requests` and `located` are what it was asked, in order."""

    def __init__(self, content: bytes, script: Script = plainly) -> None:
        self.content = content
        self.script = script
        self.requests: list[wire.ReadSegment] = []
        self.located: list[bool] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = Endpoint(*self._listener.getsockname())

    def __enter__(self) -> Self:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # Closing alone would not wake the thread that accepts.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def locate(self, segment: SegmentId, *, again: bool = False) -> tuple[Endpoint, str]:
        """Where the segment is, and the number of the question as its token."""
        assert segment == SEGMENT
        self.located.append(again)
        return self.endpoint, f"token {len(self.located)}"

    def answer(self, request: wire.ReadSegment, length: int | None = None) -> bytes:
        """The bytes that are asked for, or the first `length` of them."""
        start = request.offset
        wanted = request.suggested_length if length is None else min(length, request.suggested_length)
        end = min(start + wanted, len(self.content))
        last = end == len(self.content)
        return wire.encode(
            wire.SegmentRead(str(SEGMENT), start, last, last, self.content[start:end], request.request_id)
        )

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as incoming:
            while header := incoming.read(wire.FRAME_HEADER):
                kind, length = wire.parse_header(header)
                command = wire.decode(kind, incoming.read(length))
                if isinstance(command, wire.Hello):
                    connection.sendall(wire.encode(wire.Hello(high_version=16, low_version=5)))
                    continue
                assert isinstance(command, wire.ReadSegment)
                self.requests.append(command)
                for action in self.script(self, command):
                    if action is None:
                        return
                    connection.sendall(action)


@pytest.fixture
def serve() -> Iterator[Callable[..., tuple[ScriptedStore, BulkReader]]]:
    """Starts a store, and makes a reader of it that gives up after `retry` seconds, or a silence of `patience`."""
    with contextlib.ExitStack() as stack:

        def start(
            content: bytes, script: Script = plainly, *, retry: float = 20.0, patience: float = 20.0, **settings: int
        ) -> tuple[ScriptedStore, BulkReader]:
            store = stack.enter_context(ScriptedStore(content, script))
            config = PravegaConfig(
                controller_uri="tcp://127.0.0.1:1",
                token=None,
                request_timeout=patience,
                retry_timeout=retry,
                **settings,
            )
            reader = BulkReader(store.locate, config)
            stack.callback(reader.close)
            return store, reader

        yield start
