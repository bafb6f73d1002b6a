"""A TCP proxy that loses connections, or answers, on command."""

import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

_CHUNK = 1 << 16
_CONNECT_SECONDS = 10.0
# Linger for no time: a close then resets the connection, as a cut does.
_RESET = struct.pack("ii", 1, 0)


class Proxy:
    """Passes connections to `127.0.0.1:port` along. Use it as a context manager; `port` is where it listens itself."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._swallows = False
        self.swallowed = 0
        self._refuses = False
        self.refused = 0
        self.port: int = self._listener.getsockname()[1]

    def cut(self) -> None:
        """Reset all connections that are open now; new ones are passed along as before."""
        with self._lock:
            ends, self._open = self._open, set()
        for end in ends:
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                end.shutdown(socket.SHUT_RDWR)  # wakes up the thread that waits for it
            end.close()

    def swallow(self, yes: bool) -> None:
        """Let requests pass and lose their answers, which `swallowed` counts; or pass answers again."""
        self._swallows = yes

    def refuse(self, yes: bool) -> None:
        """Reset new connections at once, which `refused` counts, as if the target were away; or pass them along."""
        self._refuses = yes

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            if self._refuses:
                self.refused += 1
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self._target), _CONNECT_SECONDS)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            with self._lock:
                self._open |= {client, server}
            threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                if answers and self._swallows:
                    self.swallowed += 1
                else:
                    sink.sendall(data)
        with self._lock:
            self._open -= {source, sink}
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
