"""A peer as a child process: one command a line in, one JSON line out."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.measure import Measured

_PEERS = Path(__file__).parent / "peers"


class Peer:
    """A program of `benchmarks/peers`, up for all rounds; use it with `with`."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._command = command
        self._log = log

    @classmethod
    def java(cls, java: str, jars: Path, controller_uri: str, log: Path) -> Self:
        """The official Java client, from the jars of the server."""
        return cls([java, "-Xmx2g", "-cp", f"{jars}/*", str(_PEERS / "JavaPeer.java"), controller_uri], log)

    @classmethod
    def python(cls, controller_uri: str, log: Path) -> Self:
        """The official Python client."""
        return cls([sys.executable, str(_PEERS / "python_peer.py"), controller_uri], log)

    def __enter__(self) -> Self:
        self._errors = self._log.open("w")
        self._process = subprocess.Popen(
            self._command,
            cwd=self._log.parent,  # the jars of the Schema Registry write a log into it
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._answer()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.terminate()
        self._process.wait()
        self._errors.close()

    def ask(self, *words: object) -> Measured:
        """Run one command; returns what it did in which time."""
        assert self._process.stdin is not None
        print(*words, file=self._process.stdin, flush=True)
        answer = self._answer()
        return Measured(events=int(answer["events"]), seconds=float(answer["seconds"]), bytes=int(answer["bytes"]))

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                answer: dict[str, float] = json.loads(line)
                return answer
        raise RuntimeError(f"{self._command[0]} ended early; see {self._log}")
