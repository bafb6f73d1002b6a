"""A peer as a child process: one command a line in, one JSON line out."""

import sys
from pathlib import Path
from typing import Self

from tests.java.child import Child

from benchmarks.measure import Measured

_PEERS = Path(__file__).parent / "peers"


class Peer(Child):
    """A program of `benchmarks/peers`, up for all rounds; use it with `with`."""

    @classmethod
    def java(cls, java: str, jars: Path, controller_uri: str, log: Path) -> Self:
        """The official Java client, from the jars of the server."""
        return cls([java, "-Xmx2g", "-cp", f"{jars}/*", str(_PEERS / "JavaPeer.java"), controller_uri], log)

    @classmethod
    def python(cls, controller_uri: str, log: Path) -> Self:
        """The official Python client."""
        return cls([sys.executable, str(_PEERS / "python_peer.py"), controller_uri], log)

    def ask(self, *words: object) -> Measured:
        """Run one command; returns what it did in which time."""
        answer = self.answer_to(" ".join(map(str, words)))
        return Measured(events=int(answer["events"]), seconds=float(answer["seconds"]), bytes=int(answer["bytes"]))
