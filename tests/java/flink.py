"""A cluster of Flink in one process, and jobs that read lines from a socket of the test."""

import os
import signal
import socket
import struct
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.java.child import Child

from pravega_emulator.fetch import ensure_jars
from pravega_emulator.jars import JarList
from pravega_emulator.java import QUICK_COMPILER, find_java

_HERE: Final = Path(__file__).parent
# Flink serializes classes of Java's own by reflection.
_OPENS: Final = [f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in ("lang", "net", "nio", "util")]


class Flink:
    """A running cluster; use it as a context manager.

    Args:
        port: a free port, for its REST interface.
        folder: for its checkpoints and its log.
    """

    def __init__(self, port: int, folder: Path) -> None:
        self.uri = f"http://127.0.0.1:{port}"
        jars = ensure_jars(JarList.from_text((_HERE / "flink.lock").read_text(encoding="utf-8")))
        command = [find_java(), QUICK_COMPILER, "-XX:+UseSerialGC", "-Xmx512m", *_OPENS, "-cp", f"{jars}/*"]
        arguments = [str(port), str(folder / "checkpoints")]
        self._child = Child([*command, _HERE / "Flink.java", *arguments], folder / "flink.log")

    def __enter__(self) -> Self:
        self._child.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.__exit__(kind, error, trace)

    def submit(self, name: str, source: "Source") -> str:
        """Start a job; returns its id."""
        return str(self._child.answer_to(f"submit {name} {source.port}")["id"])

    def cancel(self, name: str) -> None:
        """Cancel the newest job of a name."""
        self._child.answer_to(f"cancel {name}")

    def kill(self) -> None:
        """End it as `kill -9` does."""
        os.kill(self._child.pid, signal.SIGKILL)


class Source:
    """A socket that a job reads lines from."""

    def __init__(self) -> None:
        self.port = 0
        self.open()

    def open(self) -> None:
        """Take connections, at the same port as before."""
        self._server = socket.create_server(("127.0.0.1", self.port))
        self.port = self._server.getsockname()[1]

    def accept(self) -> None:
        """Wait until the job has connected."""
        self._connection, _ = self._server.accept()

    def break_off(self) -> None:
        """Reset the connection, so that the job fails, and take none."""
        self._server.close()
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._connection.close()

    def close(self) -> None:
        """Close all."""
        self._server.close()
        self._connection.close()


if __name__ == "__main__":
    print(ensure_jars(JarList.from_text((_HERE / "flink.lock").read_text(encoding="utf-8"))))
